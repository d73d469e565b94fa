"""How many files a fact passes between being read and being answered, and how often it is handed over between them.

    python tests/walks.py [--files]

Five walks are taken with a profiler. Counted are the files of `src/thalweg` outside `model ir planning engine solvers
languages connectors` in which a function is called, and the hand-overs: pairs of such files of which the first calls
the second, through uncounted ones or not. In one process (`thalweg run`, of which `cli` is left out) counting begins
when a connector hands over the first facts, and ends when the last answer is written. On Spark counting begins when the
driver packs the first facts; the workers of all buckets are called in this process, and it ends when the last answer is
delivered to a file.
"""

import argparse
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import FrameType
from typing import Any, Final

import pyarrow as pa
from typer.testing import CliRunner

import golden_plans
import thalweg
from buckets import Buckets, Graphs, with_graphs
from golden_plans import Plan
from thalweg import api
from thalweg.cli import app
from thalweg.dataflow.context import Settings
from thalweg.languages.lars.facts import read_fact
from thalweg.model.event import Batch, Event
from thalweg.runtimes.spark.bucket_answers import opened
from thalweg.runtimes.spark.delivery import Delivery
from thalweg.testing.evaluators import arrived

SOURCE: Final = f"{Path(thalweg.__file__).parent}/"
LEFT_OUT: Final = ("model", "ir", "planning", "engine", "solvers", "languages", "connectors", "cli", "testing")
"""Packages that are not counted: the core, the command around a run, and what tests bring."""
PARTITIONS: Final = 2
ENOUGH: Final = 2


@dataclass
class Walk:
    """Collects files and hand-overs while it is taken."""

    files: set[str] = field(default_factory=set)
    handed: set[tuple[str, str]] = field(default_factory=set)
    begun: bool = True
    _answered: tuple[set[str], set[tuple[str, str]]] | None = None
    _places: dict[str, str] = field(default_factory=dict)

    def see(self, frame: FrameType, event: str, value: object) -> None:
        """Is told of every call and return."""
        place = self._place(frame)
        if not self.begun:
            self.begun = event == "return" and place.startswith("connectors/") and _has_facts(value)
        elif event == "call" and self._counts(place):
            self.files.add(place)
            caller = frame.f_back
            while caller is not None and not self._counts(self._place(caller)):
                caller = caller.f_back
            if caller is not None and self._place(caller) != place:
                self.handed.add((self._place(caller), place))
        elif event == "c_call" and place and getattr(value, "__name__", "") == "write":
            self._answered = set(self.files), set(self.handed)

    def end(self) -> None:
        """Forgets what came after the last answer that was written."""
        assert self._answered is not None, "nothing was answered"
        self.files, self.handed = self._answered

    def _place(self, frame: FrameType) -> str:
        name = frame.f_code.co_filename
        if name not in self._places:
            self._places[name] = name.removeprefix(SOURCE) if name.startswith(SOURCE) else ""
        return self._places[name]

    @staticmethod
    def _counts(place: str) -> bool:
        return bool(place) and place.partition("/")[0] not in LEFT_OUT


def _has_facts(value: object) -> bool:
    """Whether a connector gives facts, alone or with their time."""
    return isinstance(value, Batch) or (isinstance(value, tuple) and any(isinstance(each, Batch) for each in value))


@contextmanager
def profiled(walk: Walk) -> Iterator[None]:
    """Takes a walk, in all threads that begin on the way, too."""
    threading.setprofile(walk.see)
    sys.setprofile(walk.see)
    try:
        yield
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def in_process(plan: Plan) -> Walk:
    """The walk of the command `run`, which has been run before."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(plan, folder)
        place = {file: str(folder / file) for file in plan.files}
        streams = [word for stream in plan.streams for word in ("--stream", stream)]
        out = folder / "out.jsonl"
        words = ["run", *plan.programs, *streams, *plan.known, "--quiet", "--out", str(out)]
        words = [place.get(word, word) for word in words]
        CliRunner().invoke(app, words)
        walk = Walk(begun=False)
        with profiled(walk):
            ended = CliRunner().invoke(app, words)
        walk.end()
        assert ended.exit_code == 0, ended.output
        assert not ended.stderr, ended.stderr
        assert len(out.read_text(encoding="utf-8").splitlines()) > ENOUGH
        return walk


class Driver(Buckets):
    """Driver and buckets in this process: what buckets send is delivered to a file, as on Spark."""

    def deliver_to(self, folder: Path) -> None:
        """Opens the file."""
        self._delivery = Delivery(
            folder / "ledger",
            str(folder / "out"),
            None,
            self.job.settings.emit,
            present=self._work.watch.presenter() or (lambda answer: answer),
            shows_facts=self.job.plan.shows_facts,
        )

    def answer(self, batch: int, events: Iterable[Any], ended: bool) -> None:
        """Answers what comes in a batch."""
        sent: list[Any] = []
        for parcel in self.process(events, ended):
            sent += opened(parcel.payload, self.job.settings.emit)
        self._delivery.deliver(batch, pa.Table.from_batches(sent))


def in_buckets(plan: Plan, batches: Sequence[Sequence[Any]], arriving: Callable[..., Any] = arrived) -> Walk:
    """The walk through driver and buckets."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(plan, folder)
        background = [folder / word for word in plan.known if word in plan.files]
        part = api.load_part([folder / each for each in plan.programs], background, report=lambda _: None)
        driver, walk = Driver(part, Settings(emit="changes"), PARTITIONS, arriving), Walk()
        driver.deliver_to(folder)
        with profiled(walk):
            for number, batch in enumerate(batches):
                driver.answer(number, batch, ended=number == len(batches) - 1)
        answered = (folder / "out").read_text(encoding="utf-8").splitlines()
    assert len(answered) > ENOUGH, answered
    return walk


def _write(plan: Plan, folder: Path) -> None:
    for file, text in plan.files.items():
        (folder / file).write_text(text, encoding="utf-8")


def _plan(name: str) -> Plan:
    return next(plan for plan in (*golden_plans.ALONE, *golden_plans.MIXED) if plan.name == name)


def _facts(text: str, size: int) -> list[list[Event]]:
    found = [re.fullmatch(r"(.*) at (\d+)\.", line) for line in text.splitlines()]
    events = [Event(int(each[2]), (read_fact(each[1]),), "readings") for each in found if each]
    return [events[start : start + size] for start in range(0, len(events), size)]


def _graphs(text: str, size: int) -> list[list[Graphs]]:
    """Graphs of N-Quads, each with its time."""
    ticks, graphs = {}, dict[str, list[Any]]()
    for line in text.splitlines():
        if time := re.match(r'(\S+) <\S+generatedAtTime> "(\d+)"', line):
            ticks[time[1]] = int(time[2])
        elif quad := re.match(r"(\S+) (\S+) (\S+) (\S+) \.", line):
            subject, name, value, graph = quad.groups()
            number = re.match(r'"(\d+)"', value)
            is_type = name.endswith("#type>")
            fact = f"{value}({subject})" if is_type else f"{name}({subject},{number[1] if number else value})"
            graphs.setdefault(graph, []).append(read_fact(fact))
    events = [(ticks[graph], [(graph, facts)]) for graph, facts in graphs.items()]
    return [events[start : start + size] for start in range(0, len(events), size)]


def walks() -> Iterator[tuple[str, Walk]]:
    """All five; the `.tw` has classes and a pattern over them, without a `NOT`."""
    rules, query = _plan("rules-in-order"), _plan("query-of-pairs")
    events, five = _plan("events-with-background"), _plan("five-kinds")
    pattern = golden_plans.BRAKING.partition("NAMED EVENT :Jam")[0]
    events = replace(events, files={**events.files, "braking.tw": pattern})
    yield "rules embedded", in_process(rules)
    yield "rules on Spark", in_buckets(rules, _facts(rules.files["readings.facts"], 80))
    yield "an event through a .tw on Spark", in_buckets(events, _graphs(events.files["cars.nq"], 40), with_graphs)
    yield "a query embedded", in_process(query)
    yield "five kinds in one plan on Spark", in_buckets(five, _graphs(five.files["events.nq"], 20), with_graphs)


def main() -> None:
    """Prints a table, and with `--files` what is counted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", action="store_true", help="name the files, too")
    words = parser.parse_args()
    taken = list(walks())
    print(f"{'walk':34} {'files':>6} {'hand-overs':>11}")
    for name, walk in taken:
        print(f"{name:34} {len(walk.files):6} {len(walk.handed):11}")
    for name, walk in taken if words.files else ():
        print(f"\n{name}")
        for file in sorted(walk.files):
            print(f"  {file}")


if __name__ == "__main__":
    main()
