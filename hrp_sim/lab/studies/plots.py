"""Pictures of the results of a study as SVG or PNG: heat maps, curves, histograms, series."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from math import isqrt

import numpy as np
from matplotlib import RcParams, rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from numpy.typing import NDArray

from hrp_model.late_dataclass import dataclass
from hrp_model.printable import printable
from hrp_model.rigid import Array

from ...recording.plot import rendered

_WIDTH, _HEIGHT, _DPI = 6.4, 4.2, 110.0  # [in], [dots/in]
_MAX_TICKS = 12
_MAX_BINS = 100
_LEAST_SPREAD = 1e-9  # of a histogram, relative to its values
_MAX_UNEVEN = 3.0  # ratio of the steps between values along an axis
MAX_LINES = 100  # of a picture of series
_MAX_POINTS = 1000  # of a line
_MAX_VECTOR_CELLS = 5000  # of a heat map; beyond it becomes an image
# Lines and text are written in this color, which becomes that of the text of the page.
_INK = "#010203"
_SETTINGS = RcParams(
    {
        "svg.fonttype": "none",
        "svg.hashsalt": "study",
        **dict.fromkeys(
            ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color"), _INK
        ),
        "axes.facecolor": "none",
        "figure.facecolor": "none",
        "legend.framealpha": 0.0,
        "font.size": 9.0,
    }
)


@dataclass(frozen=True, eq=False)
class Axis:
    """Values along an axis of a picture.

    Attributes:
        label: Its name, with its unit.
        values: Numbers, or texts for values that are no numbers.
    """

    label: str
    values: Sequence[float] | Sequence[str]

    @property
    def is_numeric(self) -> bool:
        """Whether the values are numbers."""
        return not any(isinstance(value, str) for value in self.values)


class Picture:
    """A picture, drawn by one of the functions of this module."""

    def __init__(self) -> None:
        self.figure = Figure(figsize=(_WIDTH, _HEIGHT), dpi=_DPI, layout="constrained")
        self.axes: Axes = self.figure.subplots()

    def svg(self) -> str:
        """Return it as an element for a page, in the color of the page's text."""
        text = rendered(FigureCanvasSVG(self.figure), "svg", _SETTINGS).decode()
        return text[text.index("<svg") :].replace(_INK, "currentColor")

    def png(self) -> bytes:
        """Return it as PNG on white."""
        self.figure.patch.set_facecolor("white")
        return rendered(FigureCanvasAgg(self.figure), "png", _SETTINGS)


def heat_map(x: Axis, y: Axis, label: str, values: Array) -> Picture:
    """Return a picture of values over two axes.

    Args:
        x: The horizontal axis.
        y: The vertical axis.
        label: Of the values.
        values: Shape (y, x); nan is left blank.
    """
    x, y = _cells(x), _cells(y)
    with rc_context(_SETTINGS):
        picture = Picture()
        axes = picture.axes
        mesh = axes.pcolormesh(
            _places(x),
            _places(y),
            values,
            shading="nearest",
            cmap="viridis",
            edgecolors="face",  # else the page shines through between cells
            linewidth=0.4,
            rasterized=values.size > _MAX_VECTOR_CELLS,
        )
        bar = picture.figure.colorbar(mesh, ax=axes)
        bar.set_label(printable(label), parse_math=False)
        bar.outline.set_visible(False)
        _label(axes, x, y.label)
        _ticks(axes, y, vertical=True)
        return picture


def curve(x: Axis, label: str, low: Array, middle: Array, high: Array) -> Picture:
    """Return a picture of a value over an axis, with a band from the lowest to the highest.

    Args:
        x: The axis.
        label: Of the values.
        low: Lowest value, shape (x,).
        middle: Mean value, shape (x,).
        high: Highest value, shape (x,).
    """
    with rc_context(_SETTINGS):
        picture = Picture()
        axes = picture.axes
        places = _places(x)
        if np.any(low < high):
            axes.fill_between(places, low, high, alpha=0.25, linewidth=0)
        axes.plot(places, middle, "o-", markersize=3.5)
        if _cells(x) is not x and x.is_numeric and places[0] > 0.0:
            axes.set_xscale("log")
        axes.grid(visible=True, alpha=0.3)
        _label(axes, x, label)
        return picture


def histogram(label: str, values: Array) -> Picture:
    """Return a histogram of values, shape (cases,); nan does not count."""
    with rc_context(_SETTINGS):
        picture = Picture()
        axes = picture.axes
        finite = values[np.isfinite(values)]
        # Not "auto": a few far values beside many close ones would make far too many bins.
        bins = min(max(10, isqrt(len(finite))), _MAX_BINS)
        axes.hist(finite, bins=bins, range=_spread(finite))
        axes.set_xlabel(printable(label), parse_math=False)
        axes.set_ylabel("cases")
        return picture


def _spread(values: Array) -> tuple[float, float] | None:
    """Return a range for bins of values that differ in their last digits only; else None."""
    if len(np.unique(values)) < 2:
        return None
    low, high = float(values.min()), float(values.max())
    least = max(_LEAST_SPREAD * max(abs(low), abs(high)), sys.float_info.min)
    return None if high - low > least else (low - least, high + least)


def scatter(x: Axis, index: NDArray[np.int64], label: str, values: Array) -> Picture:
    """Return a picture of a point for each case.

    Args:
        x: The axis.
        index: Of the value of each case in it, shape (cases,).
        label: Of the values.
        values: Shape (cases,).
    """
    with rc_context(_SETTINGS):
        picture = Picture()
        points = picture.axes.scatter(_places(x)[index], values, s=9, alpha=0.6, linewidths=0)
        points.set_rasterized(len(values) > _MAX_VECTOR_CELLS)
        picture.axes.grid(visible=True, alpha=0.3)
        _label(picture.axes, x, label)
        return picture


def lines(label: str, times: Array, values: Array) -> Picture:
    """Return a picture of values over time, at most a hundred of them, and of their median.

    Args:
        label: Of the values.
        times: In [s], shape (samples,).
        values: Shape (cases, samples).
    """
    with rc_context(_SETTINGS), warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # no case reaches this time
        picture = Picture()
        axes = picture.axes
        some = np.unique(np.linspace(0, len(values) - 1, MAX_LINES).astype(int))
        step = -(-len(times) // _MAX_POINTS)
        times, values = times[::step], values[:, ::step]
        axes.plot(
            times, values[some].T, color="C0", alpha=max(0.15, 1.0 / len(some)), linewidth=0.8
        )
        if len(values) > 1:
            axes.plot(
                times, np.nanmedian(values, axis=0), color="C1", label="median of those that run"
            )
            axes.legend()
        axes.grid(visible=True, alpha=0.3)
        axes.set_xlabel("time [s]")
        axes.set_ylabel(printable(label), parse_math=False)
        return picture


def _label(axes: Axes, x: Axis, label: str) -> None:
    axes.set_xlabel(printable(x.label), parse_math=False)
    axes.set_ylabel(printable(label), parse_math=False)
    _ticks(axes, x, vertical=False)


def _ticks(axes: Axes, axis: Axis, *, vertical: bool) -> None:
    """Name the values of an axis that are no numbers."""
    if axis.is_numeric:
        return
    names = [printable(str(value)) for value in axis.values]
    step = -(-len(names) // _MAX_TICKS)
    places, shown = range(0, len(names), step), names[::step]
    set_ticks = axes.set_yticks if vertical else axes.set_xticks
    set_ticks(list(places), shown, parse_math=False)


def _cells(axis: Axis) -> Axis:
    """Return an axis whose values are named if they are so uneven that cells would vanish."""
    steps = np.diff(_places(axis))
    if not axis.is_numeric or len(steps) == 0 or steps.max() < _MAX_UNEVEN * steps.min():
        return axis
    return Axis(axis.label, [f"{value:.4g}" for value in axis.values])


def _places(axis: Axis) -> Array:
    if axis.is_numeric:
        return np.array(axis.values, dtype=np.float64)
    return np.arange(len(axis.values), dtype=np.float64)
