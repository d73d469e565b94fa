"""A plan as a drawing: stratum by stratum, or, where it is spread over buckets, stage by stage."""

from posixpath import basename
from typing import TYPE_CHECKING, Final

from thalweg.explain.drawing import LEGEND, LONGEST, Box, Drawing, in_lines
from thalweg.explain.origins import Origin
from thalweg.explain.plan_text import briefly, count, kept
from thalweg.model.predicate import Predicate
from thalweg.model.time import FOREVER, NEVER

if TYPE_CHECKING:
    from thalweg.explain.plan import Explanation, Memory
    from thalweg.explain.stages import Arrival, ExplainedStage, StageReading

SENDING_LEGEND: Final = {
    "sent": "sent to one bucket",
    "shuffled": "conclusions sent on",
    "everywhere": "to every bucket",
}


def draw_plan(explanation: "Explanation") -> str:
    """The drawing of a plan, as one `<svg>`.

    >>> from thalweg.ir.nodes import Program
    >>> from thalweg.explain.plan import explain
    >>> draw_plan(explain(Program()))[:5], draw_plan(explain(Program(), partitions=2))[:5]
    ('<svg ', '<svg ')
    """
    drawing = _Strata(explanation) if explanation.stages is None else _Stages(explanation, explanation.stages)
    return drawing.svg()


class _Strata(Drawing):
    """Streams fill memories, rules read memories and derive predicates, which may fill memories in turn."""

    def __init__(self, explanation: "Explanation") -> None:
        bands = ["input", "memories", *(f"stratum {number}" for number in range(len(explanation.strata)))]
        super().__init__(bands, brief=briefly(explanation.texts))
        self.explanation = explanation
        self.level: dict[str, int] = {name: number for number, names in enumerate(explanation.strata) for name in names}
        for memory in explanation.answering:
            if not memory.derives:
                self.memory(memory)
        for rule in explanation.rules:
            title = f"rule {rule.number}"
            self.rule(title, " · ".join(filter(None, (title, basename(rule.place)))), rule.text, 2 + rule.stratum)
            self.arrow(title, self.conclusion(rule.head))
        for reading in explanation.readings:
            memory = explanation.memories[reading.memory]
            # A derived relation is drawn as its predicate.
            answer = f"derived {memory.derives}" if memory.derives else f"memory {memory.number}"
            self.arrow(answer, f"rule {reading.rule}", reading.role)

    def memory(self, memory: "Memory") -> None:
        derived = [self.level[origin.name] for origin in memory.origins if origin.kind == "derived"]
        band = 2 + max(derived) if derived else 1
        name = self.thing(f"memory {memory.number}", "memory", memory.name, band, _keeping(memory))
        for origin in memory.origins:
            self.arrow(self.origin(origin), name)

    def origin(self, origin: Origin) -> str:
        name = f"{origin.kind} {origin.name}"
        if origin.kind == "derived":
            return name
        return self.thing(name, origin.kind, origin.name, 0, () if origin.kind == "clock" else (origin.kind,), name)

    def conclusion(self, signature: Predicate) -> str:
        held = [memory for memory in self.explanation.memories if memory.derives == signature]
        longest = max(held, key=lambda memory: memory.kept)
        band = 2 + self.level[signature]
        return self.thing(f"derived {signature}", "derived", signature, band, _keeping(longest))


def _keeping(memory: "Memory") -> tuple[str, ...]:
    time = kept(memory)
    if time == "no limit":
        return ("until taken back",)
    if "background" in memory.kinds and memory.fed_for is not None:
        return count(memory.fed_for, "tick"), "background for ever"
    if memory.kept not in (FOREVER, NEVER):
        time += " tick" if memory.kept == 1 else " ticks"
    return (time, "may be taken back") if memory.taken_back else (time,)


class _Stages(Drawing):
    """Facts are sent to stages, rules read them there and derive predicates, which may be sent on."""

    def __init__(self, explanation: "Explanation", stages: "tuple[ExplainedStage, ...]") -> None:
        bands = ["input", *(f"stage {stage.number} · {count(stage.partitions, 'bucket')}" for stage in stages)]
        super().__init__(bands, LEGEND | SENDING_LEGEND, briefly(explanation.texts))
        for stage in stages:
            band = stage.number + 1
            for arrival in stage.arrivals:
                self.arrival(stage, arrival)
            for number, key in stage.rules:
                rule, title = explanation.rules[number - 1], f"rule {number}"
                self.rule(title, title if key is None else f"{title} · by {key}", rule.text, band)
                self.arrow(title, self.derived(rule.head, stage.number))
            if stage.why:
                lines = in_lines(f"because {self.brief(stage.why)}", 2 * LONGEST)
                self.boxes[f"why {stage.number}"] = Box("reason", (), lines, stage.why, band)
            for reading in stage.readings:
                self.reading(stage, reading)

    def arrival(self, stage: "ExplainedStage", arrival: "Arrival") -> None:
        if arrival.stage is not None:
            source = self.derived(arrival.signature, arrival.stage)
        else:
            source = f"{arrival.kind} {arrival.signature}"
            self.thing(source, arrival.kind, arrival.signature, 0, (arrival.kind,), source)
        place = f"by argument {arrival.argument}" if arrival.argument else "in every bucket" if stage.split else "all"
        more = (place, "parts merged") if arrival.merged else (place,)
        hint, band = f"{arrival.signature} {place}", stage.number + 1
        name = self.thing(f"{stage.number} {arrival.name}", "memory", arrival.signature, band, more, hint)
        everywhere = stage.split and arrival.argument is None
        self.arrow(source, name, "everywhere" if everywhere else "sent" if arrival.stage is None else "shuffled")

    def derived(self, signature: Predicate, stage: int) -> str:
        """The box of what a stage concludes; most have rules, and representatives of equal things have none."""
        return self.thing(f"derived {signature}", "derived", signature, stage + 1)

    def reading(self, stage: "ExplainedStage", reading: "StageReading") -> None:
        """What did not arrive is derived by the stage itself."""
        arrived = f"{stage.number} {reading.name}"
        start = arrived if arrived in self.boxes else self.derived(reading.signature, stage.number)
        self.arrow(start, f"rule {reading.rule}", reading.role)
