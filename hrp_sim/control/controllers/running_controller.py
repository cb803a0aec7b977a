"""One controller or force hook in a run: calls it, ends it if it fails, and saves its state."""

from __future__ import annotations

import logging
import os
import re
import time
import traceback
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import cast
from urllib.parse import quote, unquote

import numpy as np

from hrp_model import Diagnostics
from hrp_model.diagnostics import Span

from ... import sensors
from ...engine.engine import AnyArray, Engine, PhysicsError
from ...engine.schedule import NEVER_NS, SampleClock
from ...engine.snapshot import MAX_NUMBER
from ...sensors import Reading
from .classes import Controller, ForceHook, Plugin
from .io import ControllerIO, ForceState

_log = logging.getLogger("hrp_sim")
# A call that takes longer, in [s] of wall time, is reported once.
_LONG = 1.0
_NOW = 0
_OWN, _READINGS = "own/", "readings/"
# What code of users may raise to end a controller; the others of BaseException end the program.
FAILURES = (Exception, SystemExit)
_ROOT = Path(__file__).parents[3]
# Where the program of a user is never wrong: "<" begins the names of code without a file.
_NOT_USERS = ("<", f"{_ROOT / 'hrp_model'}{os.sep}", f"{_ROOT / 'hrp_sim'}{os.sep}")
_STANDARD = f"{Path(os.__file__).parent}{os.sep}"
_INSTALLED = r"[/\\](site|dist)-packages[/\\]"
_TYPE = "type"


class RunningController:
    """A controller or force hook of one body.

    Args:
        plugin: What runs.
        io: Its inputs and outputs.
        force: What its force hook reads and writes.
        engine: Provides the time.
        rate: Of ``control``, in [Hz]; None means each step.
        diagnostics: Receives a warning if it fails.
        name: For messages, such as "walk.py:Walk".
        at: Its place in the world file.
        on_end: Called when it has ended.

    Attributes:
        next_ns: When ``control`` must be called next, in [ns].
        failure: Why it has ended; "" if it has not failed.
        applies: Whether it is a force hook that has not ended.
    """

    def __init__(
        self,
        plugin: Plugin,
        io: ControllerIO,
        force: ForceState,
        engine: Engine,
        rate: float | None,
        diagnostics: Diagnostics,
        name: str,
        at: Span | None = None,
        *,
        on_end: Callable[[], None],
    ) -> None:
        self.plugin, self.io, self.name = plugin, io, name
        self.next_ns = NEVER_NS
        self.failure = ""
        self.applies = False
        self._controller = plugin if isinstance(plugin, Controller) else None
        self._hook = plugin if isinstance(plugin, ForceHook) else None
        self._force = force
        self._engine = engine
        self._rate = rate
        self._clock: SampleClock | None = None
        self._origin_ns = engine.time_ns
        self._diagnostics = diagnostics
        self._at = at
        self._on_end = on_end
        self._is_initialized = self._is_on = False
        self._was_long = False

    def initialize(self) -> None:
        """Initialize and start it."""
        self._is_initialized = self._call("initialize", lambda: self.plugin.initialize(self.io))
        if self._is_initialized:
            self._begin("start", self.plugin.start)

    def restart(self) -> None:
        """Stop it if it runs, and start it again at the present time."""
        self.stop()
        self._origin_ns = self._engine.time_ns
        if self._is_initialized:
            self.io.restart()
            self._begin("start", self.plugin.start)

    def stop(self) -> None:
        """Stop it, unless it has ended already."""
        if self._is_on:
            self._end()
            self._call("stop", self.plugin.stop)

    def control(self, time_ns: int) -> None:
        """Call ``control``, which is due, and let its targets take effect."""
        assert self._controller is not None
        begin = time.perf_counter()
        try:
            goes_on: object = self._controller.control()
        except FAILURES as error:
            self._fail_with("control", error)
            return
        if (seconds := time.perf_counter() - begin) > _LONG:
            self._report_long(seconds)
        if goes_on is not True:
            if not isinstance(goes_on, bool | np.bool_):
                shown = _printable(goes_on, repr)
                self.fail(f"control() returned {shown:.40}, not True to go on or False to end")
                return
            if not goes_on:
                self.io.release()
                self.stop()
                return
        if not self.io.targets.are_valid:
            self.fail(f"control() set {self.io.target_problem()}")
            return
        self.io.apply_targets(time_ns)
        if (clock := self._clock) is not None:
            if time_ns >= clock.due_ns:
                clock.advance(time_ns)
            self.next_ns = clock.due_ns

    def apply(self, dt: float) -> None:
        """Let the force hook add to a step of a length in [s]."""
        assert self._hook is not None
        self._force.begin()
        try:
            self._hook.apply(self._force, dt)
        except FAILURES as error:
            self._fail_with("apply", error)
            return
        if problem := self._force.problem():
            self.fail(f"apply() computed nonsense: {problem}")
            return
        self._force.add()

    def take_back(self) -> None:
        """Take back what ``apply`` has added, after the step."""
        self._force.take_back()

    def retime(self, time_ns: int) -> None:
        """Continue at another clock time, in [ns]."""
        self._set_clock(min(self._origin_ns, time_ns), time_ns)

    def save(self) -> dict[str, AnyArray]:
        """Return its state by name, for ``restore``."""
        arrays = self._common_state()
        for name, reading in self.io.readings.items():
            found = reading_arrays(reading)
            arrays |= {f"{_READINGS}{quote(name, safe='')}/{k}": a for k, a in found.items()}
        try:
            own = self.plugin.save() if self._is_on else {}
            if own is not None:
                arrays |= {f"{_OWN}{k}": _own_array(k, v) for k, v in own.items()}
                arrays["saved"][...] = 1
            elif self._origin_ns < self._engine.time_ns:
                self._warn("controller-restarted", "its state is not saved: it has no method save")
        except FAILURES as error:
            text = f"its state is not saved: {self._reason('save', error)}"
            self._warn("controller-restarted", text)
        return arrays

    def _common_state(self) -> dict[str, AnyArray]:
        """Return what is saved of every controller."""
        values = np.array(self.io.targets.values)
        return {
            "name": np.array(self.name),
            "on": np.array(self._is_on, dtype=np.int64),
            "saved": np.array(0, dtype=np.int64),
            "origin_ns": np.array(self._origin_ns, dtype=np.int64),
            "next_ns": np.array(self.next_ns, dtype=np.int64),
            "targets": np.where(np.abs(values) < MAX_NUMBER, values, 0.0),
        }

    def restore(self, arrays: Mapping[str, AnyArray]) -> None:
        """Go back to a state that ``check`` has accepted, or start again if it was not saved."""
        if not self._is_initialized:
            return
        time_ns = self._engine.time_ns
        if not arrays["saved"]:
            self.restart()
            if int(arrays["origin_ns"]) < time_ns:  # else it had just started
                self._warn("controller-restarted", "it starts again: its state was not saved")
            return
        self.io.restart()
        self.io.targets.values[:] = arrays["targets"]
        self.io.readings.update(_saved_readings(arrays))
        own = {k.removeprefix(_OWN): a.copy() for k, a in arrays.items() if k.startswith(_OWN)}
        if not arrays["on"]:
            self.stop()
            return
        self._begin("restore", lambda: self.plugin.restore(own))
        self._set_clock(min(max(int(arrays["origin_ns"]), 0), time_ns), time_ns)
        is_waiting = self.next_ns == _NOW and int(arrays["next_ns"]) > time_ns
        if self._clock is not None and is_waiting:
            self.next_ns = self._clock.due_ns

    def check(self, arrays: Mapping[str, AnyArray]) -> None:
        """Check a saved state.

        Raises:
            PhysicsError: It does not match this controller.
        """
        for name, like in self._common_state().items():
            array = arrays.get(name)
            if array is None or array.shape != like.shape or array.dtype.kind != like.dtype.kind:
                raise PhysicsError(f"the snapshot does not match controller {self}: '{name}'")
        if not np.all(np.abs(arrays["targets"]) <= MAX_NUMBER):
            raise PhysicsError(f"the targets of controller {self} in the snapshot are out of range")

    def __str__(self) -> str:
        return f"'{self.name}' of body '{self.io.body}'"

    def _begin(self, method: str, call: Callable[[], object]) -> bool:
        """Let it run from now on, and call a method; return whether that succeeded."""
        self.failure = ""
        self._is_on, self.applies = True, self._hook is not None
        self._set_clock(self._engine.time_ns, self._engine.time_ns)
        self.next_ns = NEVER_NS if self._controller is None else _NOW
        return self._call(method, call)

    def _end(self) -> None:
        self.next_ns, self.applies, self._is_on = NEVER_NS, False, False
        self._on_end()

    def _set_clock(self, origin_ns: int, time_ns: int) -> None:
        """Count control periods from a time; the next call is after another one, in [ns]."""
        self._origin_ns = origin_ns
        if self._rate is not None:
            self._clock = SampleClock(self._rate, origin_ns)
            self._clock.wait(time_ns)
            if self.next_ns not in (_NOW, NEVER_NS):
                self.next_ns = self._clock.due_ns

    def _call(self, method: str, call: Callable[[], object]) -> bool:
        """Call a method; end the controller if that raises. Return whether it did not."""
        try:
            call()
        except FAILURES as error:
            self._fail_with(method, error)
            return False
        return True

    def _fail_with(self, method: str, error: BaseException) -> None:
        _log.debug("controller %s", self, exc_info=error)
        self.fail(self._reason(method, error))

    def _reason(self, method: str, error: BaseException) -> str:
        """Return why the call of a method has failed."""
        if isinstance(error, TypeError) and not callable(getattr(self.plugin, method, None)):
            return f"its attribute '{method}' hides the method {method}(); rename the attribute"
        return f"{method}() raised {described(error)}"

    def fail(self, reason: str) -> None:
        """End it for a reason, and warn of it."""
        self._end()
        self.io.release()
        self.failure = reason
        self._warn("controller-failed", f"it has ended: {reason}")

    def _report_long(self, seconds: float) -> None:
        if not self._was_long:
            self._was_long = True
            text = f"control() took {seconds:.1f} s, for which the whole simulation waited"
            self._warn("controller-blocks", text)

    def _warn(self, code: str, text: str) -> None:
        self._diagnostics.warn(code, f"controller {self}: {text}", self._at)


def described(error: BaseException) -> str:
    """Return an exception with its class, and the line of the program that raised it."""
    message = _printable(error, str)
    if isinstance(error, KeyError) and len(message.split()) > 1:  # a sentence, not a key
        message = _printable(error.args[0], str)
    text = f"{type(error).__name__}: {message}".removesuffix(": ")
    if isinstance(error, SyntaxError):  # which has its place
        return text
    files = [
        (frame.f_code.co_filename, line) for frame, line in traceback.walk_tb(error.__traceback__)
    ]
    users = [(file, line) for file, line in files if not file.startswith(_NOT_USERS)]
    installed = [(file, line) for file, line in users if re.search(_INSTALLED, file)]
    own = [x for x in users if x not in installed and not x[0].startswith(_STANDARD)]
    for file, line in (own or installed)[-1:]:
        return f"{text} ({Path(file).name}:{line})"
    return text


def _printable(value: object, as_text: Callable[[object], str]) -> str:
    """Return a value as text, even if its class cannot."""
    try:
        return as_text(value)
    except FAILURES:
        return f"{type(value).__name__} without a text"


def _own_array(key: str, value: object) -> AnyArray:
    """Return a value of ``Plugin.save`` as an array that a snapshot can contain.

    Raises:
        TypeError: It is not a number, a text, or an array of them.
    """
    array = np.asarray(value)
    if not isinstance(key, str) or not key.isprintable() or array.dtype.kind not in "fiubU":
        raise TypeError(f"'{key}' must be numbers or text, not {type(value).__name__}")
    if array.dtype.kind in "iub":
        return array.astype(np.int64)
    return array.astype(np.float64) if array.dtype.kind == "f" else array.copy()


def _saved_readings(arrays: Mapping[str, AnyArray]) -> dict[str, Reading]:
    by_sensor: dict[str, dict[str, AnyArray]] = {}
    for name, array in arrays.items():
        if name.startswith(_READINGS):
            sensor, _, field = name.removeprefix(_READINGS).partition("/")
            by_sensor.setdefault(unquote(sensor), {})[field] = array
    found = {sensor: reading_from(fields) for sensor, fields in by_sensor.items()}
    return {sensor: reading for sensor, reading in found.items() if reading is not None}


def reading_arrays(reading: Reading) -> dict[str, AnyArray]:
    """Return a reading as arrays by field, and its type; {} for an image, which is too large."""
    arrays: dict[str, AnyArray] = {_TYPE: np.array(type(reading).__name__)}
    for name in getattr(reading, "__dataclass_fields__", ()):
        value = getattr(reading, name)
        if value is None:
            continue
        array = np.array(value)
        if array.dtype.name not in ("float64", "int64", "int32") and array.dtype.kind != "U":
            return {}
        arrays[name] = array
    return arrays


def reading_from(arrays: Mapping[str, AnyArray]) -> Reading | None:
    """Return the reading of ``reading_arrays``; None if they are not those of a reading."""
    kind = getattr(sensors, str(arrays.get(_TYPE)), None)
    if not (isinstance(kind, type) and is_dataclass(kind) and kind.__name__.endswith("Reading")):
        return None
    values = {k: _plain(v) for k, v in arrays.items() if k != _TYPE}
    given = {f.name: values.pop(f.name, None) for f in fields(kind)}
    if values:
        return None
    return cast(Reading, kind(**given))


def _plain(array: AnyArray) -> object:
    if array.ndim == 0:
        return array.item()
    return tuple(array.tolist()) if array.dtype.kind == "U" else array
