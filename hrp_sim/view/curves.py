"""Live curves of joints and sensors: chosen in the panel, sampled in simulation time."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

import numpy as np

from hrp_model.late_dataclass import dataclass
from hrp_model.rigid import Array
from hrp_model.view.browser import part
from hrp_model.view.robot import label_text
from hrp_model.view.viewer import Viewer

from ..engine.schedule import NS_PER_S
from ..engine.state import SimulatedBody
from ..sensors import ImageReading, JointSensor, Reading, RenderRequest, Sensor
from ..sensors.kinds import kind_of, numbers_of
from ..simulation import Simulation

if TYPE_CHECKING:
    from viser import GuiDropdownHandle, GuiFolderHandle, GuiUplotHandle, uplot

WINDOW = 10.0  # [s] of the curves that is shown
PERIOD_NS = 20_000_000  # between samples, in [ns]
_SIZE = round(WINDOW * 1e9 / PERIOD_NS)
_STROKES = ("#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd", "#17becf", "#8c564b", "#7f7f7f")
_AXIS_WIDTH = 62  # [px], enough for "-1234.5"
# The page writes three decimals, by which the ends of an axis must differ.
_MIN_SPAN = 0.01
MAX_CURVES = 16
_DRAW_PERIOD = 0.1  # [s] of wall time between two updates of the plots
_MAX_WAITING = 1000  # samples that are not drawn yet
_NONE = "-"  # no source
_PART = "curves"
_FIRST, _FIRST_JOINTS = ("linear_speed", "angular_velocity.z"), 3  # chosen at first


@dataclass
class _Plot:
    """The curves of one unit: samples of the last seconds, the oldest first."""

    names: list[str] = field(default_factory=list)
    values: list[Array] = field(default_factory=list)  # each of shape (_SIZE,)
    handle: GuiUplotHandle | None = None
    limits: tuple[float, float] | None = None  # of the vertical axis; None: those of the values


class CurvePlots:
    """Plots of named curves over the last ``WINDOW`` seconds, one plot for each unit.

    ``add`` and ``clear`` must not be called at the same time as ``sample`` or ``draw``.

    Args:
        viewer: The page.
        container: Folder of the plots in the panel.
    """

    def __init__(self, viewer: Viewer, container: GuiFolderHandle) -> None:
        self._gui, self._container = viewer.server.gui, container
        self._plots: dict[str, _Plot] = {}
        self._times = np.full(_SIZE, np.nan)

    def set(self, curves: Sequence[tuple[str, str]]) -> None:
        """Set the curves to plot, by name and unit; curves that stay keep their samples."""
        before = {
            (name, unit): values
            for unit, plot in self._plots.items()
            for name, values in zip(plot.names, plot.values, strict=True)
        }
        self._remove_plots()
        for name, unit in curves:
            plot = self._plots.setdefault(unit, _Plot())
            plot.names.append(name)
            plot.values.append(before.get((name, unit), np.full(_SIZE, np.nan)))
        if not self._plots:
            self._times[:] = np.nan

    def restart(self) -> None:
        """Discard all samples, as after a reset of time."""
        self._times[:] = np.nan
        for plot in self._plots.values():
            for values in plot.values:
                values[:] = np.nan

    def sample(self, time: float, values: dict[tuple[str, str], float]) -> None:
        """Add one sample of the curves, by name and unit; NaN for those missing.

        Args:
            time: In [s], later than before.
            values: In their units.
        """
        self._times[:-1] = self._times[1:]
        self._times[-1] = time
        for unit, plot in self._plots.items():
            for name, stored in zip(plot.names, plot.values, strict=True):
                stored[:-1] = stored[1:]
                stored[-1] = values.get((name, unit), np.nan)

    def draw(self) -> None:
        """Send the curves to the page."""
        known = np.isfinite(self._times)
        times = self._times[known]
        if not len(times):
            return
        for unit, plot in self._plots.items():
            data = (times, *(values[known] for values in plot.values))
            limits = _limits(data[1:])
            if plot.handle is None:
                plot.handle = self._made(unit, plot, data)
            if limits != plot.limits:
                plot.limits = limits
                plot.handle.scales = _scales(limits)
            plot.handle.data = data

    def _made(self, unit: str, plot: _Plot, data: tuple[Array, ...]) -> GuiUplotHandle:
        from viser import uplot

        series = [
            uplot.Series(label=label_text(name), stroke=_STROKES[i % len(_STROKES)], width=1.5)
            for i, name in enumerate(plot.names)
        ]
        with self._container:
            return self._gui.add_uplot(
                data,
                (uplot.Series(label="t [s]"), *series),
                title=f"[{unit}]" if unit else "",
                scales=_scales(None),
                axes=(uplot.Axis(size=36), uplot.Axis(size=_AXIS_WIDTH)),
                legend=uplot.Legend(show=True),
                height=190,
            )

    def _remove_plots(self) -> None:
        for plot in self._plots.values():
            if plot.handle is not None:
                plot.handle.remove()
        self._plots = {}


def _limits(curves: Sequence[Array]) -> tuple[float, float] | None:
    """Return the ends of an axis for almost constant values; None for others."""
    values = np.concatenate(curves)
    values = values[np.isfinite(values)]
    if not len(values) or np.ptp(values) >= _MIN_SPAN:
        return None
    middle = round(float(values.max() + values.min()) / 2.0 / _MIN_SPAN) * _MIN_SPAN
    return middle - 1.2 * _MIN_SPAN, middle + 1.2 * _MIN_SPAN


def _scales(limits: tuple[float, float] | None) -> dict[str, uplot.Scale]:
    """Return the axes of a plot: time, and values between limits."""
    from viser import uplot

    x = uplot.Scale(time=False)
    return {"x": x} if limits is None else {"x": x, "y": uplot.Scale(range=limits)}


@dataclass(frozen=True, eq=False)
class Quantity:
    """A scalar of a joint or sensor.

    Attributes:
        name: Such as "ELBOW position" or "gyro angular_velocity.x".
        unit: Its unit; empty for a ratio.
        sensor: Name of the sensor in the simulation that measures it; None for a joint.
        value: Returns it from the simulation and the sensor's last reading; None if it is not
            known yet. Called in the stepping thread.
    """

    name: str
    unit: str
    sensor: str | None
    value: Callable[[Simulation, Reading | None], float | None]


class Curves:
    """The curves of a run, in the panel's present container.

    ``wants``, ``take`` and ``restart`` are called in the stepping thread, ``take_image`` in the
    render thread, ``follow`` and ``draw`` in the viewer's thread.

    Args:
        viewer: The page.
    """

    def __init__(self, viewer: Viewer) -> None:
        gui = viewer.server.gui
        self._sources: Mapping[str, Mapping[str, Quantity]] = {_NONE: {}}
        self._source: GuiDropdownHandle[str] = gui.add_dropdown("Joint or sensor", (_NONE,))
        self._quantity: GuiDropdownHandle[str] = gui.add_dropdown("Quantity", (_NONE,))
        self._source.on_update(lambda _: self._offer_quantities())
        gui.add_button("Add curve").on_click(lambda _: self._add())
        gui.add_button("Remove all", color="gray").on_click(lambda _: self._choose(()))
        with gui.add_folder("Last 10 s") as folder:
            self._plots = CurvePlots(viewer, folder)
        self._chosen: tuple[Quantity, ...] = ()
        self._plotted: tuple[Quantity, ...] = ()
        self._sensors: frozenset[str] = frozenset()
        self._last: dict[str, Reading] = {}  # readings of the sensors
        self._due_ns: float = -inf
        self._waiting: deque[tuple[int, dict[tuple[str, str], float]] | None] = deque(
            maxlen=_MAX_WAITING
        )
        self._known: tuple[object, object] = (None, None)  # the bodies and sensors offered
        self._viewer, self._has_begun = viewer, False
        gui.add_html(part(_PART))
        self._drawn = -inf

    def wants(self, sensor: str) -> bool:
        """Return whether a sensor should be read."""
        return sensor in self._sensors

    def take(self, simulation: Simulation, time_ns: int, readings: Mapping[str, Reading]) -> None:
        """Sample the curves after a step, if it is time."""
        chosen, known = self._chosen, self._known
        if not chosen or (time_ns < self._due_ns and self._sensors.isdisjoint(readings)):
            return
        if simulation.bodies is not known[0] or simulation.sensors is not known[1]:
            return  # those of another world, which are offered from the next frame on
        for sensor in self._sensors:
            reading = readings.get(sensor)
            if reading is not None and not isinstance(reading, RenderRequest):
                self._last[sensor] = reading
        if time_ns < self._due_ns:
            return
        self._due_ns = time_ns + PERIOD_NS
        values = {}
        for quantity in chosen:
            last = None if quantity.sensor is None else self._last.get(quantity.sensor)
            value = quantity.value(simulation, last)
            if value is not None:
                values[quantity.name, quantity.unit] = value
        self._waiting.append((time_ns, values))

    def take_image(self, camera: str, image: ImageReading) -> None:
        """Keep an image for quantities that are computed from it."""
        if camera in self._sensors:
            self._last[camera] = image

    def restart(self) -> None:
        """Start again, as after a reset of time."""
        self._last.clear()
        self._due_ns = -inf
        self._waiting.append(None)

    def follow(self, simulation: Simulation) -> None:
        """Offer the joints and sensors of a simulation."""
        bodies, sensors = simulation.bodies, simulation.sensors
        if bodies is self._known[0] and sensors is self._known[1]:
            return
        self._known = bodies, sensors
        self._sources = quantities_by_source(simulation) or {_NONE: {}}
        self._source.options = tuple(self._sources)
        self._offer_quantities()
        by_name = {q.name: q for source in self._sources.values() for q in source.values()}
        self._choose(tuple(by_name[q.name] for q in self._chosen if q.name in by_name))

    def begin(self, body: str, *, is_fixed: bool) -> None:
        """Choose curves of a body, unless somebody has chosen some: its speeds, or its joints."""
        if self._has_begun or self._chosen:
            return
        self._has_begun = True
        own = self._sources.get("odometry") or self._sources.get(f"{body}/odometry", {})
        chosen = [own[k] for k in _FIRST if k in own]
        joints = [x["position"] for x in self._sources.values() if "position" in x]
        prefix = f"{body}: "
        joints = [x for x in joints if x.name.startswith(prefix)] or joints
        self._choose(tuple(joints[:_FIRST_JOINTS] if is_fixed or not chosen else chosen))

    def draw(self, now: float) -> None:
        """Draw the samples taken so far, if it is time and somebody sees the curves.

        Args:
            now: Of the steady clock, in [s].
        """
        chosen = self._chosen
        if chosen is not self._plotted:
            self._plotted = chosen
            self._plots.set([(q.name, q.unit) for q in chosen])
        if not self._waiting or now < self._drawn + _DRAW_PERIOD:
            return
        if not self._viewer.pages.sees(_PART):
            return
        self._drawn = now
        while self._waiting:
            sample = self._waiting.popleft()
            if sample is None:
                self._plots.restart()
            else:
                self._plots.sample(sample[0] / NS_PER_S, sample[1])
        self._plots.draw()

    def _offer_quantities(self) -> None:
        self._quantity.options = tuple(self._sources.get(self._source.value, ())) or (_NONE,)

    def _add(self) -> None:
        quantity = self._sources.get(self._source.value, {}).get(self._quantity.value)
        if quantity is not None and len(self._chosen) < MAX_CURVES:
            self._choose((*dict.fromkeys((*self._chosen, quantity)),))

    def _choose(self, chosen: tuple[Quantity, ...]) -> None:
        self._chosen = chosen
        if not chosen:
            self._waiting.clear()
        self._sensors = frozenset(q.sensor for q in chosen if q.sensor is not None)


def quantities_by_source(simulation: Simulation) -> dict[str, dict[str, Quantity]]:
    """Return the quantities of all joints and sensors, by the name of those, then by their own."""
    sources: dict[str, dict[str, Quantity]] = {}
    jointed = {k: b for k, b in simulation.bodies.items() if b.body.moving_links}
    for body, simulated in jointed.items():
        for i, link in enumerate(simulated.body.moving_links):
            source = link.joint.name if len(jointed) == 1 else f"{body}: {link.joint.name}"
            sources[_unique(source, sources)] = _of_joint(source, simulated, i)
    for name, sensor in simulation.sensors.items():
        if not isinstance(sensor, JointSensor) and (found := _of_sensor(name, sensor)):
            sources[_unique(name, sources)] = found
    return sources


def _unique(name: str, taken: Mapping[str, object]) -> str:
    while name in taken:
        name += "'"
    return name


def _of_joint(source: str, simulated: SimulatedBody, index: int) -> dict[str, Quantity]:
    units = simulated.body.moving_links[index].joint.type.units
    made = {}
    for label, values, unit in (
        ("position", "q", units.position),
        ("velocity", "dq", units.velocity),
        ("effort", "effort", units.effort),
    ):
        value = partial(_joint_value, simulated, values, index)
        made[label] = Quantity(f"{source} {label}", unit, None, value)
    return made


def _joint_value(
    simulated: SimulatedBody, values: str, index: int, simulation: Simulation, _: Reading | None
) -> float | None:
    if simulation.bodies.get(simulated.name) is not simulated:
        return None  # it was removed
    return float(getattr(simulated.motion, values)[index])


def _of_sensor(name: str, sensor: Sensor) -> dict[str, Quantity]:
    made: dict[str, Quantity] = {}

    def add(label: str, unit: str, value: Callable[[Any], float | None]) -> None:
        made[label] = Quantity(f"{name} {label}", unit, name, partial(_sensor_value, value))

    for row in kind_of(sensor).fields:
        if row.offered(sensor):
            for index, letter in enumerate(row.components):
                value = partial(_component, row.name, index)
                add(f"{row.name}.{letter}", row.unit, value)
    for number, row in numbers_of(sensor).items():
        add(number, row.unit, row.value)
    return made


def _component(field: str, index: int, reading: Reading) -> float:
    return float(getattr(reading, field)[index])


def _sensor_value(
    value: Callable[[Any], float | None], _: Simulation, reading: Reading | None
) -> float | None:
    return None if reading is None else value(reading)
