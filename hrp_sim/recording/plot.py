"""Curves as pictures, pages and tables."""

from __future__ import annotations

import csv
import html
import io
import json
import warnings
from collections.abc import Iterable, Sequence
from itertools import cycle
from os.path import commonprefix

from matplotlib import RcParams, rc_context
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure

from hrp_model.printable import printable

from .series import Curve


def rendered(canvas: FigureCanvasAgg | FigureCanvasSVG, kind: str, settings: RcParams) -> bytes:
    """Return the content of a picture, equal for equal figures.

    Args:
        canvas: Canvas of the figure.
        kind: "png" or "svg".
        settings: Of the figure.
    """
    output = io.BytesIO()
    with rc_context(settings), warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # letters that the font lacks
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        canvas.figure.savefig(output, format=kind, metadata=metadata)
    return output.getvalue()


def table(curves: Sequence[Curve], rows: Iterable[tuple[float, dict[int, float]]]) -> bytes:
    """Return all values as CSV, with a line for each message.

    Args:
        curves: The columns.
        rows: Time in [s] and values by number of the curve.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    units = [f" [{curve.number.unit}]" if curve.number.unit else "" for curve in curves]
    writer.writerow(["time [s]", *(c.label + unit for c, unit in zip(curves, units, strict=True))])
    for time, values in rows:
        cells = [values.get(number, "") for number in range(len(curves))]
        writer.writerow([f"{time:.9f}", *cells])
    return text.getvalue().encode()


_WIDTH, _PANEL_HEIGHT, _MARGIN = 10.0, 3.0, 0.8  # [in]
_DPI = 120.0
_ROWS_OF_LEGEND = 16
_COLORS = [f"C{number}" for number in range(10)]
_STYLES = ("-", "--", ":", "-.")
# Text stays text; the same curves give the same file.
_SETTINGS: RcParams = RcParams({"svg.fonttype": "none", "svg.hashsalt": "curves"})
_PAGE = """<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<title>{title}</title>
<style>
  body {{ margin: 1em; font-family: sans-serif; background: white; color: black; }}
  svg {{ display: block; width: 100%; max-width: 1600px; height: auto; }}
  #readout {{ position: fixed; top: 0.5em; right: 0.5em; padding: 0.3em 0.6em; border-radius: 4px;
    background: #333; color: white; font-variant-numeric: tabular-nums; visibility: hidden; }}
  svg g.curve:hover path {{ stroke-width: 4 !important; }}
</style>
{svg}
<div id="readout"></div>
<script>
const panels = {panels};
const svg = document.querySelector("svg"), readout = document.getElementById("readout");
svg.addEventListener("mousemove", event => {{
  const box = svg.getBoundingClientRect();
  const x = (event.clientX - box.left) / box.width, y = (event.clientY - box.top) / box.height;
  const panel = panels.find(p => p.x0 <= x && x <= p.x1 && p.y0 <= y && y <= p.y1);
  readout.style.visibility = panel ? "visible" : "hidden";
  if (!panel) return;
  const at = (a, b, part) => (a + (b - a) * part).toPrecision(5);
  const time = at(panel.t0, panel.t1, (x - panel.x0) / (panel.x1 - panel.x0));
  const value = at(panel.high, panel.low, (y - panel.y0) / (panel.y1 - panel.y0));
  const curve = event.target.closest("g.curve");
  const name = curve ? curve.querySelector("title").textContent + " " : "";
  readout.textContent = `${{name}}${{value}} ${{panel.unit}} at ${{time}} s`;
}});
svg.addEventListener("mouseleave", () => readout.style.visibility = "hidden");
</script>
</html>
"""


class Plot:
    """A picture of curves: one panel for each unit, over the same time.

    Args:
        curves: With values.
        title: Shown above.
    """

    def __init__(self, curves: Sequence[Curve], title: str) -> None:
        self._title = printable(title)
        self._units = list(dict.fromkeys(curve.number.unit for curve in curves))
        height = _PANEL_HEIGHT * len(self._units) + _MARGIN
        self._figure = Figure(figsize=(_WIDTH, height), dpi=_DPI, layout="constrained")
        panels = self._figure.subplots(len(self._units), 1, sharex=True, squeeze=False)
        self._panels: list[Axes] = list(panels[:, 0])
        self._figure.suptitle(self._title, parse_math=False)
        self._names: dict[str, str] = {}  # of curves, by their identifier in the picture
        for number, (axes, unit) in enumerate(zip(self._panels, self._units, strict=True)):
            shown = [curve for curve in curves if curve.number.unit == unit]
            self._draw(axes, shown, unit, number)
        self._panels[-1].set_xlabel("time [s]")

    def _draw(self, axes: Axes, curves: Sequence[Curve], unit: str, panel: int) -> None:
        common = _common_part([curve.label for curve in curves])
        looks = cycle((style, color) for style in _STYLES for color in _COLORS)
        lines = []
        for number, (curve, (style, color)) in enumerate(zip(curves, looks, strict=False)):
            (line,) = axes.plot(curve.times, curve.values, style, color=color, linewidth=1.2)
            identifier = f"curve-{panel}-{number}"
            line.set_gid(identifier)
            self._names[identifier] = curve.label
            lines.append(line)
        topic, _, quantity = common.rstrip(".[").partition(".")
        text = f"{quantity} [{unit}]".strip() if unit else quantity
        axes.set_ylabel("\n".join(filter(None, map(printable, (topic, text)))), parse_math=False)
        axes.grid(visible=True, alpha=0.3)
        names = [_rest(curve.label, common) for curve in curves]
        legend = axes.legend(
            lines,
            [str(n) for n in range(len(lines))],  # a name may begin with "_", which hides it
            loc="upper left",
            bbox_to_anchor=(1.0, 1.0),
            fontsize=7,
            ncols=-(-len(lines) // _ROWS_OF_LEGEND),
        )
        for entry, name in zip(legend.get_texts(), names, strict=True):
            entry.set_parse_math(False)
            entry.set_text(printable(name))

    def png(self) -> bytes:
        """Return the picture as PNG."""
        return rendered(FigureCanvasAgg(self._figure), "png", _SETTINGS)

    def svg(self) -> bytes:
        """Return the picture as SVG."""
        return rendered(FigureCanvasSVG(self._figure), "svg", _SETTINGS)

    def page(self) -> bytes:
        """Return a page with the picture, which shows the values under the pointer."""
        svg = self.svg().decode()
        svg = svg[svg.index("<svg") :]
        for identifier, name in self._names.items():
            shown = (
                f'<g class="curve" id="{identifier}"><title>{html.escape(printable(name))}</title>'
            )
            svg = svg.replace(f'<g id="{identifier}">', shown)
        panels = [_panel(axes, unit) for axes, unit in zip(self._panels, self._units, strict=True)]
        return _PAGE.format(
            title=html.escape(self._title), svg=svg, panels=json.dumps(panels)
        ).encode()


def _panel(axes: Axes, unit: str) -> dict[str, float | str]:
    """Return where axes lie, as parts of the picture from its upper left, and what they show."""
    place = axes.get_position()
    (start, end), (low, high) = axes.get_xlim(), axes.get_ylim()
    return {
        "x0": float(place.x0),
        "x1": float(place.x1),
        "t0": float(start),
        "t1": float(end),
        "y0": 1 - float(place.y1),
        "y1": 1 - float(place.y0),
        "low": float(low),
        "high": float(high),
        "unit": unit,
    }


def _common_part(labels: Sequence[str]) -> str:
    """Return the longest common beginning of labels that ends after a field or its bracket."""
    common = commonprefix(labels)  # noqa: RUF071  # labels are no paths
    return common[: max(common.rfind("."), common.rfind("[")) + 1] if len(labels) > 1 else common


def _rest(label: str, common: str) -> str:
    rest = label[len(common) :]
    if common.endswith("["):
        rest = rest.removesuffix("]")
    return rest or label
