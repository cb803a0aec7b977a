"""The settings of physics by the names that Choreonoid gives them."""

from dataclasses import fields

import pytest

from hrp_model import Diagnostics, ModelError
from hrp_sim.engine.engine import PhysicsSettings, Solver
from hrp_sim.world.load import load_world


@pytest.fixture
def physics(tmp_path, diagnostics):
    """Read the settings of a world with these lines under ``physics``."""

    def read(text, diagnostics=diagnostics):
        path = tmp_path / "world.yaml"
        lines = "".join(f"  {line}\n" for line in text.splitlines())
        path.write_text(f"physics:\n{lines}bodies: []\n")
        return load_world(path, diagnostics).physics

    return read


@pytest.fixture
def problems(tmp_path, physics):
    """Read bad settings; return the problems as "line:column: severity: message [code]"."""

    def read(text):
        quiet = Diagnostics.silent()
        with pytest.raises(ModelError):
            physics(text, quiet)
        prefix = f"{tmp_path / 'world.yaml'}:"
        return [str(d).removeprefix(prefix).replace(prefix, "") for d in quiet.found]

    return read


# As Choreonoid 2 writes it, and as Choreonoid 1 did.
NEW_ITEM = """\
time_step: 0.002
realtime_sync_mode: compensatory
recording: full
time_range_mode: unlimited
time_length: 180
is_active_control_time_range_mode: false
output_all_link_positions: false
output_device_states: true
use_controller_threads: true
record_collision_data: false
controller_options: ""
block_scene_view_edit_mode: false
step_mode: "Big matrix"
gravity: [ 0, 0, -1.62 ]
friction: 0.5
enable_joint_limit: true
global_erp: 0.3
global_cfm: 1.0e-7
num_iterations: 30
over_relaxation: 1.1
limit_correcting_velocity: false
max_correcting_velocity: 2.0e-2
surface_drive_culling_depth: 0.005
"""
OLD_ITEM = """\
realtimeSync: true
recording: full
timeRangeMode: TimeBar range
onlyActiveControlPeriod: true
timeLength: 180
allLinkPositionOutputMode: false
deviceStateOutput: true
controllerThreads: true
recordCollisionData: false
timestep: 0.002
stepMode: "Big matrix"
gravity: [ 0, 0, -1.62 ]
friction: 0.5
jointLimitMode: true
globalERP: 0.3
globalCFM: "1.0e-7"
numIterations: 30
overRelaxation: 1.1
limitCorrectingVel: false
maxCorrectingVel: "2.0e-2"
2Dmode: false
UseWorldItem'sCollisionDetector: false
"""
SAME = PhysicsSettings(
    time_step=0.002,
    solver=Solver.WORLD,
    gravity=(0.0, 0.0, -1.62),
    friction=0.5,
    joint_limits=True,
    erp=0.3,
    cfm=1e-7,
    iterations=30,
    over_relaxation=1.1,
    limit_correcting_velocity=False,
    max_correcting_velocity=0.02,
)


def indented(text):
    return "".join(f"  {line}\n" for line in text.splitlines())


@pytest.mark.parametrize("item", [NEW_ITEM, OLD_ITEM])
@pytest.mark.parametrize("whole", [False, True])
def test_the_settings_of_a_choreonoid_project_may_be_pasted(physics, diagnostics, item, whole):
    head = "id: 12\nname: ODESimulator\nplugin: ODE\nclass: ODESimulatorItem\ndata:\n"
    assert physics(head + indented(item) if whole else item) == SAME
    notes = {(d.severity.value, d.code) for d in diagnostics.found}
    assert notes == {("note", "foreign-setting")}
    diagnostics.found.clear()


@pytest.mark.parametrize(
    ("symbol", "solver"),
    [("Big matrix", Solver.WORLD), ("Iterative (quick step)", Solver.QUICK)],
)
def test_the_step_modes_are_our_solvers(physics, symbol, solver):
    assert physics(f'step_mode: "{symbol}"').solver is solver


def test_a_frame_rate_is_a_time_step(physics):
    assert physics("frame_rate: 500").time_step == 0.002


# A value that is no default, by type.
VALUES = {bool: "{}", int: "7", float: "0.1", tuple: "[ 1, 2, 3 ]", Solver: "quick"}
PLAIN = {f.name: f.default for f in fields(PhysicsSettings) if type(f.default) in VALUES}


@pytest.mark.parametrize("name", PLAIN)
def test_every_setting_has_a_key(physics, name):
    text = VALUES[type(PLAIN[name])].format(str(not PLAIN[name]).lower())
    assert getattr(physics(f"{name}: {text}"), name) != PLAIN[name]


def test_a_velocity_without_limit_pushes_at_any_speed(physics):
    limited, free = PhysicsSettings(), physics("limit_correcting_velocity: false")
    assert limited.correcting_velocity == 0.01
    assert free.correcting_velocity == float("inf")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "erp: 0.2\nglobal_erp: 0.3",
            "3:3: error: 'global_erp' is the same setting as 'erp' at 2:3",
        ),
        (
            "stepMode: Big matrix\nsolver: quick",
            "3:3: error: 'solver' is the same setting as 'stepMode'",
        ),
        ("time_step: 0.001\nframe_rate: 500", "3:3: error: 'frame_rate' is the same setting as"),
        ("step_mode: Small matrix", "2:14: error: step_mode 'Small matrix' is unknown. Did you"),
        ("globalERP: 2", "2:14: error: 'globalERP' must be from 0 to 1, not 2"),
        ("max_correcting_velocity: -1", "2:28: error: 'max_correcting_velocity' must be at least"),
        ("frame_rate: 1", "2:15: error: 'frame_rate' must be from 10 to 1,000,000, not 1"),
        ("num_iterations: 0", "2:19: error: 'num_iterations' must be from 1 to 10,000, not 0"),
        (
            "gravity: [ 0, 0, -1e7 ]",
            "2:12: error: each component of gravity must be below 1e+06 m/s^2",
        ),
        ("use_2d_mode: maybe", "2:16: error: expected true or false, found 'maybe'"),
        (
            "class: AISTSimulatorItem\ndata: { friction: 0.5 }",
            "2:10: error: 'AISTSimulatorItem' has settings of another engine",
        ),
        ("class: ODESimulatorItem\ndata: 5", "3:9: error: expected a mapping"),
    ],
)
def test_a_mistake_is_found_in_its_place(problems, text, problem):
    (found,) = problems(text)
    assert found.startswith(problem)


def test_an_item_may_keep_the_dash_of_its_list(tmp_path):
    item = "physics:\n  -\n    class: ODESimulatorItem\n    data: { globalERP: 0.3 }\n"
    (tmp_path / "world.yaml").write_text(f"{item}bodies: []")
    assert load_world(tmp_path / "world.yaml").physics.erp == 0.3


def test_a_flat_world_is_refused_with_a_warning(physics, diagnostics):
    physics("2Dmode: true\nadd_joint_axis_inertia_to_link_inertia: true")
    by_code = [(d.severity.value, d.message) for d in diagnostics.found]
    diagnostics.found.clear()
    assert by_code == [
        (
            "note",
            "'add_joint_axis_inertia_to_link_inertia' has no effect: rotor inertia is always "
            "simulated, exactly, about the joint axis only",
        ),
        ("warning", "'2Dmode' has no effect: bodies always move in three dimensions"),
    ]


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("glob_erp: 0.3", "Did you mean 'global_erp'?"),
        ("step_moed: x", "Did you mean 'step_mode'?"),
    ],
)
def test_a_slip_of_the_pen_is_recognised(physics, diagnostics, key, hint):
    assert physics(key) == PhysicsSettings()
    assert diagnostics.take("unknown-key").message.endswith(hint)
