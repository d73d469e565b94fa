"""The demo: a city's traffic from a seeded generator, and a program that watches it.

The city is replayed faster than real time. What Spark delivers is queued and taken in by the thread that draws, so that
nothing changes while it is drawn.
"""

import os
import random
import time
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from queue import SimpleQueue
from statistics import median
from tempfile import mkdtemp
from typing import TYPE_CHECKING, Any, Final, Literal

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.spinner import Spinner
from rich.table import Table
from rich.text import Text

from thalweg import api
from thalweg.connectors.batches import code_facts
from thalweg.connectors.interrupt import Interrupt
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError
from thalweg.ir.nodes import Program
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch, Event
from thalweg.model.fact import Fact
from thalweg.runtimes.embedded import Embedded, Settings
from thalweg.runtimes.emit import Change
from thalweg.runtimes.rule_engine import RuleEngine
from thalweg.runtimes.spark.shutdown import leaving_in_time

if TYPE_CHECKING:
    from thalweg.runtimes.spark.job import Job

ROADS: Final = (
    "elm", "oak", "mill", "church", "station", "harbour", "market", "bridge",
    "park", "school", "king", "canal", "garden", "castle", "river", "abbey",
)  # fmt: skip
SENSORS: Final = 4
TICKS: Final = 1_800
SECONDS: Final = 15.0
PARTITIONS: Final = 2
PICTURE: Final = "timeline.svg"
# Every jam is either of the last two.
NEWS: Final = ("standstill", "queue", "unexplained")
# The states of a road on the timeline, the worst last; each with its block and its colour.
LEVELS: Final = (("jam", "▒", "#e6b422"), ("queue", "▓", "#e8731a"), ("standstill", "█", "#c0262d"))
# A minute of the city is one batch: for fewer facts Spark would mostly start batches.
_MINUTE: Final = 60
_SHORT: Final = 0.02
_SPREAD, _RELIEF = 25, 12

Update = tuple[int, bool, str]
"""A tick, whether a fact ended then rather than began, and the fact."""
Intervals = Mapping[str, Iterable[tuple[int, int]]]
"""For each fact the ticks at which it began and ended."""


# The city ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Incident:
    """A cause that fills a road for a while; the roads behind it fill up one after the other."""

    road: int
    start: int
    end: int
    cause: str

    def reaches(self, road: int, tick: int) -> bool:
        behind = (self.road - road) % len(ROADS)
        return behind < 4 and self.start + behind * _SPREAD <= tick < self.end + behind * _RELIEF

    def halts(self, road: int, tick: int) -> bool:
        return self.road == road and self.start <= tick < self.end

    @property
    def reported(self) -> Fact | None:
        """The fact in the stream that reports it, if any; the rest has to be concluded."""
        road = ROADS[self.road]
        return {"crash": Fact("crash", (road,)), "match": Fact("event", (road, "match"))}.get(self.cause)


def program() -> str:
    """The rules, as they ship with the package."""
    return files("thalweg").joinpath("demo.lars").read_text(encoding="utf-8")


def background() -> list[Fact]:
    """The map: a ring of roads and the sensors on each."""
    found = [Fact("road", (road,)) for road in ROADS]
    found += [Fact("on", (sensor, road)) for road in ROADS for sensor in _sensors(road)]
    return found + [Fact("next", (road, ROADS[(i + 1) % len(ROADS)])) for i, road in enumerate(ROADS)]


def city(ticks: int = TICKS, seed: int = 7) -> Iterator[Event]:
    """A second of the city at a time: speeds, passing cars, red lights, crashes, matches.

    >>> first = next(city())
    >>> first.tick, first.facts == next(city()).facts
    (0, True)
    """
    chance, causes = random.Random(seed), ("crash", "crash", "match", "nothing")
    incidents = [
        Incident(chance.randrange(len(ROADS)), start, start + chance.randrange(60, 150), chance.choice(causes))
        for start in range(40, ticks, 110)
    ]
    for tick in range(ticks):
        facts = [each.reported for each in incidents if each.start == tick and each.reported]
        for number, road in enumerate(ROADS):
            facts += _road(chance, number, road, tick, incidents)
        yield Event(tick, tuple(facts), "city")


def _sensors(road: str) -> list[str]:
    return [f"{road}{number}" for number in range(1, SENSORS + 1)]


def _road(chance: random.Random, number: int, road: str, tick: int, incidents: list[Incident]) -> Iterator[Fact]:
    full = any(each.reaches(number, tick) for each in incidents)
    halted = any(each.halts(number, tick) for each in incidents)
    for sensor in _sensors(road):
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
class Replay:
    """The city as a stream, a minute at a time, in a given number of seconds or as fast as it is taken.

    The clock starts when the first minute has been answered: until then Spark has been starting.
    """

    words: Dictionary
    seconds: float
    interrupt: Interrupt
    ticks: int
    facts: int = 0
    tick: int = 0
    answered: bool = False
    began: tuple[float, int] | None = None

    def __iter__(self) -> Iterator[tuple[int, Batch] | None]:
        for event in city(self.ticks):
            if event.tick and event.tick % _MINUTE == 0:
                yield None
                self._wait(event.tick)
                if self.interrupt.asked:
                    return
            self.facts += len(event.facts)
            self.tick = event.tick
            yield event.tick, code_facts(event.facts, self.words, event.stream)

    def _wait(self, tick: int) -> None:
        while not (self.answered or self.interrupt.asked):
            time.sleep(_SHORT)
        start, _ = self.began = self.began or (time.monotonic(), self.facts)
        time.sleep(max(0.0, start + (tick - _MINUTE) * self.seconds / self.ticks - time.monotonic()))

    def position(self) -> None:
        """The demo is not resumed."""

    def waiting(self) -> Iterable[Batch]:
        return ()

    @property
    def repeats(self) -> bool:
        return True


# Watching it ------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Watch:
    """The answers so far: what holds, how long each conclusion held, how long each batch took."""

    tick: int = 0
    since: dict[str, int] = field(default_factory=dict)
    ended: dict[str, list[tuple[int, int]]] = field(default_factory=dict)
    began: Counter[str] = field(default_factory=Counter)
    batches: dict[int, float] = field(default_factory=dict)
    news: deque[Text] = field(default_factory=lambda: deque(maxlen=8))

    def note(self, update: Update) -> Text | None:
        """Takes in what began or ended; returns the line about it if it is news.

        >>> watch = Watch()
        >>> print(watch.note((60, False, "queue(elm)")), watch.note((95, True, "queue(elm)")), sep="; ")
        08:01:00 + queue(elm); 08:01:35 - queue(elm) after 35 s
        """
        self.tick, over, fact = update
        kind = fact.partition("(")[0]
        line = Text(_clock(self.tick))
        if over:
            start = self.since.pop(fact)
            self.ended.setdefault(fact, []).append((start, self.tick))
            line.append(f" - {fact}", "red").append(f" after {self.tick - start} s")
        else:
            self.since[fact] = self.tick
            self.began[kind] += 1
            line.append(f" + {fact}", "green")
        if kind not in NEWS:
            return None
        self.news.append(line)
        return line

    @property
    def held(self) -> dict[str, list[tuple[int, int]]]:
        """All intervals so far; what holds now ends now."""
        found = {fact: list(spans) for fact, spans in self.ended.items()}
        for fact, start in self.since.items():
            found.setdefault(fact, []).append((start, self.tick + 1))
        return found

    def longest(self) -> list[tuple[int, str, int]]:
        """The length, fact and start of all intervals of news, the longest first."""
        spans = ((end - start, fact, start) for fact, found in self.ended.items() for start, end in found)
        return sorted((each for each in spans if each[1].partition("(")[0] in NEWS), reverse=True)


def timeline(held: Intervals, ticks: int, width: int, roads: Iterable[str] = ROADS) -> Text:
    """A line for each road, time from left to right, each block the worst of its time.

    >>> held = {"jam(elm)": [(0, 30)], "queue(elm)": [(20, 30)], "jam(oak)": [(50, 60)]}
    >>> print(timeline(held, ticks=60, width=6, roads=("elm", "oak")))
        elm ▒▒▓
        oak      ▒
            08:00
    """
    lines = []
    for road in roads:
        worst = [-1] * width
        for level, (kind, _, _) in enumerate(LEVELS):
            for start, end in held.get(f"{kind}({road})", ()):
                first, last = start * width // ticks, (end - 1) * width // ticks
                worst[first : last + 1] = [level] * (last + 1 - first)
        bar = ((LEVELS[level][1], LEVELS[level][2]) if level >= 0 else " " for level in worst)
        lines.append(Text.assemble(f"{road:>7} ", *bar))
    return Text("\n").join([*lines, Text(f"{'':8}{_marks(ticks, width)}", "dim")])


def _marks(ticks: int, width: int) -> str:
    """Times under a bar: six of them, or as many as there is room for."""
    step = ticks // min(6, width // 6) or 1
    line = ""
    for tick in range(0, ticks, step):
        line = f"{line:<{tick * width // ticks}}{_clock(tick)[:5]}"
    return line


def legend() -> Text:
    parts = (Text.assemble((block * 2, colour), f" {kind}   ") for kind, block, colour in LEVELS)
    return Text.assemble(" " * 8, *parts)


def svg(held: Intervals, ticks: int) -> str:
    """The same as a picture for a browser, to the second; bars have tooltips.

    >>> '<title>jam(elm) 08:00:10 to 08:00:30</title>' in svg({"jam(elm)": [(10, 30)]}, ticks=60)
    True
    """
    left, top, row, width = 90, 64, 26, 960
    scale = width / ticks
    bottom = top + row * len(ROADS)
    drawn = [f'<text x="{left}" y="26" font-size="17" fill="#222">When traffic stood, and where</text>']
    for place, (kind, _, colour) in enumerate(LEVELS):
        x = left + place * 120
        drawn.append(f'<rect x="{x}" y="38" width="22" height="12" fill="{colour}"/>')
        drawn.append(f'<text x="{x + 28}" y="49">{kind}</text>')
    for tick in range(0, ticks + 1, max(1, ticks // 6)):
        at = left + tick * scale
        drawn.append(f'<path d="M{at:.1f} {top}V{bottom}" stroke="#ddd"/>')
        drawn.append(f'<text x="{at:.1f}" y="{bottom + 18}" text-anchor="middle">{_clock(tick)[:5]}</text>')
    for number, road in enumerate(ROADS):
        y = top + number * row
        drawn.append(f'<text x="{left - 10}" y="{y + 17}" text-anchor="end">{road}</text>')
        drawn.append(f'<path d="M{left} {y + row}H{left + width}" stroke="#eee"/>')
        for inset, (kind, _, colour) in enumerate(LEVELS):
            for start, end in held.get(f"{kind}({road})", ()):
                drawn.append(
                    f'<rect x="{left + start * scale:.1f}" y="{y + 4 + 3 * inset}" width="{(end - start) * scale:.1f}" '
                    f'height="{18 - 6 * inset}" fill="{colour}">'
                    f"<title>{kind}({road}) {_clock(start)} to {_clock(end)}</title></rect>"
                )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {left + width + 30} {bottom + 34}" '
        f'font-family="sans-serif" font-size="13" fill="#555">\n<rect width="100%" height="100%" fill="#fff"/>\n'
        + "\n".join(drawn)
        + "\n</svg>\n"
    )


def _clock(tick: int) -> str:
    return f"{8 + tick // 3600:02}:{tick // 60 % 60:02}:{tick % 60:02}"


# Running it -------------------------------------------------------------------------------------------------------


class Show:
    """A run on a console: a picture that grows on a terminal, lines elsewhere."""

    def __init__(self, console: Console, seconds: float, ticks: int) -> None:
        self.console = console
        self.watch = Watch()
        self.replay: Replay | None = None
        self.interrupt = Interrupt()
        self.ticks = ticks
        self._last_answer = 0.0
        self._seconds = seconds
        self._updates: SimpleQueue[Update] = SimpleQueue()
        self._spinner = Spinner("dots", "starting …")
        self._live = Live(self._spinner, console=console, refresh_per_second=8, transient=True)

    def __enter__(self) -> "Show":
        if self.console.is_terminal:
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self.console.is_terminal:
            self._live.stop()

    def open(self, words: Dictionary) -> Replay:
        """The city, from now on."""
        self.replay = Replay(words, self._seconds, self.interrupt, self.ticks)
        return self.replay

    def receive(self, updates: Iterable[Update]) -> None:
        """Queues updates; any thread may call it."""
        self._last_answer = time.monotonic()
        if self.replay:
            self.replay.answered = True
        for update in updates:
            self._updates.put(update)

    def draw(self) -> None:
        """Takes in the queued updates, and shows them."""
        while not self._updates.empty():
            line = self.watch.note(self._updates.get())
            if line is not None and not self.console.is_terminal:
                self.console.print(line)
        if self.watch.began and self.console.is_terminal:
            self._live.update(self._picture())
        elif self.replay:
            self._spinner.update(text=f"{self.replay.facts:,} facts are on their way …")

    def _picture(self) -> RenderableType:
        assert self.replay is not None
        picture = self._timeline()
        title = f"{_clock(self.replay.tick)}  {self.replay.facts:,} facts"
        room = max(3, self.console.height - len(picture.split()) - 6)
        return Group(Panel(Group(picture, legend()), title=title), *list(self.watch.news)[-room:])

    def _timeline(self) -> Text:
        return timeline(self.watch.held, self.ticks, max(20, min(self.console.width - 14, 120)))

    def summary(self, out: Path) -> RenderableType:
        """The timeline and figures of the whole run."""
        assert self.replay is not None
        watch, facts = self.watch, self.replay.facts
        table = Table.grid(padding=(0, 2))
        table.add_row("events", f"{self.replay.tick + 1:,} seconds of a city, {facts:,} facts")
        kinds = ", ".join(f"{watch.began[kind]} {kind}" for kind in NEWS)
        table.add_row("conclusions", f"{watch.began.total():,} began, {len(watch.since)} still hold")
        table.add_row("", f"among them {kinds}")
        since, before = self.replay.began or (0.0, facts)
        if facts > before:
            took = self._last_answer - since
            speed, faster = (facts - before) / took, (self.replay.tick + 1 - _MINUTE) / took
            table.add_row("speed", f"{speed:,.0f} rows/s, {faster:,.0f} times as fast as real time")
        if watch.batches:
            table.add_row("latency", _latency([watch.batches[batch] for batch in sorted(watch.batches)]))
        for length, fact, start in watch.longest()[:3]:
            table.add_row("held longest", f"{fact} for {length} s, from {_clock(start)}")
        table.add_row("picture", str(out))
        return Group(Panel(Group(self._timeline(), legend()), title="the timeline"), Panel(table, title="summary"))


def _latency(batches: list[float]) -> str:
    """How long batches took, in a sentence; the first has to start the workers.

    >>> _latency([5.25, 0.5, 0.75, 0.5])
    '0.5 s a batch (3 of them), 0.8 s at most; 5.2 s for the first, in which the workers start'
    """
    first, *others = batches
    usual = f"{median(others):.1f} s a batch ({len(others)} of them), {max(others):.1f} s at most; " if others else ""
    return f"{usual}{first:.1f} s for the first, in which the workers start"


def main(
    console: Console,
    out: Path | None = None,
    runtime: Literal["spark", "embedded"] = "spark",
    seconds: float = SECONDS,
    ticks: int = TICKS,
) -> None:
    """Runs the city; live on a terminal, line by line elsewhere. The timeline is drawn to a file.

    Without `out` that file is in a new temporary folder, so that nothing is left in the current one.
    """
    out = out or Path(mkdtemp(prefix="thalweg-demo-"), PICTURE)
    if not os.access(out.parent, os.W_OK):
        message = f"`{out.parent}` is not a folder that can be written to"
        raise RejectedError([Diagnostic("E401", message, help="name another file with `--out`")])
    console.print(Panel(program().strip(), title="the program", highlight=False))
    known = api.load(program(), background=background())
    show = Show(console, seconds, ticks)
    with show.interrupt.listen(), leaving_in_time(show.interrupt), show:
        (_on_spark if runtime == "spark" else _embedded)(known, show)
        show.draw()
    try:
        out.write_text(svg(show.watch.held, ticks), encoding="utf-8")
    except OSError as error:
        raise FailedError(Diagnostic("E401", f"`{out}` cannot be written: {error.strerror}")) from error
    console.print(show.summary(out))


def _embedded(known: Program, show: Show) -> None:
    engine = RuleEngine(known)
    runtime = Embedded(engine, Settings(emit="changes"), interrupt=show.interrupt)
    for piece in runtime.answers(show.open(engine.dictionary)):
        if isinstance(piece, Change):
            show.receive((piece.t, True, fact) for fact in piece.end)
            show.receive((piece.t, False, fact) for fact in piece.begin)
        show.draw()


def _on_spark(known: Program, show: Show) -> None:
    from thalweg.runtimes.spark.session import need_spark

    need_spark()
    from thalweg.runtimes.spark.delivery import Delivery
    from thalweg.runtimes.spark.job import Job
    from thalweg.runtimes.spark.run import SparkTarget, run
    from thalweg.runtimes.spark.watch import seconds

    class ShownDelivery(Delivery):
        """The run's own delivery, whose answers are also shown."""

        def deliver(self, batch: int, answers: Any) -> None:
            before = self.done.batch
            super().deliver(batch, answers)
            if batch > before:
                show.receive(_updates(answers.to_pylist()))

    def look(query: Any, delivery: Delivery) -> None:
        if (progress := query.lastProgress) is not None:
            show.watch.batches[progress["batchId"]] = seconds(progress)
        show.draw()

    job = Job(known, Settings(emit="changes"), PARTITIONS, name="demo")
    show.console.print(Panel(_stages(job), title="how Spark runs it"))

    def deliver(ledger: Path) -> Delivery:
        return ShownDelivery(ledger, str(ledger.with_name("answers.jsonl")), None, "changes")

    run(job, show.open, SparkTarget(short=True), deliver, show.interrupt, lambda found: None, look)


def _updates(answers: Iterable[Mapping[str, Any]]) -> list[Update]:
    """Changes in the order of time, endings before beginnings.

    >>> _updates([{"kind": "begin", "t": 4, "fact": "a"}, {"kind": "end", "t": 4, "fact": "b"}, {"kind": "decided"}])
    [(4, True, 'b'), (4, False, 'a')]
    """
    found = [(row["t"], row["kind"] == "end", row["fact"]) for row in answers if row["kind"] in ("begin", "end")]
    return sorted(found, key=lambda each: (each[0], not each[1], each[2]))


def _stages(job: "Job") -> RenderableType:
    """Which rules are evaluated where, a line for each stage."""
    table = Table.grid(padding=(0, 2))
    for stage in job.stages:
        heads = ", ".join(dict.fromkeys(rule.head.predicate for rule in stage.rules))
        keys = " and ".join(sorted({key for key in stage.keys if key})) if stage.split else ""
        spread = f"{len(job.buckets(stage.number))} buckets, by {keys}" if keys else "1 bucket"
        table.add_row(f"stage {stage.number}", spread, heads)
    return table
