"""A program that commands a running world and calls its services, with whatever may come.

Arguments: seed, count, and optionally how many seconds it may go on. It prints the number of each
world before it begins. What is refused is a ValueError of a command or a RequestError of a
service, in words that are not too many. No other exception may come, the run lives, its state
stays finite, and what became of all commands adds up.
"""

import logging
import math
import sys
import threading
import time
import warnings
from contextlib import suppress

import numpy as np
from controlled_run import ARM, BOX
from fuzz import mutate, seeds
from fuzz.yaml_grammar import YamlGrammar
from paths import MODELS
from sim.hostile.hostile_commands import WORLDS, Commander
from sim.hostile.limits import bound

from hrp_sim.engine.engine import PhysicsError
from hrp_sim.run.requests.entities import MoveRequest, SpawnRequest
from hrp_sim.run.requests.resources import Resource, available_worlds, spawnables
from hrp_sim.run.requests.standard import (
    Bounds,
    Code,
    EntityFilters,
    EntityInfo,
    RequestError,
    TagsFilter,
)

URDF = """\
<robot name="prop"><link name="base"><inertial><mass value="1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial>
<collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
<link name="arm"><inertial><mass value="1"/>
<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.1" iyz="0" izz="0.1"/></inertial></link>
<joint name="turn" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="10" velocity="3"/></joint></robot>
"""
# Longer than any answer to somebody who may read it.
MAX_MESSAGE_LENGTH = 10_000


class Caller(Commander):
    """Calls the services of a run, too."""

    def __init__(self, seed):
        super().__init__(seed)
        self.services = (
            *(self.spawn, self.spawn, self.delete, self.move, self.set_state, self.steps),
            *(self.reset, self.load, self.look, self.describe, self.run_control, self.switch),
        )

    def resource(self):
        dice = self.rng.random()
        if dice < 0.3:
            return Resource(text=self.pick([BOX, URDF]))
        if dice < 0.5:
            uris = [ARM, WORLDS[0], "/dev/zero", "/etc/passwd", "package://hrp_ros/models"]
            return Resource(self.name([*uris, "file://" + ARM, "http://x/y.body", ".", "x.wrl"]))
        return Resource(text=self.rubbish())

    def rubbish(self):
        """Return the text of a model or a world with some damage."""
        if self.rng.random() < 0.2:
            grammar = YamlGrammar(self.words)
            return self.pick([grammar.body, grammar.world])()
        kind = self.pick([".body", ".wrl", ".urdf", ".yaml"])
        small = [data for data in seeds.files(kind) if len(data) < 4000]
        data = self.words.choice([*small, BOX.encode(), URDF.encode()])
        words = [b"nan", b"mass", b"null", b"\xff", b"joint", b"..", b"*a", b"&a"]
        changed = mutate.tokens_changed(data, words, self.words)
        if self.rng.random() < self.rate:
            changed = changed[: int(self.rng.integers(len(changed) + 1))]
        return changed.decode(errors="replace")

    def quaternion(self):
        return tuple(self.array([0.0, 0.0, 0.0, 1.0]).tolist())

    def position(self):
        return tuple(self.array(self.rng.normal(size=3) * 3.0).tolist())

    def entity(self):
        return self.name([*list(self.simulation.bodies), "none"])

    def frame(self):
        bodies = list(self.simulation.bodies.values())
        links = [f"{b.name}/{b.body.links[-1].name}" for b in bodies]
        return self.name(["", "world", *links, "BASE"])

    def spawn(self):
        requests = [
            SpawnRequest(
                resource=self.resource(),
                name=self.name(["", "a", "b", "c"]),
                allow_renaming=bool(self.rng.integers(2)),
                namespace=self.name(["", "ns"]),
                position=self.position(),
                quaternion=self.quaternion(),
                frame=self.frame(),
            )
            for _ in range(self.pick([1, 1, 3]))
        ]
        for result in self.harness.control.spawn_all(requests):
            if isinstance(result, RequestError):
                check_words(result)

    def delete(self):
        self.harness.control.delete(self.entity())

    def move(self):
        request = MoveRequest(
            frame=self.frame(),
            position=self.pick([None, self.position()]),
            quaternion=self.quaternion(),
            linear=self.pick([None, self.position()]),
            angular=self.position(),
            accelerates=bool(self.rng.integers(2)),
        )
        self.harness.control.move(self.entity(), request)

    def set_state(self):
        state = self.integer(self.pick([0, 1, 2]))
        if state != 3:  # it would quit
            self.harness.control.set_state(state)

    def steps(self):
        control = self.harness.control
        stepping = control.step(max(0, self.integer(int(self.rng.integers(5)))))
        if stepping is not None and stepping.steps > 100:
            stepping.cancel()
        if stepping is not None:
            assert stepping.wait(300.0), stepping

    def reset(self):
        self.harness.control.reset(self.integer(self.pick([0, 1, 2, 4, 3, 255])))

    def load(self):
        control = self.harness.control
        if self.rng.random() < 0.2:
            control.unload_world()
            return
        resource = self.pick([Resource(self.pick(WORLDS)), self.resource()])
        flags = {"strict": bool(self.rng.integers(2)), "lenient": bool(self.rng.integers(2))}
        control.load_world(resource, **flags)

    def look(self):
        count = int(self.rng.integers(5))
        bounds = Bounds(self.integer(int(self.rng.integers(4))), self.array(np.zeros((count, 3))))
        expression = self.name(["", "^a", "(a|b)*", "[[:alpha:]]{1,255}", "((a*)*)*$", "a{255}{9}"])
        filters = EntityFilters(expression, [self.integer(1)], TagsFilter((self.name(["x"]),)))
        control = self.harness.control
        if self.rng.random() < 0.3:
            control.names(filters)
        elif self.rng.random() < 0.5:
            control.states(EntityFilters(bounds=bounds))
        elif self.rng.random() < 0.5:
            self.pick([control.entity_state, control.bounds, control.info])(self.entity())
        else:
            source = self.name(["/dev", "/none", str(MODELS), "package://x", "http://x"])
            self.pick([spawnables, available_worlds])([source])

    def describe(self):
        info = EntityInfo(self.integer(1), self.name(["x"]), (self.name(["t"]),) * 3)
        self.harness.control.set_info(self.entity(), info)

    def run_control(self):
        runner = self.harness.runner
        act = self.pick([runner.pause, runner.resume, runner.reset, self.save_and_restore])
        act()

    def save_and_restore(self):
        simulation = self.simulation
        self.harness.runner.change(lambda: simulation.restore(simulation.save()))

    def switch(self):
        simulation = self.simulation
        known = [*simulation.sensors, *simulation.lights, "none"]
        name = self.name(known)

        def act():
            try:
                simulation.set_enabled(name, bool(self.rng.integers(2)))
            except KeyError as error:
                raise RequestError(Code.OPERATION_FAILED, str(error)) from None

        self.harness.runner.call(act)


def check_words(error):
    """Check that whoever asked is told why, in what can be read."""
    words = str(error)
    assert words.strip(), repr(error)
    assert len(words) <= MAX_MESSAGE_LENGTH, f"{len(words)} characters: {words[:300]}"


def attempt(call, refusals):
    """Call; tell whether it was not refused."""
    before = time.process_time()
    try:
        call()
    except refusals as error:
        check_words(error)
        return False
    finally:
        took = time.process_time() - before
        assert took < 20.0, f"{call.__name__} took {took:.1f} s"
    return True


def check_state(caller):
    """Check that the run lives and has a finite state."""
    runner = caller.harness.runner

    def act():
        for simulated in runner.simulation.bodies.values():
            motion = simulated.motion
            for array in (motion.p, motion.R, motion.v, motion.w, motion.q, motion.dq):
                assert np.all(np.isfinite(array)), simulated.name

    runner.call(act)


def check_counts(simulation, handed):
    """Check that every command that was handed over was taken or given up."""
    with suppress(PhysicsError):
        simulation.step()  # which takes what waits
    counts = simulation.command_counts
    assert counts.taken + counts.dropped == handed, (counts, handed)


def live(seed):
    """Call at random; return how many calls were refused, and how many not."""
    caller = Caller(seed)
    runner = caller.harness.runner
    thread = threading.Thread(target=runner.run, name="steps")
    thread.start()
    counts = [0, 0]
    try:
        for _ in range(40):
            if caller.rng.random() < 0.7:
                call, refusals = caller.pick(caller.commands), ValueError
            else:
                call, refusals = caller.pick(caller.services), (RequestError, PhysicsError)
            counts[attempt(call, refusals)] += 1
            if caller.rng.random() < 0.2 and runner.paused:
                attempt(lambda: caller.harness.control.step(3), RequestError)
            check_state(caller)
            assert thread.is_alive()
            caller.count_commands()
    finally:
        runner.stop()
        thread.join(300.0)
    assert not thread.is_alive()
    check_counts(caller.simulation, caller.handed[caller.simulation])
    caller.simulation.close()
    return counts


def main(first, count, seconds=math.inf):
    bound(memory_mib=3000, cpu_seconds=3600)
    logging.disable()
    warnings.simplefilter("ignore")
    counts = np.zeros(2, dtype=int)
    end = time.monotonic() + float(seconds)
    for seed in range(int(first), int(first) + int(count)):
        if time.monotonic() > end:
            break
        print(f"world {seed}", flush=True)
        counts += live(seed)
    print(*counts)


if __name__ == "__main__":
    main(*sys.argv[1:])
