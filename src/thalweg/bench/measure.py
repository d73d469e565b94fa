"""How long a workload takes: by the engine in its steady state, by a dictionary, by clingo, by the naive interpreter.

All four see the same facts in the same run, because only ratios between them mean anything on another machine.
"""

import gc
import json
import signal
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain, islice

from thalweg.bench.workload import Values, Workload, meeting_pairs
from thalweg.connectors.files import FILE_BLOCK
from thalweg.connectors.json_lines import JsonLinesReader
from thalweg.diagnostics import Source
from thalweg.ir import semantics
from thalweg.ir.nodes import Program
from thalweg.languages import lars
from thalweg.model.dictionary import Dictionary
from thalweg.model.fact import Fact
from thalweg.model.time import Clock
from thalweg.runtimes.rule_engine import RuleEngine
from thalweg.solvers.clingo import solve_once


@dataclass(frozen=True, slots=True)
class Point:
    """A workload at one size. `ticks` of solving from scratch, none where it would take too long."""

    workload: Workload
    window: int
    rate: int
    clingo: int = 0
    naive: float = 0.0


@dataclass(frozen=True, slots=True)
class Result:
    """Microseconds for each fact, and what the engine holds. A bound is a time that was not enough."""

    point: Point
    engine: float
    c: float
    in_c: float
    bytes_per_fact: float
    live: int
    clingo: float | None = None
    naive: float | None = None
    naive_is_bound: bool = False


def program_of(point: Point) -> Program:
    return lars.read(Source(point.workload.name, point.workload.rules(point.window)))


def measure(point: Point, facts: int, rounds: int = 5) -> Result:
    """Fills the windows, then times `rounds` stretches of about `facts` facts each; medians.

    The dictionary is timed after each stretch over the same facts, so that both share what else the machine does.
    """
    engine, stream = _filled(point)
    timed, plain = [], []
    for _ in range(rounds):
        stretch = list(islice(stream, max(1, facts // point.rate)))
        timed.append(_advance(engine, point.workload, stretch))
        plain.append(_remember(stretch))
    per_fact, live = engine.size / max(1, engine.live), engine.live
    del engine
    clingo = _clingo(point) if point.clingo else None
    naive, is_bound = _naive(point) if point.naive else (None, False)
    in_c = statistics.median(mine / unit for mine, unit in zip(timed, plain, strict=True))
    return Result(
        point, statistics.median(timed), statistics.median(plain), in_c, per_fact, live, clingo, naive, is_bound
    )


def measure_growth(small: Point, large: Point, facts: int, rounds: int = 9) -> float:
    """How many times the cost of one point the other is; in turns, so that both share what else the machine does."""
    pair = [(point, *_filled(point)) for point in (small, large)]
    ratios = []
    for _ in range(rounds):
        first, second = (
            _advance(engine, point.workload, list(islice(stream, max(1, facts // point.rate))))
            for point, engine, stream in pair
        )
        ratios.append(second / first)
    return statistics.median(ratios)


def _filled(point: Point) -> tuple[RuleEngine, Iterator[Values]]:
    """An engine with full windows, and the rest of its stream."""
    engine = RuleEngine(program_of(point))
    stream = point.workload.values(point.window, point.rate)
    for tick, values in enumerate(islice(stream, point.window + 2)):
        engine.advance(tick, point.workload.batch(values))
    return engine, stream


def _advance(engine: RuleEngine, workload: Workload, stretch: list[Values]) -> float:
    batches = [workload.batch(values) for values in stretch]
    assert engine.now is not None
    tick = engine.now
    begin = time.perf_counter()
    for batch in batches:
        tick += 1
        engine.advance(tick, batch)
    return _microseconds(begin, stretch)


def _remember(stretch: list[Values]) -> float:
    """The unit of all times: a loop of CPython that puts the same facts into a dictionary."""
    pairs = [(row[0], row[-1]) for values in stretch for row in values.tolist()]
    d: dict[tuple[int, int], int] = {}
    begin = time.perf_counter()
    for i, (a, b) in enumerate(pairs):
        d[(a, b)] = i
    return _microseconds(begin, stretch)


def _microseconds(begin: float, stretch: list[Values]) -> float:
    return (time.perf_counter() - begin) * 1e6 / sum(len(values) for values in stretch)


def measure_json_lines(facts: int, rate: int, rounds: int = 9) -> float:
    """How many times the cost of `json.loads` on each line it is to read JSON Lines with one fact a line.

    Both see the same lines in turns, and only the time of the processor counts; the median of the rounds.
    """
    lines = [
        f'{{"t":{tick},"facts":["p({a},n{b})"]}}'
        for tick, pairs in enumerate(islice(meeting_pairs(20, rate), max(1, facts // rate)))
        for a, b in pairs.tolist()
    ]
    data = "".join(f"{line}\n" for line in lines).encode()
    reader = JsonLinesReader(Dictionary(), "in.jsonl", "in", Clock(), "in")
    ratios = []
    for _ in range(rounds):
        begin = time.process_time()
        for line in lines:
            json.loads(line)
        parsed = time.process_time()
        for _ in chain.from_iterable(map(reader.feed, _blocks(data))):
            pass
        ratios.append((time.process_time() - parsed) / (parsed - begin))
    return statistics.median(ratios)


def _blocks(data: bytes) -> Iterator[bytes]:
    return (data[start : start + FILE_BLOCK] for start in range(0, len(data), FILE_BLOCK))


def _window(point: Point) -> list[tuple[int, Values]]:
    return list(enumerate(islice(point.workload.values(point.window, point.rate), point.window + 1)))


def _clingo(point: Point) -> float:
    """From scratch at a tick, over the content of the window; the text of the facts is there already."""
    content = point.workload.facts_for_solver(_window(point))
    encoding = point.workload.encoding(point.window)
    times = [_timed(lambda: solve_once(encoding, content)) for _ in range(point.clingo)]
    return statistics.median(times) * 1e6 / point.rate


def _naive(point: Point) -> tuple[float | None, bool]:
    """The naive interpreter at a tick, over the content of the window; gives up after `point.naive` seconds."""
    program, window = program_of(point), _window(point)
    arrivals = naive_arrivals(point.workload, window)
    try:
        elapsed = _timed(lambda: _limited(point.naive, lambda: semantics.output(program, 0, point.window, arrivals)))
    except TimeoutError:
        return point.naive * 1e6 / point.rate, True
    return elapsed * 1e6 / point.rate, False


def naive_arrivals(workload: Workload, window: list[tuple[int, Values]]) -> list[tuple[Fact, int, str | None]]:
    """The content of a window as the interpreter takes it."""
    return [
        (Fact(workload.signature.name, workload.spelled(row)), tick, None)
        for tick, rows in window
        for row in rows.tolist()
    ]


def _timed(work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _limited(seconds: float, work: Callable[[], object]) -> None:
    """Runs `work`, but no longer than `seconds`: then TimeoutError."""

    def give_up(number: int, frame: object) -> None:
        raise TimeoutError

    before = signal.signal(signal.SIGALRM, give_up)
    # What is raised while garbage is collected goes nowhere.
    gc.disable()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        work()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        gc.enable()
        signal.signal(signal.SIGALRM, before)


def measure_gap(point: Point, ticks: int) -> float:
    """Seconds to cross a gap of empty ticks with full windows before it."""
    engine = RuleEngine(program_of(point))
    for tick, values in _window(point):
        engine.advance(tick, point.workload.batch(values))
    return _timed(lambda: engine.advance(point.window + ticks))
