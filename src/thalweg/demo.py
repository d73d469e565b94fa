"""A city's traffic, made by a seeded generator, and a program that watches it: what `thalweg demo` shows."""

import random
import time
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from importlib.resources import files
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.table import Table

from thalweg import api
from thalweg.model.event import Event
from thalweg.model.fact import Fact
from thalweg.runtimes.emit import Change

ROADS: Final = (
    "elm",
    "oak",
    "mill",
    "church",
    "station",
    "harbour",
    "market",
    "bridge",
    "park",
    "school",
    "king",
    "canal",
)
TICKS: Final = 900
SECONDS: Final = 9.0
NEWS: Final = ("jam", "standstill", "queue", "unexplained")
_SPREAD, _RELIEF = 25, 12


@dataclass(frozen=True, slots=True)
class Incident:
    """Something that stops a road for a while; the roads behind it fill up one after the other."""

    road: int
    start: int
    end: int
    crash: bool

    def reaches(self, road: int, tick: int) -> bool:
        behind = (self.road - road) % len(ROADS)
        return behind < 4 and self.start + behind * _SPREAD <= tick < self.end + behind * _RELIEF


def program() -> str:
    """The rules, as they ship with the package."""
    return files("thalweg").joinpath("demo.lars").read_text(encoding="utf-8")


def background() -> list[Fact]:
    """The map: a ring of roads, each with two sensors."""
    found = [Fact("road", (road,)) for road in ROADS]
    found += [Fact("on", (f"{road}{number}", road)) for road in ROADS for number in (1, 2)]
    return found + [Fact("next", (road, ROADS[(i + 1) % len(ROADS)])) for i, road in enumerate(ROADS)]


def city(ticks: int = TICKS, seed: int = 7) -> Iterator[Event]:
    """A second of the city at a time: speeds, passing cars, red lights, crashes.

    >>> first = next(city())
    >>> first.tick, first.facts == next(city()).facts
    (0, True)
    """
    chance = random.Random(seed)
    incidents = [
        Incident(chance.randrange(len(ROADS)), start, start + chance.randrange(60, 150), chance.random() < 0.7)
        for start in range(40, ticks, 130)
    ]
    for tick in range(ticks):
        facts = [Fact("crash", (ROADS[each.road],)) for each in incidents if each.crash and each.start == tick]
        for number, road in enumerate(ROADS):
            facts += _road(chance, number, road, tick, incidents)
        yield Event(tick, tuple(facts), "city")


def _road(chance: random.Random, number: int, road: str, tick: int, incidents: list[Incident]) -> Iterator[Fact]:
    full = any(each.reaches(number, tick) for each in incidents)
    halted = any(each.road == number and each.start <= tick < each.end for each in incidents)
    for sensor in (f"{road}1", f"{road}2"):
        speed = 0 if halted else chance.gauss(9, 2) if full else chance.gauss(36, 5)
        yield Fact("speed", (sensor, f"{max(0.0, speed):.1f}"))
        if halted:
            yield Fact("halted", (sensor,))
    for _ in range(chance.choice((1, 1, 2) if full else (0, 0, 1))):
        yield Fact("passes", (f"car{chance.randrange(100_000)}", road))
    # Lights are red for twenty seconds of every eighty, one road after the other.
    if (tick + number * 7) % 80 < 20:
        yield Fact("light", (road, "red"))


@dataclass(slots=True)
class Watch:
    """What has been seen so far: the counts of the summary, and how long each conclusion held."""

    facts: int = 0
    tick: int = 0
    conclusions: int = 0
    busy: float = 0.0
    since: dict[str, int] = field(default_factory=dict)
    longest: dict[str, tuple[int, int]] = field(default_factory=dict)
    news: deque[str] = field(default_factory=lambda: deque(maxlen=12))

    def counted(self, events: Iterable[Event], pause: float) -> Iterator[Event]:
        """Lets events through at a pace that can be followed by eye."""
        for event in events:
            self.facts += len(event.facts)
            self.tick = event.tick
            time.sleep(pause)
            begin = time.perf_counter()
            yield event
            # The first event also waits for compiled code to be loaded.
            self.busy += time.perf_counter() - begin if event.tick else 0.0

    def note(self, change: Change) -> list[str]:
        """Takes a change in; the lines that tell of it."""
        lines = []
        for fact in change.end:
            start = self.since.pop(fact)
            length = change.t - start
            if length > self.longest.get(fact, (0, 0))[0]:
                self.longest[fact] = length, start
            if _is_news(fact):
                lines.append(f"{_clock(change.t)} [red]- {fact}[/] after {length} s")
        for fact in change.begin:
            self.since[fact] = change.t
            self.conclusions += 1
            if _is_news(fact):
                lines.append(f"{_clock(change.t)} [green]+ {fact}[/]")
        self.news.extend(lines)
        return lines

    def picture(self) -> RenderableType:
        """What holds now, and the latest news."""
        holding = Table.grid(padding=(0, 2))
        for kind in NEWS:
            names = sorted(fact.partition("(")[2].rstrip(")") for fact in self.since if fact.startswith(f"{kind}("))
            holding.add_row(kind, ", ".join(names) or "[dim]none[/]")
        news = "\n".join([*self.news, *[""] * (12 - len(self.news))])
        return Group(Panel(holding, title=f"{_clock(self.tick)}  {self.facts:,} facts"), Panel(news, title="news"))


def _is_news(fact: str) -> bool:
    return fact.partition("(")[0] in NEWS


def _clock(tick: int) -> str:
    return f"08:{tick // 60:02}:{tick % 60:02}"


def main(console: Console, seconds: float = SECONDS) -> None:
    """Runs the city; live on a terminal, line by line elsewhere."""
    console.print(Panel(program().strip(), title="the program", highlight=False))
    watch = Watch()
    pause = seconds / TICKS if console.is_terminal else 0.0
    answers = api.run(program(), on=watch.counted(city(), pause), background=background(), emit="changes")
    changes = (answer for answer in answers if isinstance(answer, Change))
    if console.is_terminal:
        with Live(watch.picture(), console=console, refresh_per_second=12, transient=True) as live:
            for change in changes:
                watch.note(change)
                live.update(watch.picture())
    else:
        for change in changes:
            for line in watch.note(change):
                console.print(line, highlight=False)
    console.print(_summary(watch))


def _summary(watch: Watch) -> RenderableType:
    table = Table.grid(padding=(0, 2))
    table.add_row("events", f"{watch.tick + 1:,} seconds of a city, {watch.facts:,} facts")
    table.add_row("conclusions", f"{watch.conclusions:,} began, {len(watch.since)} still hold")
    table.add_row("speed", f"{watch.facts / watch.busy:,.0f} facts/s, showing them included")
    longest = sorted(
        ((length, fact, start) for fact, (length, start) in watch.longest.items() if _is_news(fact)), reverse=True
    )
    for length, fact, start in longest[:3]:
        table.add_row("held longest", f"{fact} for {length} s, from {_clock(start)}")
    return Panel(table, title="summary")
