"""External forces and torques that act on links for a limited time."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite

import numpy as np

from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array

from .engine import AnyArray, PhysicsError
from .schedule import NS_PER_S
from .snapshot import check_arrays
from .state import MAX_DRIVE_VALUE, SimulatedBody

_MAX_DURATION_NS = 10**18  # [ns], thirty years


@dataclass(slots=True)
class TimedWrench:
    """An external wrench on one link for a limited time.

    Attributes:
        target: The body.
        link: Index of the link.
        force: In [N], shape (3,).
        torque: About ``point``, in [N m], shape (3,).
        point: Point of application in the link's frame, in [m], shape (3,).
        remaining_ns: Remaining duration, in [ns].
        local: Whether force and torque are expressed in the link's frame; else in W.
        source: Name of the sender; its next wrench on the same link replaces this one. Wrenches
            with an empty source are never replaced.
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
    def from_request(
        cls,
        target: SimulatedBody,
        link: str,
        wrench: Sequence[Array],
        duration: float,
        local: bool,
        source: str,
    ) -> TimedWrench:
        """Return a wrench after checking its values.

        Args:
            target: The body.
            link: Name of the link.
            wrench: Force, torque and point, each of shape (3,); copied.
            duration: In [s].
            local: As the attribute.
            source: As the attribute.

        Raises:
            KeyError: There is no such link.
            ValueError: A vector does not have three finite numbers below ``MAX_DRIVE_VALUE``,
                or the duration is not positive or beyond thirty years.
        """
        index = target.body.link_index(link)
        force, torque, point = (np.array(v, dtype=np.float64) for v in wrench)
        is_duration = isfinite(duration) and 0.0 < duration * NS_PER_S <= _MAX_DURATION_NS
        remaining_ns = max(1, round(duration * NS_PER_S)) if is_duration else 0
        made = cls(target, index, force, torque, point, remaining_ns, local, source)
        if not (force.shape == torque.shape == point.shape == (3,) and made.is_valid):
            raise ValueError(
                f"body '{target.name}', link '{link}': force, torque and point must be three "
                f"finite numbers below {MAX_DRIVE_VALUE:g} each, and the duration positive"
            )
        return made

    def replaces(self, other: TimedWrench) -> bool:
        """Return whether this wrench replaces another one."""
        same = self.target is other.target and self.link == other.link
        return same and self.source == other.source != ""

    @property
    def is_valid(self) -> bool:
        """Whether its values are within bounds and its duration is not over."""
        values = np.concatenate([self.force, self.torque, self.point])
        return (
            bool(np.all(np.abs(values) < MAX_DRIVE_VALUE))
            and 0 < self.remaining_ns <= _MAX_DURATION_NS
        )


class ExternalWrenches:
    """The external wrenches in effect. They add up with each other and with the body's wrench."""

    def __init__(self) -> None:
        self._new: list[TimedWrench] = []
        self._lock = threading.Lock()  # guards _new
        self._active: list[TimedWrench] = []

    def add(self, wrench: TimedWrench) -> None:
        """Apply a wrench from the next step on. May be called from any thread.

        Wrenches that it replaces are removed at once, so that a paused world keeps at most one
        per source and link.
        """
        with self._lock:
            self._new = [w for w in self._new if not wrench.replaces(w)]
            self._new.append(wrench)

    def __bool__(self) -> bool:
        return bool(self._new or self._active)

    @contextmanager
    def applied(self, bodies: Mapping[str, SimulatedBody], step_ns: int) -> Iterator[None]:
        """Add the wrenches to those of their bodies during a step.

        In the step in which a wrench ends it acts with the remaining fraction, so that its
        impulse is exact. A step that fails does not use it up.
        """
        self._activate_new()
        # The body may have been removed since.
        self._active = [w for w in self._active if bodies.get(w.target.name) is w.target]
        totals = {w.target.name: w.target.wrench for w in self._active}
        before = {name: (t.force.copy(), t.torque.copy()) for name, t in totals.items()}
        for wrench in self._active:
            share = min(1.0, wrench.remaining_ns / step_ns)
            R_WL = wrench.target.motion.R[wrench.link]
            force, torque = wrench.force, wrench.torque
            if wrench.local:
                force, torque = R_WL @ force, R_WL @ torque
            total = wrench.target.wrench
            total.force[wrench.link] += share * force
            total.torque[wrench.link] += share * (torque + np.cross(R_WL @ wrench.point, force))
        try:
            yield
        finally:
            for name, total in totals.items():
                total.force[:], total.torque[:] = before[name]
        for wrench in self._active:
            wrench.remaining_ns -= step_ns
        self._active = [wrench for wrench in self._active if wrench.remaining_ns > 0]

    def clear(self) -> None:
        """Remove all wrenches."""
        with self._lock:
            self._new = []
        self._active.clear()

    def save(self) -> dict[str, AnyArray]:
        """Return the wrenches in effect as arrays, for ``from_arrays``."""
        self._activate_new()
        rows = [np.concatenate([w.force, w.torque, w.point]) for w in self._active]
        return {
            "body": np.array([w.target.name for w in self._active], dtype=np.str_),
            "link": np.array([w.link for w in self._active], dtype=np.int64),
            "wrench": np.array(rows, dtype=np.float64).reshape(-1, 9),
            "left_ns": np.array([w.remaining_ns for w in self._active], dtype=np.int64),
            "local": np.array([w.local for w in self._active], dtype=np.int64),
            "source": np.array([w.source for w in self._active], dtype=np.str_),
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, AnyArray], bodies: Mapping[str, SimulatedBody]
    ) -> ExternalWrenches:
        """Return the wrenches that were saved.

        Raises:
            PhysicsError: A value is invalid, or a body or link does not exist.
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
        wrenches = cls()
        rows = (arrays[k].tolist() for k in ("body", "link", "left_ns", "local", "source"))
        for wrench, body, link, remaining_ns, local, source in zip(
            arrays["wrench"], *rows, strict=True
        ):
            if body not in bodies or not 0 <= link < len(bodies[body].body.links):
                raise PhysicsError(
                    f"an external wrench of the snapshot acts on link {link} of body '{body}', "
                    "which this world does not have"
                )
            force, torque, point = wrench.reshape(3, 3).copy()
            restored = TimedWrench(
                bodies[body], link, force, torque, point, remaining_ns, bool(local), source
            )
            if not restored.is_valid:
                raise PhysicsError(
                    f"an external wrench of the snapshot on body '{body}' is out of range"
                )
            wrenches.add(restored)
        return wrenches

    def _activate_new(self) -> None:
        with self._lock:
            added, self._new = self._new, []
        for new in added:
            self._active = [w for w in self._active if not new.replaces(w)]
            self._active.append(new)
        if added:  # so that sums do not depend on the order of arrival
            self._active.sort(key=lambda wrench: wrench.source)
