"""Pictures of a run in files: SVG, a page of HTML, or PNG, as the ending says."""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from thalweg.diagnostics import Diagnostic, FailedError, RejectedError
from thalweg.explain.timeline_chart import Chart
from thalweg.explain.timeline_page import timeline_page
from thalweg.explain.timeline_svg import draw_timeline

ENDINGS: Final = (".svg", ".html", ".png")


def check_picture(path: Path) -> None:
    """`ValueError` where a name does not say which picture it is, `RejectedError` where it cannot be drawn here."""
    if path.suffix.lower() not in ENDINGS:
        raise ValueError(f"`{path}` is not the name of a picture; it ends in {' '.join(ENDINGS)}")
    if path.suffix.lower() == ".png":
        _png("<svg xmlns='http://www.w3.org/2000/svg' width='1' height='1'/>")
    if not path.parent.is_dir():
        raise RejectedError([Diagnostic("E401", f"cannot write `{path}`: `{path.parent}` is not a folder")])


def write_picture(chart: Chart, path: Path, width: int = 960, brief: Callable[[str], str] = lambda text: text) -> None:
    """Writes a chart to a file."""
    kind = path.suffix.lower()
    try:
        if kind == ".html":
            path.write_text(timeline_page(chart, brief), encoding="utf-8")
        elif kind == ".svg":
            path.write_text(draw_timeline(chart, width, brief), encoding="utf-8")
        else:
            path.write_bytes(_png(draw_timeline(chart, width, brief)))
    except OSError as error:
        raise FailedError(Diagnostic("E401", f"`{path}` cannot be written: {error.strerror}")) from error


def _png(svg: str) -> bytes:
    """A drawing as an image, twice as large, for today's screens."""
    try:
        from resvg_py import svg_to_bytes
    except ImportError:
        help_ = "`pip install 'thalweg[pictures]'`, or draw `.svg` or `.html`"
        raise RejectedError([Diagnostic("E406", "PNG needs the package resvg-py", help=help_)]) from None
    return bytes(svg_to_bytes(svg_string=svg, zoom=2))
