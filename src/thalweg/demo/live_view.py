"""A run on a console: a timeline that grows on a terminal, lines elsewhere.

Answers are followed in the file that the run writes. One thread does this, so that the run goes on while it is shown.
"""

from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from typing import IO, Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.spinner import Spinner
from rich.text import Text

from thalweg.demo.city_log import CityLog, News, clock, layer_of
from thalweg.demo.smart_city import MINUTES, START, observed_at
from thalweg.explain.timeline_chart import Chart, ChartSpan, chart_of
from thalweg.explain.timeline_text import timeline_text
from thalweg.model.time import Calendar

KINDS: Final = (
    *("GarageFills", "CrowdJam", "Incident", "IncidentOver"),
    *("blocked", "crowded", "smog", "slippery", "long_green", "long_yellow"),
)
"""The events and conclusions that are shown."""

_LAYERS: Final = {"ontology": "magenta", "patterns": "cyan", "rules": "yellow", "lights": "green"}
_PAUSE: Final = 0.1
# Means below it are not worth a curve.
_LIMIT: Final = 40.0
# Lines of a live picture besides those of the timeline: frame, and a few news.
_REST: Final = 8


class LiveView:
    """Follows the answers in a file; used in a `with`, whose end takes in the rest of the file."""

    def __init__(self, console: Console, answers: Path) -> None:
        self.console = console
        self.log = CityLog()
        self._answers = answers
        self._ended = Event()
        self._thread = Thread(target=self._follow, name="live view", daemon=True)
        self._spinner = Spinner("dots", "starting …")
        self._live = Live(self._spinner, console=console, refresh_per_second=8, transient=True)

    def __enter__(self) -> "LiveView":
        if self.console.is_terminal:
            self._live.start()
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()
        if self.console.is_terminal:
            self._live.stop()

    def _follow(self) -> None:
        while not self._answers.exists():
            if self._ended.wait(_PAUSE):
                return
        with self._answers.open(encoding="utf-8") as file:
            # What is written before the end is there when it is read once more.
            while not self._ended.wait(_PAUSE):
                self._take(file)
            self._take(file)

    def _take(self, file: IO[str]) -> None:
        shown = len(self.log.news)
        start = file.tell()
        while (line := file.readline()).endswith("\n"):
            self.log.take(line)
            start = file.tell()
        # A line that is being written is read again.
        file.seek(start)
        if self.console.is_terminal:
            self._live.update(self._picture() if self.log.second else self._spinner)
        else:
            for news in list(self.log.news)[shown:]:
                self.console.print(worded(news), highlight=False)

    def _picture(self) -> RenderableType:
        picture = self.timeline()
        if len(picture.split()) + _REST > self.console.height:
            # The news have the others, too.
            picture = self.timeline("rules")
        room = max(3, self.console.height - len(picture.split()) - _REST + 5)
        title = f"{clock(self.log.second)}  {observed_at(self.log.second):,} observations"
        return Group(Panel(picture, title=title), *map(worded, list(self.log.news)[-room:]))

    def timeline(self, *layers: str) -> Text:
        """The timeline so far, of some layers or of all of them."""
        width = max(60, min(self.console.width - 4, 130))
        return Text.from_ansi(timeline_text(chart(self.log, *layers), width, coloured=True).rstrip("\n"))


def worded(news: News) -> Text:
    """A line of news with the colour of its layer."""
    line = Text(str(news))
    line.stylize(_LAYERS[news.layer], 10, 19)
    return line


def chart(log: CityLog, *layers: str) -> Chart:
    """The chart of intervals and of the means of particles, over the half hour.

    >>> log = CityLog(second=900, since={"smog(harbour)": 600}, ended={"blocked(mill)": [(0, 600)]})
    >>> print(timeline_text(chart(log), 40))
    blocked
      mill    ██████████
    smog
      harbour          █████▶
              17:30         17:45
    <BLANKLINE>
    """
    intervals = [ChartSpan(fact, _at(start), _at(end)) for fact, spans in log.ended.items() for start, end in spans]
    intervals += [ChartSpan(fact, _at(start), _at(log.second + 1), is_open=True) for fact, start in log.since.items()]
    high = {place for place, _, mean in log.means if mean > _LIMIT}
    points = [(_at(at), f"meanParticles({place},{mean:.1f})") for place, at, mean in log.means if place in high]
    shown = [span for span in intervals if not layers or layer_of(span.fact) in layers]
    drawn = chart_of(shown, () if layers else points, unit=1_000, calendar=Calendar())
    return replace(drawn, first=_at(0), last=_at(60 * MINUTES))


def _at(second: int) -> int:
    """Milliseconds since 1970, as pictures count."""
    return round(1_000 * START.timestamp()) + 1_000 * second
