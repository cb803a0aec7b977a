"""Health of a node to diagnostic_msgs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..messages import DiagnosticArray, DiagnosticStatus, KeyValue
from .basic import stamp

PERIOD = 1.0  # [s] of wall time between two messages (REP 107)

_LEVELS = {
    "ok": DiagnosticStatus.OK,
    "warn": DiagnosticStatus.WARN,
    "error": DiagnosticStatus.ERROR,
    "stale": DiagnosticStatus.STALE,
}


def diagnostic_status(
    level: str, name: str, message: str, values: Mapping[str, object], hardware_id: str = ""
) -> DiagnosticStatus:
    """Return the status of one part of a node.

    Args:
        level: "ok", "warn", "error", or "stale" if no data arrived for too long.
        name: By convention "node: part", unique on the topic.
        message: Summary in one line.
        values: Further values; floating-point numbers are rounded to six digits.
        hardware_id: Device or robot concerned, such as the name of a robot.
    """
    return DiagnosticStatus(
        level=_LEVELS[level],
        name=name,
        message=message,
        hardware_id=hardware_id,
        values=[KeyValue(key=key, value=_text(value)) for key, value in values.items()],
    )


def diagnostic_array(time_ns: int, statuses: Iterable[DiagnosticStatus]) -> DiagnosticArray:
    """Return the message of ``/diagnostics``, stamped with a time in [ns]."""
    msg = DiagnosticArray(status=list(statuses))
    msg.header.stamp = stamp(time_ns)
    return msg


def _text(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)
