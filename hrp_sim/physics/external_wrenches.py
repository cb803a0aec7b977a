"""Forces and torques from outside that last for a while."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from math import isfinite

import numpy as np

from hrp_model.rigid import Array

from .engine import AnyArray, PhysicsError
from .schedule import NS_PER_S
from .snapshot import check_arrays
from .state import MAX_DRIVE_VALUE, SimulatedBody

_MAX_DURATION_NS = 10**18  # [ns], thirty years


@dataclass(slots=True)
class TimedWrench:
    """A wrench on one link.

    Attributes:
        target: The body.
        link: Index of the link.
        force: In [N], shape (3,).
        torque: About ``point``, in [N m], shape (3,).
        point: Of the link, where the force acts: in the link's frame, in [m], shape (3,).
        remaining_ns: How long it still lasts, in [ns].
        local: Whether force and torque are in the link's axes, and turn with them; else they are
            in W.
        source: Who pushes; a later push of the same one on the same link replaces this. Empty
            means that nothing replaces it.
    """

    target: SimulatedBody
    link: int
    force: Array
    torque: Array
    point: Array
    remaining_ns: int
    local: bool = False
    source: str = ""

    @classmethod
    def checked(
        cls,
        target: SimulatedBody,
        link: str,
        wrench: Sequence[Array],
        duration: float,
        local: bool,
        source: str,
    ) -> TimedWrench:
        """Return a push of what somebody asks for.

        Args:
            target: The body.
            link: Name of the link.
            wrench: Force, torque and point as they are kept, each of shape (3,); copied.
            duration: How long it lasts, in [s].
            local: As it is kept.
            source: As it is kept.

        Raises:
            KeyError: There is no such link.
            ValueError: A number is not finite, or absurd, or there are not three.
        """
        index = target.body.link_index(link)
        force, torque, point = (np.array(v, dtype=np.float64) for v in wrench)
        lasts = isfinite(duration) and 0.0 < duration * NS_PER_S <= _MAX_DURATION_NS
        remaining_ns = max(1, round(duration * NS_PER_S)) if lasts else 0
        push = cls(target, index, force, torque, point, remaining_ns, local, source)
        if not (force.shape == torque.shape == point.shape == (3,) and push.is_valid):
            raise ValueError(
                f"body '{target.name}', link '{link}': a push needs finite vectors of three "
                "numbers and a duration greater than 0"
            )
        return push

    def replaces(self, other: TimedWrench) -> bool:
        """Tell whether another push ends when this one comes."""
        same = self.target is other.target and self.link == other.link
        return same and self.source == other.source != ""

    @property
    def is_valid(self) -> bool:
        """Whether it has numbers that an engine takes, and still lasts."""
        values = np.concatenate([self.force, self.torque, self.point])
        return (
            bool(np.all(np.abs(values) < MAX_DRIVE_VALUE))
            and 0 < self.remaining_ns <= _MAX_DURATION_NS
        )


class ExternalWrenches:
    """The pushes that still last. They add up, with each other and with a body's own wrench."""

    def __init__(self) -> None:
        self._new: list[TimedWrench] = []
        self._lock = threading.Lock()  # of the new ones
        self._lasting: list[TimedWrench] = []

    def add(self, push: TimedWrench) -> None:
        """Let a push act from the next step on. May be called from any thread.

        What it replaces is forgotten at once: a world that stands still gathers no more pushes
        than there are sources and links.
        """
        with self._lock:
            self._new = [p for p in self._new if not push.replaces(p)]
            self._new.append(push)

    def __bool__(self) -> bool:
        return bool(self._new or self._lasting)

    @contextmanager
    def applied(self, bodies: Mapping[str, SimulatedBody], step_ns: int) -> Iterator[None]:
        """Add the pushes to the wrenches of their bodies while a step is taken.

        Of a step in which a push ends it has its share, so that its impulse is exact. A step
        that fails takes nothing of it.
        """
        self._take()
        # One on a body that was removed while it waited pushes nothing.
        self._lasting = [p for p in self._lasting if bodies.get(p.target.name) is p.target]
        wrenches = {push.target.name: push.target.wrench for push in self._lasting}
        before = {name: (w.force.copy(), w.torque.copy()) for name, w in wrenches.items()}
        for push in self._lasting:
            share = min(1.0, push.remaining_ns / step_ns)
            R_WL = push.target.motion.R[push.link]
            force, torque = push.force, push.torque
            if push.local:
                force, torque = R_WL @ force, R_WL @ torque
            wrench = push.target.wrench
            wrench.force[push.link] += share * force
            wrench.torque[push.link] += share * (torque + np.cross(R_WL @ push.point, force))
        try:
            yield
        finally:
            for name, wrench in wrenches.items():
                wrench.force[:], wrench.torque[:] = before[name]
        for push in self._lasting:
            push.remaining_ns -= step_ns
        self._lasting = [push for push in self._lasting if push.remaining_ns > 0]

    def clear(self) -> None:
        """Forget all."""
        with self._lock:
            self._new = []
        self._lasting.clear()

    def save(self) -> dict[str, AnyArray]:
        """Return what still lasts, for ``from_arrays``."""
        self._take()
        rows = [np.concatenate([p.force, p.torque, p.point]) for p in self._lasting]
        return {
            "body": np.array([p.target.name for p in self._lasting], dtype=np.str_),
            "link": np.array([p.link for p in self._lasting], dtype=np.int64),
            "wrench": np.array(rows, dtype=np.float64).reshape(-1, 9),
            "left_ns": np.array([p.remaining_ns for p in self._lasting], dtype=np.int64),
            "local": np.array([p.local for p in self._lasting], dtype=np.int64),
            "source": np.array([p.source for p in self._lasting], dtype=np.str_),
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, AnyArray], bodies: Mapping[str, SimulatedBody]
    ) -> ExternalWrenches:
        """Return the pushes that were saved.

        Raises:
            PhysicsError: They make no sense, or act on bodies that there are not.
        """
        n = np.size(arrays.get("body", np.array([])))
        expected = {
            "body": np.zeros(n, dtype=np.str_),
            "link": np.zeros(n, dtype=np.int64),
            "wrench": np.zeros((n, 9)),
            "left_ns": np.zeros(n, dtype=np.int64),
            "local": np.zeros(n, dtype=np.int64),
            "source": np.zeros(n, dtype=np.str_),
        }
        check_arrays(arrays, expected)
        pushes = cls()
        rows = (arrays[k].tolist() for k in ("body", "link", "left_ns", "local", "source"))
        for wrench, body, link, remaining_ns, local, source in zip(
            arrays["wrench"], *rows, strict=True
        ):
            if body not in bodies or not 0 <= link < len(bodies[body].body.links):
                raise PhysicsError("a push of the snapshot acts on a link that is not here")
            force, torque, point = wrench.reshape(3, 3).copy()
            push = TimedWrench(
                bodies[body], link, force, torque, point, remaining_ns, bool(local), source
            )
            if not push.is_valid:
                raise PhysicsError("a push of the snapshot makes no sense")
            pushes.add(push)
        return pushes

    def _take(self) -> None:
        with self._lock:
            taken, self._new = self._new, []
        for new in taken:
            self._lasting = [p for p in self._lasting if not new.replaces(p)]
            self._lasting.append(new)
        if taken:  # sums do not depend on who was heard first
            self._lasting.sort(key=lambda push: push.source)
