"""The plan of a program that runs, with a number on its boxes: what has come, what holds, what was answered.

stream p/1        facts that have come since the program was opened
memory 3          rows of the window that are kept
derived jam/1     facts that hold; or rows, answer sets and events that were answered since it was opened
rule 2            what it derives, where no other rule derives it

counter = PlanCounter()                                      of a generation
Observer(…, look=counter.look)                               on its thread, for each batch
counter.see(answer)                                          and for each answer
generation.ask(counter.totals, 3.0).result().plan(document)  for whoever asks: see `PlanTotals.plan`
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from thalweg.answers.event_answers import RejectedLine
from thalweg.answers.record import Answer
from thalweg.dataflow.operator import Concludes
from thalweg.explain.diagram import Diagram, DiagramNode
from thalweg.explain.document import PlanDocument
from thalweg.explain.origins import Origins
from thalweg.explain.wording import PlanWording
from thalweg.model.event import Batch
from thalweg.planning.rule_plan import RulePlan
from thalweg.runtimes.local import LocalRun


class PlanCounter:
    """Counts what comes to a run and what it answers; of the thread of the run."""

    def __init__(self) -> None:
        self._came: Counter[str] = Counter()
        self._streams: Counter[str] = Counter()
        self._answered: Counter[str] = Counter()

    def look(self, batch: Batch) -> None:
        """Counts what comes, as the `look` of an `Observer`."""
        self._streams[batch.stream or ""] += batch.size
        for name, words in batch.rows.items():
            self._came[name] += len(words) // name.arity if name.arity else batch.order.count(name)

    def see(self, answer: Answer) -> None:
        """Counts what is answered, but for changes: their facts are counted while they hold."""
        match answer.kind, answer.columns:
            case (("rows" | "triples" | "truth"), (rows,)):
                self._answered["rows"] += len(rows)
            case "answer sets", sets:
                self._answered["answers"] += len(sets)
            case "events", (lines,):
                self._answered.update(line.event for line in lines if not isinstance(line, RejectedLine))

    def totals(self, run: LocalRun) -> "PlanTotals":
        """What there is now; to be asked on the thread of the run."""
        operators = (node.operator for node in run.executor.nodes)
        engines = (operator.engine for operator in operators if isinstance(operator, Concludes))
        held = tuple(
            (engine.plan, _living(engine.arrays.relations, engine.arrays.horizons, engine.now))
            for engine in engines
            if engine.now is not None
        )
        return PlanTotals(dict(self._came), dict(self._streams), dict(self._answered), held)


def _living(relations: Any, horizons: Any, now: int) -> list[int]:
    """How many rows of each relation hold."""
    counts: list[int] = np.bincount(relations[(relations >= 0) & (horizons >= now)]).tolist()
    return counts


@dataclass(frozen=True, slots=True)
class PlanTotals:
    """What has come to a run by predicate and by stream, what it has answered, and how many rows engines have."""

    came: Mapping[str, int]
    streams: Mapping[str, int]
    answered: Mapping[str, int]
    held: tuple[tuple[RulePlan, list[int]], ...]

    def plan(self, document: PlanDocument) -> dict[str, Any]:
        """The document as `explain --format json` has it, with `counts` by the ids of its `boxes`."""
        return document.as_data() | {"counts": self.counts(document.diagram)}

    def counts(self, diagram: Diagram) -> dict[str, int]:
        """The numbers that are known, by the ids of boxes."""
        rows = self._rows()
        counts = {name: self._count(name, node, rows) for name, node in diagram.nodes.items() if node.kind != "rule"}
        known = {name: count for name, count in counts.items() if count is not None}
        return known | dict(_by_rules(diagram, known))

    def _count(self, name: str, node: DiagramNode, rows: Mapping[str, int]) -> int | None:
        kind, _, about = name.partition(" ")
        match node.kind:
            case "stream" if about.endswith(">"):
                # A stream by its name; one that facts come on without a name is any.
                return self.streams.get(about)
            case "stream" if kind in ("stream", "input", "0") and about:
                return self.came.get(about, 0)
            case "stream":
                return sum(self.streams.values())
            case "memory" if node.name is not None:
                return rows.get(node.name.text)
            case "derived":
                predicate = about or name
                return rows.get(predicate, self.answered.get(predicate.removesuffix("/1")))
        return None

    def _rows(self) -> dict[str, int]:
        """The rows that hold, by the names of memories, and by the predicates that rules derive."""
        rows: dict[str, int] = {}
        for plan, counts in self.held:
            words = PlanWording(plan)
            origins = Origins(plan, words)
            for relation in plan.relations:
                count = counts[relation.number] if relation.number < len(counts) else 0
                for name in (words.name(relation), origins.derives(relation)):
                    if name is not None:
                        rows[name] = max(count, rows.get(name, 0))
        return rows


def _by_rules(diagram: Diagram, known: Mapping[str, int]) -> Iterator[tuple[str, int]]:
    """What rules derive that no other rule derives."""
    makers: dict[str, list[str]] = defaultdict(list)
    for arrow in diagram.edges:
        if diagram.nodes[arrow.start].kind == "rule" and diagram.nodes[arrow.end].kind == "derived":
            makers[arrow.end].append(arrow.start)
    for derived, rules in makers.items():
        if len(rules) == 1 and derived in known:
            yield rules[0], known[derived]
