"""An explanation as a drawing, stage by stage: what is sent to which, and what waits there."""

from typing import TYPE_CHECKING, Final

from thalweg.explain.draw import LEGEND, LONGEST, Arrow, Box, Drawing, in_lines
from thalweg.explain.text import briefly
from thalweg.model.predicate import Predicate

if TYPE_CHECKING:
    from thalweg.explain.plan import Explanation
    from thalweg.explain.stages import Arrival, ExplainedStage, StageReading

SENDING_LEGEND: Final = {
    "sent": "sent to one bucket",
    "shuffled": "conclusions sent on",
    "everywhere": "to every bucket",
}


def draw_stages(explanation: "Explanation") -> str:
    """The whole drawing, as one `<svg>`.

    >>> from thalweg.ir.nodes import Program
    >>> from thalweg.explain.plan import explain
    >>> draw_stages(explain(Program(), partitions=2))[:5]
    '<svg '
    """
    graph = _Stages(explanation)
    return Drawing(graph.boxes, list(graph.arrows), graph.bands, LEGEND | SENDING_LEGEND).svg()


class _Stages:
    """Facts are sent to stages, rules read them there and derive predicates, which may be sent on."""

    def __init__(self, explanation: "Explanation") -> None:
        stages = explanation.stages or ()
        self.explanation = explanation
        self.brief = briefly(explanation.texts)
        self.bands = ["input", *(f"stage {stage.number} · {_buckets(stage.partitions)}" for stage in stages)]
        self.boxes: dict[str, Box] = {}
        self.arrows: dict[Arrow, None] = {}
        for stage in stages:
            for arrival in stage.arrivals:
                self.arrival(stage, arrival)
            for number, key in stage.rules:
                self.rule(stage, number, key)
            self.reason(stage)
            for reading in stage.readings:
                self.reading(stage, reading)

    def arrival(self, stage: "ExplainedStage", arrival: "Arrival") -> None:
        source = f"{arrival.kind} {arrival.signature}"
        label = in_lines(self.brief(arrival.signature))
        if arrival.stage is not None:
            self.derived(arrival.signature, arrival.stage)
        else:
            self.boxes.setdefault(source, Box(arrival.kind, label, (arrival.kind,), source, 0))
        place = f"by argument {arrival.argument}" if arrival.argument else "in every bucket" if stage.split else "all"
        more = (place, *(("parts merged",) if arrival.merged else ()))
        name = f"{stage.number} {arrival.name}"
        self.boxes[name] = Box("memory", label, more, f"{arrival.signature} {place}", stage.number + 1)
        everywhere = stage.split and arrival.argument is None
        how = "everywhere" if everywhere else "sent" if arrival.stage is None else "shuffled"
        self.arrows[Arrow(source, name, how)] = None

    def rule(self, stage: "ExplainedStage", number: int, key: str | None) -> None:
        rule = self.explanation.rules[number - 1]
        title, label = f"rule {number}", f"rule {number}" if key is None else f"rule {number} · by {key}"
        self.boxes[title] = Box("rule", (label,), in_lines(self.brief(rule.text), LONGEST), rule.text, stage.number + 1)
        self.arrows[Arrow(title, self.derived(rule.head, stage.number))] = None

    def derived(self, signature: Predicate, stage: int) -> str:
        """The box of what a stage concludes; most have rules, and representatives of equal things have none."""
        title = f"derived {signature}"
        self.boxes.setdefault(title, Box("derived", in_lines(self.brief(signature)), (), signature, stage + 1))
        return title

    def reason(self, stage: "ExplainedStage") -> None:
        if stage.why:
            lines = in_lines(f"because {self.brief(stage.why)}", 2 * LONGEST)
            self.boxes[f"why {stage.number}"] = Box("reason", (), lines, stage.why, stage.number + 1)

    def reading(self, stage: "ExplainedStage", reading: "StageReading") -> None:
        """What did not arrive is derived by the stage itself."""
        arrived = f"{stage.number} {reading.name}"
        start = arrived if arrived in self.boxes else self.derived(reading.signature, stage.number)
        self.arrows[Arrow(start, f"rule {reading.rule}", reading.role)] = None


def _buckets(number: int) -> str:
    return f"{number} bucket" if number == 1 else f"{number} buckets"
