"""The plan of rules as a document: strata, rules, memories, windows, ticks and stages.

slow(R) :- speed(S,V) in [15], on(S,R).     reads the memories `speed/2 in [15]` and `on/2 in [0]`;
                                            a new row of one is joined with the rows of the other
"""

from collections.abc import Iterable, Iterator
from typing import Final

from thalweg.explain.document import TIGHT, Breaks, Paragraph, PlanDocument, Section, TextTable, chained, lines
from thalweg.explain.quantity import count
from thalweg.explain.rule_analysis import ExplainedRule, MemoryUse, Reading, RuleAnalysis, analyse_rules
from thalweg.explain.rule_diagram import kept, rule_diagram
from thalweg.explain.stages import labelled, plan_stages, rule_stage_section
from thalweg.ir.nodes import Program
from thalweg.model.literals import DATATYPES
from thalweg.model.predicate import Predicate
from thalweg.model.rdf import XSD
from thalweg.model.time import FOREVER

_DATATYPES: Final = frozenset(Predicate(name, 1) for name in DATATYPES)
_ABOUT_LITERALS: Final = (f"<{XSD}", "'literal/")
_BEFORE: Final = {"positive": "", "negated": "not ", "aggregated": "aggregate "}


def explain(program: Program, partitions: int | None = None) -> PlanDocument:
    """The plan of a program; with the stages in which it is spread over a number of partitions, if there is one.

    >>> from thalweg.ir.nodes import Atom, Now, Rule
    >>> print(explain(Program((Rule(Atom("a"), (Now(Atom("p")),)),))).summary)
    1 rule in 1 stratum; 1 atom is answered by 1 memory, 0 of them shared
    """
    return rule_document(analyse_rules(program, partitions))


def rule_document(analysis: RuleAnalysis) -> PlanDocument:
    """The document of a plan of rules that was analysed."""
    texts = [rule.text for rule in analysis.rules]
    return PlanDocument(
        sections=tuple(_Text(analysis).sections()),
        data=_data(analysis),
        diagram=rule_diagram(analysis),
        stages=None if analysis.stages is None else plan_stages(analysis.stages, texts),
        warnings=analysis.warnings,
        names=tuple(analysis.texts),
    )


# As data ------------------------------------------------------------------------------------------------------------


def _data(analysis: RuleAnalysis) -> dict[str, object]:
    atoms, memories, shared = len(analysis.readings), len(analysis.answering), len(analysis.shared)
    return {
        "strata": analysis.strata,
        "rules": [_rule_data(analysis, rule) for rule in analysis.rules],
        "memories": [_memory_data(analysis, memory) for memory in analysis.memories],
        "tuple_windows": [
            {"window": counted.window, "stream": counted.stream, "keeps": counted.keeps}
            for counted in analysis.tuple_windows
        ],
        "every_tick": [{"because": cause, "for": needed} for cause, needed in analysis.every_tick],
        "sharing": {"atoms": atoms, "memories": memories, "shared": shared},
        "warnings": analysis.warnings,
    }


def _rule_data(analysis: RuleAnalysis, rule: ExplainedRule) -> dict[str, object]:
    data: dict[str, object] = {"number": rule.number, "text": rule.text, "head": rule.head, "stratum": rule.stratum}
    if rule.place:
        data |= {"file": rule.span.source.name, "line": rule.span.source.position(rule.span.start)[0]}
    data["reads"] = [
        {
            "formula": reading.formula,
            "as": reading.role,
            "memory": analysis.memories[reading.memory].name,
            "shared_with": analysis.sharing(reading),
        }
        for reading in analysis.reads(rule)
    ]
    data["joins"] = [{"from": join.start, "steps": join.steps} for join in rule.joins]
    data["aggregates"] = rule.aggregates
    return data


def _memory_data(analysis: RuleAnalysis, memory: MemoryUse) -> dict[str, object]:
    return {
        "name": memory.name,
        "kind": memory.kinds,
        "stratum": memory.stratum,
        "kept": None if memory.kept >= FOREVER else memory.kept,
        "fed_for": None if memory.fed_for is None or memory.fed_for >= FOREVER else memory.fed_for,
        "taken_back_by": memory.taken_back,
        "from": [{"kind": origin.kind, "name": origin.name} for origin in memory.origins],
        "read_by": analysis.reading_rules[memory.number],
        "copied_from": memory.copied_from,
    }


# As text ------------------------------------------------------------------------------------------------------------


class _Text:
    """The sections of a plan, without what rules about datatypes alone do."""

    def __init__(self, analysis: RuleAnalysis) -> None:
        self.analysis = analysis
        self.hidden = frozenset(rule.number for rule in analysis.rules if self.is_built_in(rule))
        shown = [rule for rule in analysis.rules if rule.number not in self.hidden]
        self.touched = {rule.head for rule in shown} | {
            _signature(analysis.memories[reading.memory].name)
            for reading in analysis.readings
            if reading.rule not in self.hidden
        }

    def is_built_in(self, rule: ExplainedRule) -> bool:
        """Whether a rule is about datatypes alone: what each of them has to do with the others."""
        memories = (self.analysis.memories[reading.memory].name for reading in self.analysis.reads(rule))
        return _is_datatype(rule.head) and all(map(_is_datatype, memories))

    def is_shown(self, name: str) -> bool:
        """Whether the rules that are shown have to do with a predicate, or it is not a datatype."""
        return not _is_datatype(name) or _signature(name) in self.touched

    def sections(self) -> Iterator[Section]:
        """A summary, and the sections that have something to say."""
        yield Section("", lines(self.summary()))
        sections = (
            Section("STRATA", tuple(self.strata())),
            Section("RULES", tuple(self.rules())),
            Section("MEMORIES", tuple(self.memories())),
            Section("TUPLE WINDOWS", tuple(self.tuple_windows())),
            Section("TICKS", tuple(self.ticks())),
            rule_stage_section(self.analysis.stages or ()),
            Section("WARNINGS", tuple(self.warnings())),
        )
        yield from (section for section in sections if section.content)

    def summary(self) -> str:
        analysis = self.analysis
        rules, strata = count(len(analysis.rules), "rule"), count(len(analysis.strata), "stratum", "strata")
        atoms = count(len(analysis.readings), "atom is", "atoms are")
        memories = count(len(analysis.answering), "memory", "memories")
        return f"{rules} in {strata}; {atoms} answered by {memories}, {len(analysis.shared)} of them shared"

    def strata(self) -> Iterator[Paragraph]:
        for level, signatures in enumerate(self.analysis.strata):
            shown = ", ".join(filter(self.is_shown, signatures))
            yield Paragraph(shown, f"  {level}  ", "     ", Breaks.WORDS)

    def rules(self) -> Iterator[Paragraph]:
        for rule in self.analysis.rules:
            if rule.number in self.hidden:
                continue
            yield Paragraph(rule.text, f"{rule.number:>3}  ", "       ", Breaks.WORDS)
            yield from labelled("at", [", ".join(filter(None, (rule.place, f"stratum {rule.stratum}")))])
            yield from labelled("reads", map(self.read, self.analysis.reads(rule)))
            yield from labelled("groups", rule.aggregates)
            yield from labelled("joins", (chained((join.start, *join.steps)) for join in rule.joins))
        if self.hidden:
            yield Paragraph(f"     {count(len(self.hidden), 'rule')} about datatypes alone: `--format json` has them")

    def read(self, reading: Reading) -> str:
        sharing = [number for number in self.analysis.sharing(reading) if number not in self.hidden]
        shared = f", shared with {'rule' if len(sharing) == 1 else 'rules'} {_listed(sharing)}" if sharing else ""
        return f"{_BEFORE[reading.role]}{self.analysis.memories[reading.memory].name}{shared}"

    def memories(self) -> Iterator[TextTable]:
        rows = [("memory", "filled", "ticks kept", "taken back by", "read by")]
        filled = (memory for memory in self.analysis.memories if "always" not in memory.kinds)
        shown = [memory for memory in filled if self.is_shown(memory.name)]
        for memory in sorted(shown, key=lambda memory: (_rank(memory), memory.stratum)):
            readings = self.analysis.readers[memory.number]
            readers = (
                f"{_BEFORE[reading.role]}{reading.rule}" for reading in readings if reading.rule not in self.hidden
            )
            kinds, taken_back = ", ".join(memory.kinds), _listed(memory.taken_back)
            rows.append((memory.name, kinds, kept(memory), taken_back, _listed(dict.fromkeys(readers))))
            if memory.copied_from:
                rows.append((f"  ← {', '.join(memory.copied_from)}", "", "", "", ""))
        if shown:
            yield TextTable(tuple(rows))

    def tuple_windows(self) -> Iterator[Paragraph]:
        for counted in self.analysis.tuple_windows:
            stream = "the whole input" if counted.stream is None else f"the stream {counted.stream}"
            sentence = f"{counted.window} counts the facts of {stream} and keeps {_listed(counted.keeps)}"
            if counted.by_key:
                sentence = (
                    f"{counted.window} counts the facts of {_listed(counted.keeps)} in {stream}, for each key alone"
                )
            yield Paragraph(sentence, "  ", "    ", Breaks.WORDS)

    def ticks(self) -> Iterator[Paragraph]:
        if not self.analysis.every_tick:
            yield Paragraph("  those with input are looked at, and those at which something ends")
        for cause, needed in self.analysis.every_tick:
            sentence = f"every one is looked at because of {cause}, for {_listed(needed)}"
            yield Paragraph(sentence, "  ", "    ", Breaks.WORDS)

    def warnings(self) -> Iterator[Paragraph]:
        for warning in self.analysis.warnings:
            for line in warning.render().splitlines():
                yield Paragraph(f"  {line}".replace(TIGHT, " ").rstrip(), shortened=False)


def _is_datatype(name: str) -> bool:
    """Whether a predicate, or the memory of one, is a built-in datatype, or says what a literal is."""
    return name.startswith(_ABOUT_LITERALS) or _signature(name) in _DATATYPES


def _signature(memory: str) -> str:
    """The predicate that a memory is about, by its name.

    >>> _signature("speed/2 in [15]")
    'speed/2'
    """
    return memory.partition(" ")[0]


def _rank(memory: MemoryUse) -> int:
    """Where a memory stands in the table: what comes from outside, then what follows, then what serves both."""
    kinds = set(memory.kinds)
    if kinds & {"fed", "background"}:
        return 0
    return 2 if kinds & {"run", "counter", "clock"} else 1


def _listed(members: Iterable[object]) -> str:
    return ", ".join(map(str, members)) or "–"
