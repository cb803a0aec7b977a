"""From joint states to the frames that they move. Knows no ROS."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from math import isfinite

from ..kinematics.loops import Gap
from .closed_loops import ClosedLoops
from .frame_tree import FrameTree, MovedFrame


class LastPositions:
    """The last position that was told of each joint, those of other robots included."""

    def __init__(self) -> None:
        self._told: dict[str, tuple[int, float]] = {}
        self._recalled = 0

    def tell(self, time_ns: int, joints: Sequence[str], positions: Sequence[float]) -> None:
        """Remember finite positions in [rad] or [m] that hold at a stamp in [ns].

        A joint that was told of a later one means that time began anew: what was told of the
        time to come is forgotten.
        """
        if any(self._told[name][0] > time_ns for name in joints if name in self._told):
            self._told = {name: told for name, told in self._told.items() if told[0] <= time_ns}
        told = zip(joints, positions, strict=True)
        self._told.update((name, (time_ns, q)) for name, q in told if isfinite(q))

    def recall(self, joints: Container[str]) -> dict[int, dict[str, float]]:
        """Return the positions of these joints, by stamps in [ns] that they did not have before.

        Listeners drop what repeats a stamp. The new ones are the least bit later than those that
        were told, as any clock could be far from that of the joints.
        """
        self._recalled += 1
        found: dict[int, dict[str, float]] = {}
        for name, (time_ns, q) in sorted(self._told.items(), key=lambda item: item[1][0]):
            if name in joints:
                found.setdefault(time_ns + self._recalled, {})[name] = q
        return found


class JointFollower:
    """Follows the joints of a robot, and counts what it hears.

    Attributes:
        heard: Messages that told of joints so far.
        ignored: Messages that could not be used.
        answered: Messages that were answered with frames.
        last_heard: When the last message came, in [s] of the clock of whoever asks; None
            before the first.
        named: Joints of the robot that had a position so far.
        last: The last positions.
        unknown: Names that are no joints of the robot that move, in the order of appearance.
        computed: Joints whose positions followed from others so far, by closed loops.
        open_loops: What keeps loops open in the last positions, as sentences.
        loop_residual: How far any loop is open in them; see ``closed_loops.Completed``.

    Args:
        tree: The frames of the robot.
        loops: Its closed loops.
        last: The last positions that another follower heard of; by default none.
    """

    def __init__(
        self, tree: FrameTree, loops: ClosedLoops, last: LastPositions | None = None
    ) -> None:
        self._tree = tree
        self._loops = loops
        self.heard = self.ignored = self.answered = 0
        self.last_heard: float | None = None
        self.named: set[str] = set()
        self.unknown: dict[str, None] = {}
        self.last = LastPositions() if last is None else last
        self.computed: set[str] = set()
        self.open_loops: tuple[str, ...] = ()
        self.loop_residual = Gap(0.0, 0.0)
        self.limit(0.0)

    @property
    def joints(self) -> tuple[str, ...]:
        """Names of all that moves."""
        return tuple(self._tree.moving)

    @property
    def silent(self) -> list[str]:
        """Joints that had no position yet, neither told nor computed."""
        return [n for n in self.joints if n not in self.named and n not in self.computed]

    def limit(self, frequency: float) -> None:
        """Answer so often from now on, and the next message in any case.

        Args:
            frequency: Most answers per second of the messages' stamps for any one joint, in
                [Hz]; 0 means all, whatever their stamps.
        """
        self._throttle = StampThrottle(frequency)

    def is_due(self, time_ns: int) -> bool:
        """Tell whether ``follow`` would answer a message with this stamp, as far as it knows."""
        return self._throttle.is_due(time_ns)

    def follow(
        self, time_ns: int, joints: Sequence[str], positions: Sequence[float], now: float
    ) -> list[MovedFrame]:
        """Return the frames that have moved, or none if it is not time to tell.

        Joints that follow from those that are told, by closed loops, are among them.

        Args:
            time_ns: Stamp of the message, in [ns].
            joints: Names, one per position.
            positions: In [rad] or [m]; what is not finite is left out.
            now: When the message came, in [s].
        """
        self.heard += 1
        self.last_heard = now
        self.last.tell(time_ns, joints, positions)
        known, unknown = usable_positions(joints, positions, self._tree.moving)
        self.unknown.update((name, None) for name in unknown if name not in self._tree.tracks)
        self.named.update(known)
        if not known or not self._throttle.lets_through(known, time_ns):
            return []
        self.answered += 1
        completed, self.open_loops, self.loop_residual = self._loops.complete(known)
        self.computed.update(completed.keys() - known.keys())
        return self._tree.moved(completed)

    def again(self) -> dict[int, list[MovedFrame]]:
        """Return the frames at the last positions, by stamps in [ns] that they did not have before.

        For what has another name or another place now though no joint has moved. This counts
        as no message: neither the rate nor the health of the joints knows of it.
        """
        return {
            time_ns: self._tree.moved(self._loops.complete(positions).positions)
            for time_ns, positions in self.last.recall(self._tree.moving).items()
        }


class StampThrottle:
    """Lets joints through at a limited rate, judged by the stamps of their messages.

    The first message in each period of the stamps passes, so that what other nodes publish
    at multiples of the period has the same stamps. Each joint has its own account, so that
    two sources of joint states that know different joints do not starve one another.

    Args:
        frequency: Most messages per second for any one joint, in [Hz]; 0 lets all through.
    """

    def __init__(self, frequency: float) -> None:
        self._interval_ns = round(1e9 / frequency) if frequency > 0.0 else 0
        self._last: dict[str, int] = {}

    def is_due(self, stamp_ns: int) -> bool:
        """Tell whether a message would pass of those joints that passed before."""
        return self._is_due(min(self._last.values(), default=-1), stamp_ns)

    def lets_through(self, joints: Iterable[str], stamp_ns: int) -> bool:
        """Tell whether a message of these joints is due, and if so, count it as published.

        A stamp before the last one means that time began anew: that message is due.
        """
        names = list(joints)
        last = min((self._last.get(name, -1) for name in names), default=-1)
        if not self._is_due(last, stamp_ns):
            return False
        self._last.update(dict.fromkeys(names, stamp_ns))
        return True

    def _is_due(self, last: int, stamp_ns: int) -> bool:
        interval = self._interval_ns
        is_same = interval and 0 <= last <= stamp_ns and last // interval == stamp_ns // interval
        return not is_same


def usable_positions(
    names: Iterable[str], positions: Iterable[float], known: Container[str]
) -> tuple[dict[str, float], list[str]]:
    """Pair joint names with positions; return what can be used, and the names not known.

    Positions that are not finite mean "no position" and are left out.
    """
    usable: dict[str, float] = {}
    unknown: list[str] = []
    for name, position in zip(names, positions, strict=True):
        if name not in known:
            unknown.append(name)
        elif isfinite(position):
            usable[name] = position
    return usable, unknown
