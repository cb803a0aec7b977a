"""Baselines: hashes and numbers of a run, stored to compare later runs with it.

The file is JSON with one line for each sampled step. It has a short hash of the state after every
step, so that the first differing step can be named, and the numbers of some fifty steps, so that
the difference can.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple, NoReturn, TypeAlias

import numpy as np

from hrp_model import Body, Link
from hrp_model.files.resources import read_file
from hrp_model.files.writer import write_atomically
from hrp_model.rigid import Array, matrix_quaternion
from hrp_sim import Simulation
from hrp_sim.engine.state import BodyMotion
from hrp_sim.lab.sweeps.worker import fingerprint
from hrp_sim.run.run import Consumer
from hrp_sim.sensors import Reading

# By quantity, one row for each name.
BodySample: TypeAlias = Mapping[str, Array]
Sample: TypeAlias = Mapping[str, BodySample]


class Tolerance(NamedTuple):
    """Difference that counts as one unit, in SI units, and as a share of the expected value."""

    absolute: float
    relative: float

    def shares(self, difference: Array, expected: Array) -> Array:
        """Return differences as multiples of the tolerance."""
        ratio: Array = difference / (self.absolute + self.relative * np.abs(expected))
        return ratio


class Quantity(NamedTuple):
    """A quantity of roots, joints or links.

    Attributes:
        label: In messages, after the name of link or joint.
        width: Numbers for each name.
        tolerance: Difference that is accepted between different machines.
    """

    label: str
    width: int
    tolerance: Tolerance


_POSITION, _VELOCITY = Tolerance(1e-3, 1e-3), Tolerance(1e-2, 1e-3)
_FORCE = Tolerance(1.0, 0.05)
# The keys are those of the file. An orientation is a quaternion (x, y, z, w) with w >= 0.
OF_ROOT = {
    "position": Quantity("position", 3, _POSITION),
    "orientation": Quantity("orientation", 4, _POSITION),
    "velocity": Quantity("velocity", 3, _VELOCITY),
    "angular_velocity": Quantity("angular velocity", 3, _VELOCITY),
}
OF_JOINTS = {
    "joint_position": Quantity("position", 1, _POSITION),
    "joint_velocity": Quantity("velocity", 1, _VELOCITY),
    "joint_effort": Quantity("effort", 1, _FORCE),
}
OF_LINKS = {"contact_force": Quantity("contact force", 1, _FORCE)}
QUANTITIES = OF_ROOT | OF_JOINTS | OF_LINKS
_UNITS = {  # of other quantities than those of joints
    "position": "m",
    "orientation": "",
    "velocity": "m/s",
    "angular_velocity": "rad/s",
    "contact_force": "N",
}


class Layout(NamedTuple):
    """The parts of a body whose motion is sampled.

    Attributes:
        root: Name of the root link, or "" if it is fixed.
        joints: Names of the moving joints.
        links: Names of all links.
    """

    root: str
    joints: tuple[str, ...]
    links: tuple[str, ...]

    def names(self, quantity: str) -> Sequence[str]:
        """Return the names of the links or joints that have a quantity."""
        if quantity in OF_ROOT:
            return (self.root,) if self.root else ()
        return self.joints if quantity in OF_JOINTS else self.links

    def shapes(self) -> dict[str, tuple[int, int]]:
        """Return the shapes of all quantities that this body has."""
        named = ((key, len(self.names(key)), q.width) for key, q in QUANTITIES.items())
        return {key: (count, width) for key, count, width in named if count}


def layouts_of(simulation: Simulation) -> dict[str, Layout]:
    """Return the layouts of all bodies that can move, by name."""
    return dict(_layouts(simulation))


def _layouts(simulation: Simulation) -> Iterator[tuple[str, Layout]]:
    for name, simulated in simulation.bodies.items():
        body = simulated.body
        is_free = not (simulation.is_fixed(name) or body.is_static)
        joints = tuple(link.joint.name for link in body.moving_links)
        if is_free or joints:
            links = tuple(link.name for link in body.links)
            yield name, Layout(body.root.name if is_free else "", joints, links)


def sample_of(simulation: Simulation, layouts: Mapping[str, Layout]) -> dict[str, BodySample]:
    """Return the numbers of the last step; its contacts must have been recorded."""
    forces = _contact_forces(simulation)
    sample: dict[str, BodySample] = {}
    for name, layout in layouts.items():
        simulated = simulation.bodies.get(name)
        if simulated is None:  # removed
            continue
        values = _root_values(simulated.motion) if layout.root else {}
        if layout.joints:
            values |= _joint_values(simulated.motion)
        on_links = np.zeros((len(layout.links), 3))
        for link, force in forces.get(name, ()):
            on_links[link] += force
        values["contact_force"] = np.linalg.norm(on_links, axis=1)[:, np.newaxis]
        sample[name] = values
    return sample


def _root_values(motion: BodyMotion) -> dict[str, Array]:
    orientation = np.array([matrix_quaternion(motion.R[0])])
    values = {"position": motion.p[:1], "orientation": orientation}
    values |= {"velocity": motion.v[:1], "angular_velocity": motion.w[:1]}
    return {key: value.copy() for key, value in values.items()}


def _joint_values(motion: BodyMotion) -> dict[str, Array]:
    columns = zip(OF_JOINTS, (motion.q, motion.dq, motion.effort), strict=True)
    return {key: value[:, np.newaxis].copy() for key, value in columns}


def _contact_forces(simulation: Simulation) -> dict[str, list[tuple[int, Array]]]:
    """Return links and forces of all contacts by body; each counts for both of its bodies."""
    points = simulation.contacts()
    found: dict[str, list[tuple[int, Array]]] = {}
    for (a, b), (i, j), force in zip(points.bodies, points.links, points.force, strict=True):
        found.setdefault(a, []).append((int(i), force))
        found.setdefault(b, []).append((int(j), -force))
    return found


def part_text(body: Body, quantity: str, name: str) -> str:
    """Return a link, or a joint with its link, as text."""
    if quantity not in OF_JOINTS:
        return f"link '{name}'"
    link = _link_of(body, name).name
    return f"joint '{name}'" if link == name else f"link '{link}' (joint '{name}')"


def unit_of(body: Body, quantity: str, name: str) -> str:
    """Return the unit of a quantity, which for joints depends on their type."""
    if quantity in OF_JOINTS:
        units = dict(zip(OF_JOINTS, _link_of(body, name).joint.type.units, strict=True))
        return units[quantity]
    return _UNITS[quantity]


def _link_of(body: Body, joint: str) -> Link:
    return next(link for link in body.moving_links if link.joint.name == joint)


_FORMAT = "hrp_ros baseline 1"
_MAX_SIZE = 64 << 20  # of a file, in [byte]
_MAX_STEPS = 10**9
_SAMPLES = 50  # of a run besides steps 0 and 1; the file of a humanoid has 2 kB for each
_MAX_HASHES = 10_000
# Hexadecimal digits. An equal hash of different states, one in 4096, only makes the step that is
# named one too late.
_HASH_DIGITS = 3
_MAX_NUMBER = 1e300
_DIGITS = 12  # significant ones of numbers


class BaselineError(ValueError):
    """A baseline cannot be read or written; the message names the file."""


class SampledSteps(NamedTuple):
    """The steps of a run that are sampled.

    Attributes:
        step_ns: Time step, in [ns].
        sample_every: Steps between two samples.
        hash_every: Steps between two hashes.
    """

    step_ns: int
    sample_every: int
    hash_every: int

    @classmethod
    def of_run(cls, step_ns: int, steps: int) -> SampledSteps:
        """Return those of a run of a number of steps."""
        return cls(step_ns, max(-(-steps // _SAMPLES), 1), max(-(-steps // _MAX_HASHES), 1))

    def is_sampled(self, step: int) -> bool:
        """Return whether the numbers after a step are kept; those of steps 0 and 1 always are.

        A changed model differs in its first step, which names the changed part best.
        """
        return step % self.sample_every == 0 or step == 1

    def of(self, steps: int) -> list[int]:
        """Return the sampled steps of a complete run, of which the last one always is."""
        return sorted({*range(0, steps + 1, self.sample_every), min(1, steps), steps})


@dataclass
class Baseline:
    """Hashes and numbers of a run.

    Attributes:
        fingerprint: Of the machine; hashes of equal fingerprints can be compared.
        sampled: The steps that are sampled.
        layouts: Of the bodies that can move, by name.
        steps: Number of steps of the run.
        state: Hash of the final state.
        hashes: Short hashes of the state, from that after ``hash_every`` steps on.
        samples: By step.
    """

    fingerprint: str
    sampled: SampledSteps
    layouts: Mapping[str, Layout]
    steps: int = 0
    state: str = ""
    hashes: list[str] = field(default_factory=list)
    samples: dict[int, Sample] = field(default_factory=dict)


class BaselineRecorder(Consumer):
    """Consumer of a run that records its baseline.

    Args:
        simulation: Before its first step.
        steps: Number of steps that the run has at most.
        sampled: The steps to sample; by default those suitable for this number.
    """

    def __init__(
        self, simulation: Simulation, steps: int, sampled: SampledSteps | None = None
    ) -> None:
        step_ns = simulation.engine.settings.step_ns
        if sampled is None or sampled.step_ns != step_ns:
            sampled = SampledSteps.of_run(step_ns, steps)
        self._simulation, self._start_ns = simulation, simulation.engine.time_ns
        self._run = Baseline(fingerprint(), sampled, layouts_of(simulation))
        simulation.record_contacts(self, on=True)
        self._sample(0)

    def next_ns(self, simulation: Simulation) -> int:  # noqa: ARG002
        """Return 0, as each step is recorded."""
        return 0

    def take_step(self, time_ns: int, readings: Mapping[str, Reading]) -> None:  # noqa: ARG002
        """Record a step.

        A run longer than planned, as after a change of its duration, needs no more memory.
        """
        run, sampled = self._run, self._run.sampled
        step = (time_ns - self._start_ns) // sampled.step_ns
        if step % sampled.hash_every == 0 and len(run.hashes) < _MAX_HASHES:
            run.hashes.append(self._simulation.state_hash()[:_HASH_DIGITS])
        if sampled.is_sampled(step) and len(run.samples) < _SAMPLES + 2:
            self._sample(step)
        run.steps = step

    def finish(self) -> Baseline:
        """Return the baseline after the last step, which is sampled."""
        self._run.state = self._simulation.state_hash()
        self._sample(self._run.steps)
        self._simulation.record_contacts(self, on=False)
        return self._run

    def _sample(self, step: int) -> None:
        if step not in self._run.samples:
            self._run.samples[step] = sample_of(self._simulation, self._run.layouts)


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write a baseline atomically.

    Raises:
        BaselineError: It would replace a file that is no baseline, or be too large to be read.
        OSError: It cannot be written.
    """
    if path.exists():
        with path.open("rb") as file:
            beginning = file.read(100)
        if beginning and _FORMAT.encode() not in beginning:
            raise BaselineError(
                f"'{path}' is not a baseline, and is not replaced by one; remove it first"
            )
    content = _text_of(baseline).encode()
    if len(content) > _MAX_SIZE:
        raise BaselineError(f"the baseline '{path}' would be larger than {_MAX_SIZE >> 20} MiB")
    write_atomically(path, content)


def _text_of(baseline: Baseline) -> str:
    head = {
        "format": _FORMAT,
        "fingerprint": baseline.fingerprint,
        **baseline.sampled._asdict(),
        "steps": baseline.steps,
        "state": baseline.state,
        "bodies": {name: layout._asdict() for name, layout in baseline.layouts.items()},
    }
    lines = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in head.items()]
    rows = ",\n".join(json.dumps(row, allow_nan=False) for row in _rows(baseline))
    return "{\n" + ",\n".join(lines) + f',\n"samples": [\n{rows}\n]\n}}\n'


def _rows(baseline: Baseline) -> Iterator[dict[str, object]]:
    """Yield samples, each with the hashes since the one before it."""
    written = 0
    for step, sample in sorted(baseline.samples.items()):
        hashed = step // baseline.sampled.hash_every
        bodies = {
            name: {key: [_rounded(x) for x in a.ravel().tolist()] for key, a in values.items()}
            for name, values in sample.items()
        }
        yield {"step": step, "hashes": "".join(baseline.hashes[written:hashed]), "bodies": bodies}
        written = hashed


def _rounded(number: float) -> float:
    rounded = float(f"{number:.{_DIGITS}g}")
    return int(rounded) if rounded == 0.0 else rounded  # "0" is shorter than "0.0"


def rounded(values: Array) -> Array:
    """Return numbers as they are in a file."""
    return np.array([_rounded(x) for x in values.ravel().tolist()]).reshape(values.shape)


def read_baseline(path: Path) -> Baseline:
    """Read a baseline.

    Raises:
        BaselineError: It is something else.
        OSError: It cannot be read.
    """
    try:
        text = read_file(path, _MAX_SIZE).decode()
        return _baseline_of(_Object(json.loads(text, parse_constant=_reject_constant)))
    except (ValueError, RecursionError) as error:
        reason = "" if isinstance(error, json.JSONDecodeError | RecursionError) else f": {error}"
        raise BaselineError(f"'{path}' is not a baseline{reason}") from None


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"it contains {name}")


class _Object:
    """A JSON object whose members are checked; errors are ValueError."""

    def __init__(self, value: object) -> None:
        if not isinstance(value, dict):
            raise ValueError("an object is missing")
        self._members = value

    def text(self, key: str) -> str:
        value = self._members.get(key)
        if not isinstance(value, str):
            raise ValueError(f"'{key}' is no text")
        return value

    def count(self, key: str, least: int = 0) -> int:
        value = self._members.get(key)
        if type(value) is not int or not least <= value <= _MAX_STEPS:
            raise ValueError(f"'{key}' is no number of at least {least}")
        return value

    def items(self, key: str) -> Sequence[object]:
        value = self._members.get(key)
        if not isinstance(value, list):
            raise ValueError(f"'{key}' is no list")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        items = tuple(self.items(key))
        if not all(isinstance(item, str) for item in items):
            raise ValueError(f"'{key}' is no list of texts")
        return tuple(map(str, items))

    def array(self, key: str, shape: tuple[int, int]) -> Array:
        items = self.items(key)
        numbers = [
            x
            for x in items
            if isinstance(x, int | float) and not isinstance(x, bool) and abs(x) <= _MAX_NUMBER
        ]
        if not len(numbers) == len(items) == shape[0] * shape[1]:
            raise ValueError(f"'{key}' is no list of {shape[0] * shape[1]} numbers")
        return np.array(numbers, dtype=float).reshape(shape)

    def objects(self, key: str) -> dict[str, _Object]:
        members = _Object(self._members.get(key))._members
        return {name: _Object(value) for name, value in members.items()}


def _baseline_of(root: _Object) -> Baseline:
    if root.text("format") != _FORMAT:
        raise ValueError(f"its format is not '{_FORMAT}'")
    sampled = SampledSteps(
        root.count("step_ns", 1), root.count("sample_every", 1), root.count("hash_every", 1)
    )
    layouts = {
        name: Layout(body.text("root"), body.texts("joints"), body.texts("links"))
        for name, body in root.objects("bodies").items()
    }
    baseline = Baseline(
        root.text("fingerprint"), sampled, layouts, root.count("steps"), root.text("state")
    )
    if baseline.steps > min(sampled.sample_every * _SAMPLES, sampled.hash_every * _MAX_HASHES):
        raise ValueError(f"it has too few steps between samples for {baseline.steps} steps")
    rows = [_Object(row) for row in root.items("samples")]
    # Without some of them, a run on another machine would not differ.
    if [row.count("step") for row in rows] != sampled.of(baseline.steps):
        raise ValueError("samples are missing, or not in their order")
    for row in rows:
        hashes = row.text("hashes")
        starts = range(0, len(hashes), _HASH_DIGITS)
        baseline.hashes += [hashes[k : k + _HASH_DIGITS] for k in starts]
        baseline.samples[row.count("step")] = {
            name: {
                key: body.array(key, shape)
                for key, shape in _layout(layouts, name).shapes().items()
            }
            for name, body in row.objects("bodies").items()
        }
    if baseline.samples[0].keys() != layouts.keys():
        raise ValueError("bodies are missing in the first sample")
    if len(baseline.hashes) != baseline.steps // sampled.hash_every:
        raise ValueError(f"it has {len(baseline.hashes)} hashes for {baseline.steps} steps")
    return baseline


def _layout(layouts: Mapping[str, Layout], body: str) -> Layout:
    if body not in layouts:
        raise ValueError(f"a sample has the unknown body '{body}'")
    return layouts[body]
