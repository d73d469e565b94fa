"""The diagram of a plan of rules: stratum by stratum, or, where it is spread over buckets, stage by stage."""

from posixpath import basename
from typing import Final

from thalweg.explain.diagram import READING, Band, Diagram, DiagramBuilder
from thalweg.explain.origins import Origin
from thalweg.explain.quantity import count
from thalweg.explain.rule_analysis import MemoryUse, RuleAnalysis
from thalweg.explain.stages import Arrival, RuleStage, StageReading
from thalweg.model.predicate import Predicate
from thalweg.model.time import FOREVER, NEVER

SENDING: Final = {
    "sent": "sent to one bucket",
    "shuffled": "conclusions sent on",
    "everywhere": "to every bucket",
}


def rule_diagram(analysis: RuleAnalysis) -> Diagram:
    """The diagram of a plan.

    >>> from thalweg.explain.rule_analysis import analyse_rules
    >>> from thalweg.ir.nodes import Atom, Now, Program, Rule
    >>> program = Program((Rule(Atom("a"), (Now(Atom("p")),)),))
    >>> list(rule_diagram(analyse_rules(program)).nodes)
    ['memory 0', 'stream p/0', 'rule 1', 'derived a/0']
    >>> list(rule_diagram(analyse_rules(program, partitions=2)).nodes)[-1]
    'why 0'
    """
    drawn = _Strata(analysis) if analysis.stages is None else _Stages(analysis, analysis.stages)
    return drawn.builder.diagram()


def kept(memory: MemoryUse) -> str:
    """How many ticks a memory keeps its rows."""
    if "background" in memory.kinds and memory.fed_for is not None:
        return f"{memory.fed_for}, for ever"
    if memory.kept >= FOREVER:
        return "no limit" if memory.taken_back else "for ever"
    if memory.kept == NEVER:
        return "never filled"
    exactly = set(memory.kinds) <= {"fed", "run", "clock"}
    return f"{'' if exactly else '≤ '}{memory.kept}"


class _Strata:
    """Streams fill memories, rules read memories and derive predicates, which may fill memories in turn."""

    def __init__(self, analysis: RuleAnalysis) -> None:
        titles = ["input", "memories", *(f"stratum {number}" for number in range(len(analysis.strata)))]
        self.builder = DiagramBuilder(list(map(Band, titles)), names=analysis.texts)
        self.level: dict[str, int] = {name: number for number, names in enumerate(analysis.strata) for name in names}
        self.longest = _longest(analysis)
        for memory in analysis.answering:
            if not memory.derives:
                self.memory(memory)
        for rule in analysis.rules:
            title = f"rule {rule.number}"
            heading = " · ".join(filter(None, (title, basename(rule.place))))
            self.builder.statement(title, heading, rule.text, 2 + rule.stratum, recursive=True)
            self.builder.edge(title, self.conclusion(rule.head))
        for reading in analysis.readings:
            memory = analysis.memories[reading.memory]
            # A derived relation is drawn as its predicate.
            answer = f"derived {memory.derives}" if memory.derives else f"memory {memory.number}"
            self.builder.edge(answer, f"rule {reading.rule}", reading.role)

    def memory(self, memory: MemoryUse) -> None:
        """Adds a memory, and where its rows come from."""
        derived = [self.level[origin.name] for origin in memory.origins if origin.kind == "derived"]
        band = 2 + max(derived) if derived else 1
        name = self.builder.source(f"memory {memory.number}", "memory", memory.name, band, _keeping(memory))
        for origin in memory.origins:
            self.builder.edge(self.origin(origin), name)

    def origin(self, origin: Origin) -> str:
        """The id of an origin, which is added unless rules derive it."""
        name = f"{origin.kind} {origin.name}"
        if origin.kind == "derived":
            return name
        notes = () if origin.kind == "clock" else (origin.kind,)
        return self.builder.source(name, origin.kind, origin.name, 0, notes, name)

    def conclusion(self, signature: Predicate) -> str:
        """The id of the node of what rules derive."""
        notes, band = _keeping(self.longest[signature]), 2 + self.level[signature]
        return self.builder.source(f"derived {signature}", "derived", signature, band, notes)


def _longest(analysis: RuleAnalysis) -> dict[Predicate, MemoryUse]:
    """For each predicate that is derived, the memory that keeps it longest."""
    longest: dict[Predicate, MemoryUse] = {}
    for memory in analysis.memories:
        derived = memory.derives
        if derived is not None and (derived not in longest or memory.kept > longest[derived].kept):
            longest[derived] = memory
    return longest


def _keeping(memory: MemoryUse) -> tuple[str, ...]:
    time = kept(memory)
    if time == "no limit":
        return ("until taken back",)
    if "background" in memory.kinds and memory.fed_for is not None:
        return count(memory.fed_for, "tick"), "background for ever"
    if memory.kept not in (FOREVER, NEVER):
        time += " tick" if memory.kept == 1 else " ticks"
    return (time, "may be taken back") if memory.taken_back else (time,)


class _Stages:
    """Facts are sent to stages, rules read them there and derive predicates, which may be sent on."""

    def __init__(self, analysis: RuleAnalysis, stages: tuple[RuleStage, ...]) -> None:
        titles = ["input", *(f"stage {stage.number} · {count(stage.partitions, 'bucket')}" for stage in stages)]
        self.builder = DiagramBuilder(list(map(Band, titles)), {**READING, **SENDING}, analysis.texts)
        for stage in stages:
            band = stage.number + 1
            for arrival in stage.arrivals:
                self.arrival(stage, arrival)
            for number, key in stage.rules:
                rule, title = analysis.rules[number - 1], f"rule {number}"
                heading = title if key is None else f"{title} · by {key}"
                self.builder.statement(title, heading, rule.text, band, recursive=True)
                self.builder.edge(title, self.derived(rule.head, stage.number))
            if stage.why:
                self.builder.reason(f"why {stage.number}", stage.why, band)
            for reading in stage.readings:
                self.reading(stage, reading)

    def arrival(self, stage: RuleStage, arrival: Arrival) -> None:
        """Adds facts that come into a stage, and where they come from."""
        if arrival.stage is not None:
            source = self.derived(arrival.signature, arrival.stage)
        else:
            source = f"{arrival.kind} {arrival.signature}"
            self.builder.source(source, arrival.kind, arrival.signature, 0, (arrival.kind,), source)
        place = f"by argument {arrival.argument}" if arrival.argument else "in every bucket" if stage.split else "all"
        notes = (place, "parts merged") if arrival.merged else (place,)
        hint, band = f"{arrival.signature} {place}", stage.number + 1
        name = self.builder.source(f"{stage.number} {arrival.name}", "memory", arrival.signature, band, notes, hint)
        everywhere = stage.split and arrival.argument is None
        role = "everywhere" if everywhere else "sent" if arrival.stage is None else "shuffled"
        self.builder.edge(source, name, role)

    def derived(self, signature: Predicate, stage: int) -> str:
        """The id of what a stage concludes; most have rules, and representatives of equal things have none."""
        return self.builder.source(f"derived {signature}", "derived", signature, stage + 1)

    def reading(self, stage: RuleStage, reading: StageReading) -> None:
        """Adds an edge to a rule; what did not arrive is derived by the stage itself."""
        arrived = f"{stage.number} {reading.name}"
        start = arrived if arrived in self.builder.nodes else self.derived(reading.signature, stage.number)
        self.builder.edge(start, f"rule {reading.rule}", reading.role)
