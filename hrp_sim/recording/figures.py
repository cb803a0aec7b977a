"""Write figures of matplotlib in the formats of pictures."""

from __future__ import annotations

import io
import warnings

from matplotlib import RcParams, rc_context
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.backends.backend_svg import FigureCanvasSVG


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
