"""Controllers that fail end with a message that names them, and the run goes on."""

import re
import signal
import sys
import threading
import time

import numpy as np
import pytest
from controller_samples import Bad, Idle, Recorder, SpringDamper, Swing
from run_tools import OnStep

from hrp_sim import ForceHook, Simulation
from hrp_sim.engine.engine import StepInterrupted
from hrp_sim.run.run import Run


@pytest.fixture
def arm(diagnostics):
    with Simulation("arm", diagnostics=diagnostics) as simulation:
        yield simulation


def raising(_io):
    raise RuntimeError("no gripper")


class WordlessError(Exception):
    def __str__(self):
        raise RuntimeError("no words")

    __repr__ = __str__


def without_words(_io):
    raise WordlessError


def leaving(_io):
    sys.exit(3)


def with_nan(io):
    io.effort_target[3] = np.nan
    return True


def too_large(io):
    io.q_target = 1e13
    return True


def with_wrong_shape(io):
    io.effort_target = np.zeros(4)
    return True


@pytest.mark.parametrize(
    ("act", "text"),
    [
        (raising, r"control\(\) raised RuntimeError: no gripper \(test_failing_controllers.py:\d+"),
        (leaving, r"control\(\) raised SystemExit: 3 \(test_failing_controllers.py:\d+"),
        (without_words, r"control\(\) raised WordlessError: WordlessError without a text"),
        (
            lambda io: WordlessError(),
            r"control\(\) returned WordlessError without a text, not True",
        ),
        (lambda io: setattr(io, "q_taregt", 1.0), "AttributeError: .* no attribute 'q_taregt'"),
        (
            lambda io: io.drive("sideways"),
            r"ValueError: 'sideways' is not .* \(test_failing_controllers.py:\d+\)",
        ),
        (with_nan, r"control\(\) set effort_target of joint 'J4' to nan"),
        (too_large, r"control\(\) set q_target of joint 'J1' to 1e\+13"),
        (
            with_wrong_shape,
            r"raised ValueError: effort_target must have the shape \(6,\), not \(4,",
        ),
        (lambda io: None, r"control\(\) returned None, not True to go on or False to end"),
        (lambda io: io.q, r"control\(\) returned array"),
        (lambda io: io.joint("J7"), r"KeyError: .*no moving joint 'J7'"),
    ],
)
def test_a_failure_ends_the_controller_and_not_the_run(act, text, arm, diagnostics):
    recorder = Recorder()
    arm.add_controller("arm", Bad(act))
    arm.add_controller("arm", recorder)
    arm.run(0.01)
    found = diagnostics.take("controller-failed").message
    assert found.startswith("controller 'Bad' of body 'arm': it has ended: control() ")
    assert re.search(text, found)
    assert len(recorder.times) == 10  # the other one goes on
    assert not arm.bodies["arm"].drive.effort.any()
    assert len(arm.controllers.failures) == 1


def test_a_position_that_is_nonsense_leaves_the_last_one(arm, diagnostics):
    def act(io):
        io.q_target[0] = np.inf
        return True

    arm.add_controller("arm", Bad(act, mode="position"))
    before = arm.bodies["arm"].motion.q.copy()
    arm.run(0.5)
    diagnostics.take("controller-failed")
    np.testing.assert_allclose(arm.bodies["arm"].motion.q, before, atol=0.1)


@pytest.mark.parametrize("method", ["initialize", "start"])
def test_one_that_cannot_begin_is_left_out(method, arm, diagnostics):
    controller = Recorder()
    setattr(controller, method, lambda *_: 1 / 0)
    arm.add_controller("arm", controller)
    arm.run(0.01)
    found = diagnostics.take("controller-failed").message
    assert f"{method}() raised ZeroDivisionError: division by zero" in found
    assert controller.times == []


@pytest.mark.parametrize(
    ("method", "code"),
    [
        ("initialize", "controller-failed"),
        ("start", "controller-failed"),
        ("control", "controller-failed"),
        ("apply", "controller-failed"),
        ("stop", "controller-failed"),
        ("save", "controller-restarted"),
        ("restore", "controller-failed"),
    ],
)
def test_an_attribute_that_hides_a_method_is_named(method, code, arm, diagnostics):
    class Both(Swing, ForceHook):
        def apply(self, state, dt):
            pass

    setattr(Both, method, 5)
    controller = Both()
    arm.add_controller("arm", controller)
    arm.run(0.01)
    snapshot = arm.save()
    if method != "save":
        arm.restore(snapshot)
    arm.remove_controller(controller)
    text = f"its attribute '{method}' hides the method {method}(); rename the attribute"
    assert text in diagnostics.take(code).message


def test_a_failed_controller_starts_again_at_a_reset(arm, diagnostics):
    bad = Bad(raising)
    arm.add_controller("arm", bad)
    arm.run(0.01)
    diagnostics.take("controller-failed")
    bad.count = -10
    arm.reset()
    assert arm.controllers.failures == []
    arm.run(0.005)
    assert bad.count == -5


@pytest.mark.parametrize("value", [np.nan, 1e13])
def test_a_hook_that_computes_nonsense_ends(value, arm, diagnostics):
    class Hook(ForceHook):
        def apply(self, state, dt):
            state.torque[2, 1] = value

    arm.add_controller("arm", Hook())
    arm.run(0.01)
    found = diagnostics.take("controller-failed").message
    assert "apply() computed nonsense: torque must be finite and below 1e+12" in found


def test_a_hook_that_raises_ends(arm, diagnostics):
    class Hook(ForceHook):
        def apply(self, state, dt):
            state.force[1] = [1.0, 2.0]

    arm.add_controller("arm", Hook())
    before = arm.bodies["arm"].wrench.force.copy()
    arm.run(0.01)
    found = diagnostics.take("controller-failed").message
    assert "apply() raised ValueError: could not broadcast" in found
    np.testing.assert_array_equal(arm.bodies["arm"].wrench.force, before)


def test_a_call_that_takes_long_is_reported_once(arm, diagnostics, monkeypatch):
    controller = Idle()
    now = [0.0]
    controller.control = lambda: now.__setitem__(0, now[0] + 2.5) or True
    monkeypatch.setattr(
        "hrp_sim.control.controllers.running_controller.time.perf_counter", lambda: now[0]
    )
    arm.add_controller("arm", controller)
    arm.run(0.003)
    found = diagnostics.take("controller-blocks").message
    assert "'Idle' of body 'arm': control() took 2.5 s" in found


def test_a_signal_leaves_a_controller_that_never_returns(arm):
    entered = threading.Event()

    class Endless(Recorder):
        def control(self):
            entered.set()
            while True:
                time.sleep(0.001)

    runner = Run(arm, [OnStep()], real_time_factor=0.0)
    arm.add_controller("arm", Endless())
    before = signal.signal(signal.SIGINT, lambda *_: runner.stop())
    main = threading.main_thread().ident

    def interrupt():
        entered.wait(300)
        signal.pthread_kill(main, signal.SIGINT)

    helper = threading.Thread(target=interrupt)
    helper.start()
    try:
        runner.run()
    finally:
        signal.signal(signal.SIGINT, before)
        helper.join()
    assert runner.stopped
    assert arm.state.time_ns == 0


def test_an_interrupt_outside_of_controllers_does_nothing_to_them(arm):
    arm.add_controller("arm", Idle())
    arm.controllers.interrupt()
    arm.run(0.01)
    assert arm.state.time_ns == 10_000_000


def test_programs_see_an_interrupted_controller_as_an_interrupted_step(arm):
    controller = Idle()
    controller.control = arm.interrupt
    arm.add_controller("arm", controller)
    with pytest.raises(StepInterrupted):
        arm.step()


def test_an_interrupted_hook_leaves_no_forces_of_those_before_it(arm):
    arm.add_controller("arm", SpringDamper(stiffness=50.0, damping=1.0))
    arm.add_controller("arm", interrupted := SpringDamper())
    arm.run(0.01)
    before = arm.state_hash()
    interrupted.apply = lambda _state, _dt: arm.interrupt()
    with pytest.raises(StepInterrupted):
        arm.step()
    wrench = arm.bodies["arm"].wrench
    assert not wrench.force.any()
    assert not wrench.torque.any()
    assert arm.state_hash() == before


@pytest.mark.parametrize("act", ["step", "reset", "close", "save", "remove", "add"])
@pytest.mark.parametrize("method", ["start", "control", "stop", "save", "apply"])
def test_controllers_cannot_call_the_simulation_that_calls_them(act, method, arm, diagnostics):
    class Both(Recorder, ForceHook):
        def apply(self, _state, _dt):
            pass

        def save(self):
            return {}

    calls = {
        "remove": lambda: arm.remove("arm"),
        "add": lambda: arm.add_controller("arm", Idle()),
    }
    controller = Both()
    setattr(controller, method, lambda *_: calls.get(act, getattr(arm, act, None))() or True)
    arm.add_controller("arm", controller)
    arm.run(0.003)
    arm.save()
    arm.remove_controller(controller)
    found = diagnostics.take("controller-restarted" if method == "save" else "controller-failed")
    assert f"{method}() raised RuntimeError: controllers and force hooks cannot " in found.message
    assert arm.state.time_ns == 3_000_000
    arm.step()


def test_whole_arrays_of_forces_can_be_assigned(arm, diagnostics):
    class Hook(ForceHook):
        def __init__(self, value):
            self.value = value

        def apply(self, state, dt):
            state.joint_effort = self.value

    arm.add_controller("arm", Hook(1.0))
    arm.run(0.01)
    arm.add_controller("arm", Hook(np.zeros(99)))
    arm.run(0.01)
    found = diagnostics.take("controller-failed").message
    assert "joint_effort must have the shape (6,), not (99,)" in found
