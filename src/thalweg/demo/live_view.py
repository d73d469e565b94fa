"""A run on a console: a timeline that grows on a terminal, lines elsewhere.

Answers are followed in the file that the run writes. One thread does this, so that the run goes on while it is shown.
"""

from collections.abc import Iterable
from pathlib import Path
from threading import Event, Thread
from typing import IO, Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.spinner import Spinner
from rich.text import Text

from thalweg.demo.city_log import CityLog, Intervals, News, clock, kind_of, layer_of
from thalweg.demo.smart_city import MINUTES, observed_at

COLOURS: Final = {
    "GarageFills": "#2b8a9e",
    "CrowdJam": "#2b8a9e",
    "Incident": "#2b8a9e",
    "IncidentOver": "#2b8a9e",
    "blocked": "#c0262d",
    "crowded": "#e8731a",
    "smog": "#8a6fb0",
    "slippery": "#3a87c8",
    "long_green": "#2e9e4f",
    "long_yellow": "#e6b422",
}
"""The events and conclusions on the timeline, from the top, each with its colour."""

_LAYERS: Final = {"ontology": "magenta", "patterns": "cyan", "rules": "yellow", "lights": "green"}
_PAUSE: Final = 0.1
# Lines of a live picture besides those of the timeline: frame, times, means, and a few news.
_REST: Final = 9
_SECONDS: Final = 60 * MINUTES


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
        held = self.log.held
        if len(held) + _REST > self.console.height:
            # The news have the lights, too.
            held = {fact: spans for fact, spans in held.items() if layer_of(fact) != "lights"}
        means = " · ".join(f"{district} {mean:.0f}" for district, mean in sorted(self.log.means.items()))
        room = max(3, self.console.height - len(held) - _REST + 3)
        title = f"{clock(self.log.second)}  {observed_at(self.log.second):,} observations"
        shown = Group(self._timeline(held), Text(f"particles, mean of 5 min: {means}" if means else "", "dim"))
        return Group(Panel(shown, title=title), *map(worded, list(self.log.news)[-room:]))

    def timeline(self) -> Text:
        """What lasted from when until when, so far."""
        return self._timeline(self.log.held)

    def _timeline(self, held: Intervals) -> Text:
        return timeline(held, max(60, min(self.console.width - 4, 130)))


def worded(news: News) -> Text:
    """A line of news with the colour of its layer."""
    line = Text(str(news))
    line.stylize(_LAYERS[news.layer], 10, 19)
    return line


def timeline(held: Intervals, width: int) -> Text:
    """A line for each event and conclusion, time from left to right, no longer than `width`.

    >>> print(timeline({"blocked(mill)": [(0, 600)], "smog(harbour)": [(900, 1800)]}, width=32))
    blocked(mill) ██████
    smog(harbour)          █████████
                  17:30    17:45
    """
    left = max(map(len, held), default=0) + 1
    lines, room = [], max(1, width - left)
    for fact in in_order(held):
        bar = [" "] * room
        for start, end in held[fact]:
            first, last = start * room // _SECONDS, (end - 1) * room // _SECONDS
            bar[first : last + 1] = "█" * (last + 1 - first)
        lines.append(Text.assemble(f"{fact:<{left}}", ("".join(bar).rstrip(), COLOURS[kind_of(fact)])))
    return Text("\n").join([*lines, Text(f"{'':{left}}{_marks(room)}", "dim")])


def in_order(held: Iterable[str]) -> list[str]:
    """Events and conclusions by their kind, as `COLOURS` has them."""
    kinds = list(COLOURS)
    return sorted(held, key=lambda fact: (kinds.index(kind_of(fact)), fact))


def _marks(width: int) -> str:
    """Times under a bar, every five minutes, or as many as there is room for."""
    step = next(step for step in (5, 10, 15, MINUTES) if width * step // MINUTES >= 7 or step == MINUTES)
    line = ""
    for minute in range(0, MINUTES, step):
        line = f"{line:<{minute * width // MINUTES}}{clock(60 * minute)[:5]}"
    return line


def svg(held: Intervals) -> str:
    """The same as a picture for a browser, to the second; bars have tooltips.

    >>> "<title>smog(harbour) 17:45:00 to 18:00:00</title>" in svg({"smog(harbour)": [(900, 1800)]})
    True
    """
    left, top, row, width = 190, 40, 24, 960
    scale, facts = width / _SECONDS, in_order(held)
    bottom = top + row * len(facts)
    drawn = [f'<text x="{left}" y="24" font-size="17" fill="#222">What happened in the city, and when</text>']
    for minute in range(0, MINUTES + 1, 5):
        at = left + 60 * minute * scale
        drawn.append(f'<path d="M{at:.1f} {top}V{bottom}" stroke="#ddd"/>')
        drawn.append(f'<text x="{at:.1f}" y="{bottom + 18}" text-anchor="middle">{clock(60 * minute)[:5]}</text>')
    for number, fact in enumerate(facts):
        y, colour = top + number * row, COLOURS[kind_of(fact)]
        drawn.append(f'<text x="{left - 10}" y="{y + 16}" text-anchor="end">{fact}</text>')
        for start, end in held[fact]:
            drawn.append(
                f'<rect x="{left + start * scale:.1f}" y="{y + 4}" width="{(end - start) * scale:.1f}" height="16" '
                f'fill="{colour}"><title>{fact} {clock(start)} to {clock(end)}</title></rect>'
            )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 30} {bottom + 34}" '
        f'font-family="sans-serif" font-size="13" fill="#555">\n<rect width="100%" height="100%" fill="#fff"/>\n'
        + "\n".join(drawn)
        + "\n</svg>\n"
    )
