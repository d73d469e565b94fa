"""An explanation as text, for a terminal of a hundred columns."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from textwrap import wrap
from typing import TYPE_CHECKING, Final

from thalweg.model.literals import DATATYPES
from thalweg.model.predicate import Predicate, with_files
from thalweg.model.prefixes import NO_PREFIXES, Prefixes
from thalweg.model.rdf import XSD
from thalweg.model.time import FOREVER, NEVER
from thalweg.model.vocabulary import PREFIXES

if TYPE_CHECKING:
    from thalweg.explain.plan import ExplainedRule, Explanation, Memory, Reading
    from thalweg.explain.stages import Arrival, ExplainedStage

WIDTH: Final = 100
_LAST: Final = 13
# A string may look like anything inside, so it is matched whole.
_IRI: Final = re.compile(r'"(?:[^"\\]|\\.)*"|<[A-Za-z][\w+.-]*:[^<>\s]*?([^<>\s/#:]+)[/#]?>')
_DATATYPES: Final = frozenset(Predicate(name, 1) for name in DATATYPES)
_ABOUT_LITERALS: Final = (f"<{XSD}", "'literal/")
_BEFORE: Final = {"positive": "", "negated": "not ", "aggregated": "aggregate "}
TIGHT: Final = "\N{NO-BREAK SPACE}"
"""A space that a line does not break at."""


def as_text(explanation: "Explanation", prefixes: Prefixes = NO_PREFIXES) -> str:
    """Section by section, without what rules about datatypes alone do.

    >>> from thalweg.ir.nodes import Atom, Now, Program, Rule
    >>> from thalweg.explain.plan import explain
    >>> print(as_text(explain(Program((Rule(Atom("a"), (Now(Atom("p")),)),)))).splitlines()[0])
    1 rule in 1 stratum; 1 atom is answered by 1 memory, 0 of them shared
    """
    return "\n".join(_Text(explanation, prefixes).lines())


def kept(memory: "Memory") -> str:
    """How many ticks a memory keeps its rows."""
    if "background" in memory.kinds and memory.fed_for is not None:
        return f"{memory.fed_for}, for ever"
    if memory.kept >= FOREVER:
        return "no limit" if memory.taken_back else "for ever"
    if memory.kept == NEVER:
        return "never filled"
    exactly = set(memory.kinds) <= {"fed", "run", "clock"}
    return f"{'' if exactly else '≤ '}{memory.kept}"


def arrives(stage: "ExplainedStage", arrival: "Arrival") -> str:
    """How facts come into a stage, to be put behind their signature."""
    place = f" by argument {arrival.argument}" if arrival.argument else " to every bucket" if stage.split else ""
    return (
        f"{'' if arrival.stage is None else f' of stage {arrival.stage}'}{place}{', merged' if arrival.merged else ''}"
    )


OF_OWL: Final = Prefixes.of(PREFIXES)
"""The prefixes of RDF and OWL, and of its datatypes."""


def briefly(texts: Iterable[str], prefixes: Prefixes = NO_PREFIXES) -> Callable[[str], str]:
    """Shortens IRIs by their prefixes, and others to `:name`, except where two of the texts' would end up the same.

    >>> brief = briefly(["<http://a.org/x#jam>/1"], Prefixes((("ex", "http://example.org/"),)))
    >>> brief("<http://a.org/x#jam>(R)"), brief("<http://example.org/jam>(R)")
    (':jam(R)', 'ex:jam(R)')
    """
    meant = defaultdict(set)
    for text in texts:
        for found in _IRI.finditer(prefixes.shorten(with_files(text))):
            meant[found[1]].add(found[0])
    shorten = lambda iri: f":{iri[1]}" if iri[1] and len(meant[iri[1]]) == 1 else iri[0]  # noqa: E731
    return lambda text: _IRI.sub(shorten, prefixes.shorten(with_files(text)))


class _Text:
    def __init__(self, explanation: "Explanation", prefixes: Prefixes) -> None:
        self.explanation = explanation
        self.brief = briefly(explanation.texts, prefixes)
        self.hidden = frozenset(rule.number for rule in explanation.rules if self.is_built_in(rule))
        shown = [rule for rule in explanation.rules if rule.number not in self.hidden]
        self.touched = {rule.head for rule in shown} | {
            _signature(explanation.memories[reading.memory].name)
            for reading in explanation.readings
            if reading.rule not in self.hidden
        }

    def is_built_in(self, rule: "ExplainedRule") -> bool:
        """Whether a rule is about datatypes alone: what each of them has to do with the others."""
        memories = (self.explanation.memories[each.memory].name for each in self.explanation.reads(rule))
        return _is_datatype(rule.head) and all(map(_is_datatype, memories))

    def is_shown(self, name: str) -> bool:
        """Whether the rules that are shown have to do with a predicate, or it is not a datatype."""
        return not _is_datatype(name) or _signature(name) in self.touched

    def lines(self) -> Iterator[str]:
        yield self.summary()
        sections = (
            ("STRATA", self.strata()),
            ("RULES", self.rules()),
            ("MEMORIES", self.memories()),
            ("TUPLE WINDOWS", self.tuple_windows()),
            ("TICKS", self.ticks()),
            ("STAGES", self.stages()),
            ("WARNINGS", self.warnings()),
        )
        for title, found in sections:
            body = [line.replace(TIGHT, " ").rstrip() for line in found]
            if body:
                yield from ("", title, *body)

    def summary(self) -> str:
        it = self.explanation
        rules, strata = count(len(it.rules), "rule"), count(len(it.strata), "stratum", "strata")
        atoms = count(len(it.readings), "atom is", "atoms are")
        memories = count(len(it.answering), "memory", "memories")
        return f"{rules} in {strata}; {atoms} answered by {memories}, {len(it.shared)} of them shared"

    def strata(self) -> Iterator[str]:
        for level, signatures in enumerate(self.explanation.strata):
            shown = ", ".join(filter(self.is_shown, signatures))
            yield from _wrapped(self.brief(shown), f"  {level}  ", "     ")

    def rules(self) -> Iterator[str]:
        for rule in self.explanation.rules:
            if rule.number in self.hidden:
                continue
            yield from _wrapped(self.brief(rule.text), f"{rule.number:>3}  ", "       ")
            yield from self.entries("at", [", ".join(filter(None, (rule.place, f"stratum {rule.stratum}")))])
            yield from self.entries("reads", map(self.read, self.explanation.reads(rule)))
            yield from self.entries("groups", rule.aggregates)
            yield from self.entries("joins", (_chain((join.start, *join.steps)) for join in rule.joins))
        if self.hidden:
            yield f"     {count(len(self.hidden), 'rule')} about datatypes alone: `--format json` has them"

    def read(self, reading: "Reading") -> str:
        others = [number for number in self.explanation.sharing(reading) if number not in self.hidden]
        shared = f", shared with {'rule' if len(others) == 1 else 'rules'} {_listed(others)}" if others else ""
        return f"{_BEFORE[reading.role]}{self.explanation.memories[reading.memory].name}{shared}"

    def entries(self, label: str, entries: Iterable[str]) -> Iterator[str]:
        start = f"     {label:<7}"
        for entry in entries:
            yield from _wrapped(self.brief(entry), start, " " * 14)
            start = " " * 12

    def memories(self) -> Iterator[str]:
        rows = [("memory", "filled", "ticks kept", "taken back by", "read by")]
        known = (memory for memory in self.explanation.memories if "always" not in memory.kinds)
        shown = [memory for memory in known if self.is_shown(memory.name)]
        for memory in sorted(shown, key=lambda memory: (_rank(memory), memory.stratum)):
            reading = (one for one in self.explanation.readers[memory.number] if one.rule not in self.hidden)
            readers = (f"{_BEFORE[each.role]}{each.rule}" for each in reading)
            name, kinds = self.brief(memory.name), ", ".join(memory.kinds)
            rows.append((name, kinds, kept(memory), _listed(memory.taken_back), _listed(dict.fromkeys(readers))))
            if memory.copied_from:
                rows.append((f"  ← {self.brief(', '.join(memory.copied_from))}", "", "", "", ""))
        return _table(rows) if shown else iter(())

    def tuple_windows(self) -> Iterator[str]:
        for counted in self.explanation.tuple_windows:
            whole = "the whole input" if counted.stream is None else f"the stream {counted.stream}"
            sentence = f"{counted.window} counts the facts of {whole} and keeps {_listed(counted.keeps)}"
            if counted.by_key:
                sentence = (
                    f"{counted.window} counts the facts of {_listed(counted.keeps)} in {whole}, for each key alone"
                )
            yield from _wrapped(self.brief(sentence), "  ", "    ")

    def ticks(self) -> Iterator[str]:
        if not self.explanation.every_tick:
            yield "  those with input are looked at, and those at which something ends"
        for cause, needed in self.explanation.every_tick:
            sentence = f"every one is looked at because of {cause}, for {_listed(needed)}"
            yield from _wrapped(self.brief(sentence), "  ", "    ")

    def stages(self) -> Iterator[str]:
        for stage in self.explanation.stages or ():
            buckets = count(stage.partitions, "bucket") + (f", because {stage.why}" if stage.why else "")
            yield from _wrapped(self.brief(buckets), f"{stage.number:>3}  ", "       ")
            beside = [f"stage {number}" for number in stage.beside]
            yield from self.entries("beside", [", ".join(beside)] if beside else [])
            rules = (f"{number}{'' if key is None else f' by {key}'}" for number, key in stage.rules)
            yield from self.entries("rules", [_chain(rules, ", ")] if stage.rules else [])
            reads = [f"{each.signature}{arrives(stage, each)}" for each in stage.arrivals]
            yield from self.entries("reads", reads + ["all other facts, to count them"] * stage.counts_everything)
            yield from self.entries("output", [", ".join(stage.outputs)] if stage.outputs else [])

    def warnings(self) -> Iterator[str]:
        for warning in self.explanation.warnings:
            yield from (f"  {line}" for line in warning.render().splitlines())


def _is_datatype(name: str) -> bool:
    """Whether a predicate, or the memory of one, is a built-in datatype, or says what a literal is."""
    return name.startswith(_ABOUT_LITERALS) or _signature(name) in _DATATYPES


def _signature(memory: str) -> str:
    """The predicate that a memory is about, by its name.

    >>> _signature("speed/2 in [15]")
    'speed/2'
    """
    return memory.partition(" ")[0]


def _rank(memory: "Memory") -> int:
    """Where a memory stands in the table: what comes from outside, then what follows, then what serves both."""
    kinds = set(memory.kinds)
    if kinds & {"fed", "background"}:
        return 0
    return 2 if kinds & {"run", "counter", "clock"} else 1


def _table(rows: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Columns as wide as they need; the first one gives way, the last one goes on below itself."""
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:-1]]
    widths[0] = min(widths[0], max(16, WIDTH - sum(widths[1:]) - 2 * (len(widths) + 1) - _LAST))
    for *cells, last in rows:
        columns = zip(cells, widths, strict=True)
        start = "  " + "".join(_cut(cell, width).ljust(width + 2) for cell, width in columns)
        yield from _wrapped(last.replace(" ", TIGHT).replace(f",{TIGHT}", ", "), start, " " * len(start))


def _wrapped(text: str, first: str, rest: str) -> list[str]:
    """Lines that break between words, and nowhere else, however long a word is."""
    lines = wrap(
        text,
        max(WIDTH, len(first) + 12),
        initial_indent=first,
        subsequent_indent=rest,
        break_on_hyphens=False,
        break_long_words=False,
    )
    return lines or [first]


def _chain(steps: Iterable[str], link: str = f" →{TIGHT}") -> str:
    """Steps that lines break between, and not within unless they are too long for one."""
    return link.join(step.replace(" ", TIGHT) if len(step) < WIDTH - 20 else step for step in steps)


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def count(number: int, one: str, many: str = "") -> str:
    """A number of things.

    >>> count(1, "rule"), count(2_000, "rule"), count(2, "memory", "memories")
    ('1 rule', '2000 rules', '2 memories')
    """
    return f"{number} {one if number == 1 else many or one + 's'}"


def _listed(things: Iterable[object]) -> str:
    return ", ".join(map(str, things)) or "–"
