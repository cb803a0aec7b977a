"""Live curves in the panel of a viewer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ..rigid import Array
from .robot import label_text
from .viewer import Viewer

if TYPE_CHECKING:
    from viser import GuiFolderHandle, GuiUplotHandle, uplot

WINDOW = 10.0  # [s] of the curves that is shown
PERIOD_NS = 20_000_000  # between samples, in [ns]
_SIZE = round(WINDOW * 1e9 / PERIOD_NS)
_STROKES = ("#1f77b4", "#d62728", "#2ca02c", "#ff7f0e", "#9467bd", "#17becf", "#8c564b", "#7f7f7f")
_AXIS_WIDTH = 62  # [px], enough for "-1234.5"
# The page writes three decimals, by which the ends of an axis must differ.
_MIN_SPAN = 0.01


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
