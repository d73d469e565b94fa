"""How many files a fact passes between being read and being answered, and how often it is handed over between them.

    python tests/walks.py [--files]

Five walks are taken with a profiler. Counted are the files of `src/thalweg` outside `model ir planning engine solvers
languages connectors` in which a function is called, and the hand-overs: pairs of such files of which the first calls
the second, through uncounted ones or not. In this process (the command `run`), counting begins when a connector hands
over what it has read, and ends with the last answer that is written. On Spark the driver's packing, the workers of all
buckets and the making of answers are counted, in this process, from the first batch of facts to the last answer. Each
walk is taken twice: over a whole stream, with what is made once and late, and over its second half, where all is made.
"""

import argparse
import re
import sys
import tempfile
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

from typer.testing import CliRunner

import golden_plans
import thalweg
from cells import Buckets, Graphs, with_graphs
from golden_plans import Plan
from thalweg import api
from thalweg.cli import app
from thalweg.languages.lars.facts import read_fact
from thalweg.model.event import Event
from thalweg.runtimes.embedded import Settings
from thalweg.runtimes.spark.wire import unwrap
from thalweg.testing.evaluators import arrived

SOURCE: Final = f"{Path(thalweg.__file__).parent}/"
LEFT_OUT: Final = ("model", "ir", "planning", "engine", "solvers", "languages", "connectors", "testing")
PARTITIONS: Final = 2


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
        if event == "return" and not self.begun and place.startswith("connectors/") and value is not None:
            self.begun = frame.f_back is not None and not self._place(frame.f_back).startswith("connectors/")
        elif event == "call" and self.begun and self._counts(place):
            self.files.add(place)
            caller = frame.f_back
            while caller is not None and not self._counts(self._place(caller)):
                caller = caller.f_back
            if caller is not None and self._place(caller) != place:
                self.handed.add((self._place(caller), place))

    def answer(self) -> None:
        """Is told that an answer was given: what comes after the last one does not count."""
        self._answered = set(self.files), set(self.handed)

    def end(self) -> None:
        """Forgets what came after the last answer."""
        if self._answered is not None:
            self.files, self.handed = self._answered

    def _place(self, frame: FrameType) -> str:
        name = frame.f_code.co_filename
        if name not in self._places:
            self._places[name] = name.removeprefix(SOURCE) if name.startswith(SOURCE) else ""
        return self._places[name]

    @staticmethod
    def _counts(place: str) -> bool:
        return bool(place) and place.partition("/")[0] not in LEFT_OUT


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
        place = {file: str(folder / file) for file in (*plan.files, *plan.writes)}
        streams = [word for stream in plan.streams for word in ("--stream", stream)]
        words = ["run", *plan.programs, *streams, *plan.known, *plan.shape, "--quiet", "--out", str(folder / "out.jsonl")]
        words = [place.get(word, word) for word in words]
        CliRunner().invoke(app, words)
        walk = Walk(begun=False)
        with profiled(walk):
            ended = CliRunner().invoke(app, words)
        assert ended.exit_code == 0, ended.output
        return walk


class Driver(Buckets):
    """Driver and buckets in this process; rows of rules are not combined."""

    def take(self, events: Iterable[Any], ended: bool = True) -> list[Any]:
        """What is answered when events come: blocks, or tables of rows."""
        self._packer.part += 1
        parcels = list(self._packer.pack(self._arrived(events, self._packer.words, self._watermark), ended))
        rows: list[dict[str, Any]] = []
        answered: list[Any] = []
        for key, worker in self._workers.items():
            for parcel in worker.process([each.payload for each in parcels if (each.stage, each.bucket) == key]):
                if parcel.stage >= 0:
                    parcels.append(parcel)
                elif self._work.combine is None:
                    answered.append(unwrap(parcel.payload))
                else:
                    rows += self._rows(parcel.stage, unwrap(parcel.payload))
        if self._work.combine is not None:
            answered += (str(answer) for block in self._work.combine(rows) for answer in block.answers())
        return answered


def in_buckets(
    plan: Plan, batches: Sequence[Sequence[Any]], arriving: Callable[..., Any] = arrived, first: int = 0
) -> Walk:
    """The walk through driver and buckets of all batches, or of those from a `first` one on."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write(plan, folder)
        background = [folder / word for word in plan.known if word in plan.files]
        part = api.load_part([folder / each for each in plan.programs], background, report=lambda _: None)
    driver, walk, answered = Driver(part, Settings(emit="changes"), PARTITIONS, arriving), Walk(), list[Any]()
    for number, batch in enumerate(batches):
        if number < first:
            driver.take(batch, ended=False)
        else:
            with profiled(walk):
                answered += driver.take(batch, ended=number == len(batches) - 1)
    assert answered
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
    """All five."""
    rules, query, events, five = map(_plan, ("rules-by-key", "query-of-pairs", "events-with-background", "five-kinds"))
    yield "rules embedded", in_process(rules)
    facts = _facts(rules.files["readings.facts"], 80)
    for first in (0,3):
        yield "rules on Spark", in_buckets(rules, facts, first=first)
        yield "an event on Spark", in_buckets(events, _graphs(events.files["cars.nq"], 40), with_graphs,first)
        yield "five kinds on Spark", in_buckets(five, _graphs(five.files["events.nq"], 20), with_graphs,first)
    yield "a query embedded", in_process(query)


def main() -> None:
    """Prints a table, and with `--files` what is counted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", action="store_true", help="name the files, too")
    words = parser.parse_args()
    taken = list(walks())
    print(f"{'walk':22} {'files':>6} {'hand-overs':>11}")
    for name, walk in taken:
        print(f"{name:22} {len(walk.files):6} {len(walk.handed):11}")
    for name, walk in taken if words.files else ():
        print(f"\n{name}")
        for file in sorted(walk.files):
            print(f"  {file}")


if __name__ == "__main__":
    main()
