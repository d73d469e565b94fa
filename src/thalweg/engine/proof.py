"""Why a fact holds: one derivation, rebuilt on demand from the rows that live.

The engine keeps no derivations. A goal is a row; the rules that may derive it are run backwards from it over the rows
that live now, the answer with the latest horizon first, and their premises become goals. A premise that is already
being proved higher up proves nothing, so the next answer is tried: what is shown never argues in a circle.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from thalweg.engine.equality import of_hub
from thalweg.engine.search import Row, Search
from thalweg.explain.proof_text import proof_text
from thalweg.ir.nodes import (
    Aggregate,
    Atom,
    Call,
    Comparison,
    Constant,
    Expression,
    Formula,
    Not,
    Operation,
    Rule,
    Variable,
    names,
)
from thalweg.ir.rewrite import substitute
from thalweg.ir.text import show
from thalweg.model.explanation import Explanation
from thalweg.model.fact import Fact
from thalweg.model.functions import call, holds
from thalweg.model.number import COMPARISONS, NO_VALUE, OPERATORS, calculate, is_of_kind
from thalweg.model.predicate import with_files
from thalweg.model.rdf import RDF_TYPE
from thalweg.model.time import AS_TICKS, FOREVER, TimeFormat
from thalweg.model.triples import ANY_TRIPLE, TRIPLES
from thalweg.model.values import number_of
from thalweg.planning.rule_plan import PlanRule, Relation, RelationAtom

if TYPE_CHECKING:
    from thalweg.engine.engine import PlanEngine

Words = tuple[int, ...]
Goal = tuple[int, Words]
Binding = dict[str, int]
_SHOWN = 12


@dataclass(frozen=True, slots=True)
class Proof(Explanation):
    """A step of a derivation: what holds, until when, by which rule, because of what.

    `until` is the last tick for which it is guaranteed (None: for ever). What rests on something absent is guaranteed
    now only; `unless` names what would end it before `until`.
    """

    claim: str
    until: int | None
    kind: str
    rule: str = ""
    place: str = ""
    because: tuple["Proof", ...] = ()
    times: TimeFormat = field(default=AS_TICKS, compare=False, repr=False)

    @property
    def unless(self) -> tuple[str, ...]:
        """What would end it early: something absent that comes, or something newer."""
        match self.kind:
            case "absent":
                return (self.claim.removeprefix("not "),)
            case "aggregate":
                return ("an element comes",)
            case "counted":
                return ("newer facts push it out",)
            case "recorded" if self.until is None:
                return (f"{self.claim.partition(' before [')[0].partition(' in [')[0]} ends",)
            case "answer set":
                return ("another window closes",)
        return tuple(dict.fromkeys(name for step in self.because for name in step.unless))

    def render(self, indent: str = "", times: TimeFormat = AS_TICKS) -> str:
        """The lines that a person reads."""
        return proof_text(self.as_data(times), indent)

    def _claimed(self, times: TimeFormat) -> str:
        """The claim; behind what came or was recorded stands the tick of it."""
        came = self.kind in ("stream", "counted", "recorded", "event")
        return with_files(times.at_end(self.claim) if came else self.claim)

    def as_data(self, times: TimeFormat = AS_TICKS) -> dict[str, object]:
        """The same content as JSON-compatible data."""
        until = None if self.until is None else times.data(self.until)
        data: dict[str, object] = {"claim": self._claimed(times), "kind": self.kind, "until": until}
        if self.unless and self.kind != "absent":
            data["unless"] = list(self.unless)
        if self.rule:
            data["rule"] = self.rule
        if self.place:
            data["place"] = self.place
        if self.because:
            data["because"] = [step.as_data(times) for step in self.because]
        return data


Imported = Callable[[Fact], Proof | None]
"""Why a fact holds that another part of the plan derives."""


def why(engine: "PlanEngine", fact: Fact, imported: Imported = lambda fact: None) -> Proof | None:
    """A derivation of a fact that holds now, or None where it does not hold."""
    local = engine.plan.memories.get(f"{fact.signature} derived") if fact.signature.file is not None else None
    target = row_of(engine, fact, engine.plan.outputs.get(fact.signature) or local)
    if target is None or engine.now is None:
        return None
    relation, words = target
    prover = Prover(engine, Search(engine), imported)
    return prover.prove((relation.number, words), str(fact)) or prover.by_equals(relation, words, fact)


def row_of(engine: "PlanEngine", fact: Fact, relation: Relation | None) -> tuple[Relation, Words] | None:
    """The row of a fact in its relation; without one, as rules over triples know it."""
    args = fact.terms
    if relation is None and len(args) in (1, 2):
        relation = engine.plan.outputs.get(TRIPLES)
        args = (args[0], fact.predicate, args[1]) if len(args) == 2 else (args[0], RDF_TYPE, fact.predicate)
    return None if relation is None else (relation, tuple(map(engine.dictionary.code, args)))


@dataclass(slots=True)
class Prover:
    """Runs rules backwards from rows that hold."""

    engine: "PlanEngine"
    search: Search
    imported: Imported
    pending: set[Goal] = field(default_factory=set)

    # Goals ----------------------------------------------------------------------------------------------------------

    def prove(self, goal: Goal, claim: str) -> Proof | None:
        row = self.search.find(*goal)
        if row is None or goal in self.pending:
            return None
        horizon = row.horizon
        self.pending.add(goal)
        proof = self.by_link(goal, claim) or self.by_rule(goal, claim, horizon) or self.by_count(goal, claim, horizon)
        self.pending.discard(goal)
        return proof or self.given(goal, claim, horizon)

    def given(self, goal: Goal, claim: str, horizon: int) -> Proof | None:
        """A row that no rule derives: it came from a stream or is background."""
        plan = self.engine.plan
        relation, row = goal
        for (signature, _), feeds in plan.feeds.items():
            for feed in feeds:
                if feed.relation.number == relation:
                    if signature in plan.program.hints.input_copies:
                        args = tuple(map(self.engine.dictionary.spell, row))
                        claim = f"{plan.copies.origin(signature, args)} in [{feed.size}]"
                    if horizon >= FOREVER and feed.size < FOREVER:
                        return Proof(claim, None, "background")
                    timed = feed.kind.startswith("timed")
                    came = claim if timed else f"{claim} at {horizon - feed.size}"
                    return Proof(came, last_tick(horizon), "stream")
                if feed.target is not None and feed.target.number == relation:
                    return self.by_run(feed.relation.number, row, claim, horizon)
        if any(relation == memory.number for memory in plan.counted):
            return Proof(f"{claim} at {row[-1] >> 2}", None, "counted")
        if any(relation == memory.number for memory, _ in plan.background):
            return Proof(claim, None, "background")
        for (signature, timed), memory in plan.imports.items():
            if memory.number == relation:
                args = tuple(map(self.engine.dictionary.spell, row))
                proof = self.imported(Fact(signature.name, args[:-1] if timed else args))
                return proof and replace(proof, claim=claim)
        return self.by_record(goal, claim, horizon) or self.by_group(goal, claim)

    def by_record(self, goal: Goal, claim: str, horizon: int) -> Proof | None:
        """What was derived at an earlier tick, with the last one of them."""
        relation, row = goal
        for recording in self.engine.plan.recordings:
            if recording.target.number == relation:
                assert self.engine.now is not None
                if recording.kind == "streak" or len(row) > recording.signature.arity:
                    return Proof(claim, last_tick(horizon), "recorded")
                last = min(horizon - recording.size, self.engine.now - 1)
                return Proof(f"{claim} at {last}", last_tick(horizon), "recorded")
        return None

    def by_run(self, relation: int, row: Words, claim: str, horizon: int) -> Proof:
        """`always` over what is streamed: it came at every tick of a run."""
        if horizon >= FOREVER:
            return Proof(claim, None, "background")
        run = self.search.find(relation, row)
        assert run is not None
        ticks = range(self.search.word(run, len(row)), horizon + 1)
        atom = claim.partition(" always")[0]
        shown = [Proof(f"{atom} at {tick}", horizon, "stream") for tick in (*ticks[:1], *ticks[1:][-1:])]
        if len(ticks) > len(shown):
            shown.insert(1, Proof(f"… and at each of the {len(ticks) - 2} ticks between", horizon, "stream"))
        return Proof(claim, horizon, "every tick", because=tuple(shown))

    def by_count(self, goal: Goal, claim: str, horizon: int) -> Proof | None:
        """`always` over what is derived: every tick of the window is there; the last one is shown."""
        relation, row = goal
        for count in self.engine.plan.counts:
            if count.target.number == relation:
                ticks = self.search.matching(count.source.number, tuple(range(len(row))), row)
                if ticks:
                    last = max((tick.words for tick in ticks), key=lambda words: words[-1])
                    shown = self.prove(
                        (count.source.number, last), f"{claim.partition(' always')[0]} at {last[-1] >> 2}"
                    )
                    return Proof(claim, last_tick(horizon), "every tick", because=(shown,) if shown else ())
        return None

    def by_group(self, goal: Goal, claim: str) -> Proof | None:
        """The value of an aggregate, because of its elements."""
        relation, row = goal
        for grouping in self.engine.plan.groupings:
            if grouping.value.number == relation:
                key = row[: grouping.width]
                elements = self.search.matching(grouping.elements.number, tuple(range(grouping.width)), key)
                spell = self.engine.dictionary.spell
                value = f"{grouping.function} = {spell(row[-1])} of {len(elements)}"
                shown = [
                    self.prove(
                        (grouping.elements.number, words), f"element {','.join(map(spell, words[grouping.width :]))}"
                    )
                    for words in sorted(element.words for element in elements)[:_SHOWN]
                ]
                end = min(element.horizon for element in elements)
                return Proof(value, last_tick(end), "aggregate", because=tuple(step for step in shown if step))
        return None

    def by_link(self, goal: Goal, claim: str) -> Proof | None:
        """That something has a representative, because of the pairs that lead to it."""
        links = self.engine.plan.representative
        if links is None or goal[0] != links.number:
            return None
        member, representative = goal[1]
        return self.by_way(member, representative, claim)

    def by_way(self, first: int, second: int, claim: str) -> Proof | None:
        """That two things are equal, because pairs lead from one to the other; those without a proof are left out."""
        equals = self.engine.equals
        without: set[tuple[int, int]] = set()
        while equals is not None and (way := equals.classes.way(first, second, without)):
            steps = [self.by_edge(pair) for pair in way]
            proved = [step for step in steps if step is not None]
            if len(proved) == len(steps):
                pairs = list(self.without_hubs(way, proved))
                return pairs[0] if len(pairs) == 1 else Proof(claim, _earliest(pairs), "equal", because=tuple(pairs))
            lost = (pair for pair, step in zip(way, steps, strict=True) if step is None)
            without |= {edge for pair in lost for edge in (pair, pair[::-1])}
        return None

    def without_hubs(self, way: list[tuple[int, int]], steps: list[Proof]) -> Iterator[Proof]:
        """The steps from word to word: two that meet in a hub are one."""
        walk = iter(zip(way, steps, strict=True))
        for (start, end), step in walk:
            if end >= 0:
                yield step
            else:
                (_, end), other = next(walk)
                because = tuple(dict.fromkeys((*step.because, *other.because)))
                claim = self.spelled_pair((start, end))
                yield replace(step, claim=claim, until=_earliest((step, other)), because=because)

    def by_edge(self, pair: tuple[int, int]) -> Proof | None:
        """That two things are equal, because of a rule; what is stated is shown as it is."""
        edges, alike = self.engine.plan.same_pairs, self.engine.plan.same_keys
        if alike is not None and min(pair) < 0:
            return self.prove((alike.number, (*of_hub(min(pair)), max(pair))), "")
        claim = self.spelled_pair(pair)
        for way in (pair, pair[::-1]):
            proof = None if edges is None else self.prove((edges.number, way), claim)
            if proof is not None:
                return self.as_stated(proof) if len(proof.because) == 1 else proof
        return None

    def as_stated(self, proof: Proof) -> Proof:
        (stated,) = proof.because
        return replace(stated, claim=f"{self.same}{stated.claim[stated.claim.index('(') :]}")

    def spelled_pair(self, pair: tuple[int, int]) -> str:
        return f"{self.same}({','.join(map(self.engine.dictionary.spell, pair))})"

    @property
    def same(self) -> str:
        """The name of the predicate for equality."""
        equality = self.engine.program.equality
        return equality.representative.name if equality else ""

    def by_equals(self, relation: Relation, words: Words, fact: Fact) -> Proof | None:
        """A fact about things that others stand for: what holds of those holds of them."""
        equals, links = self.engine.equals, self.engine.plan.representative
        if equals is None or links is None:
            return None
        if relation == links:
            return self.by_way(words[0], words[1], str(fact))
        homes = tuple(map(equals.classes.home, words))
        spell = self.engine.dictionary.spell
        holds = self.prove((relation.number, homes), str(Fact(fact.predicate, tuple(map(spell, homes)))))
        moved = [pair for pair in zip(words, homes, strict=True) if pair[0] != pair[1]]
        steps = [holds, *(self.by_way(*pair, self.spelled_pair(pair)) for pair in moved)]
        proved = tuple(step for step in steps if step is not None)
        return Proof(str(fact), _earliest(proved), "equal", because=proved) if len(proved) == len(steps) > 1 else None

    def by_rule(self, goal: Goal, claim: str, horizon: int) -> Proof | None:
        relation, row = goal
        for rule in self.engine.plan.rules:
            if rule.head.relation.number != relation:
                continue
            answers = sorted(self.answers(rule, row), key=lambda answer: -answer[1])
            for binding, until in answers:
                proof = self.from_answer(rule, binding, claim, min(until, horizon))
                if proof is not None:
                    return proof
        return None

    def from_answer(self, rule: PlanRule, binding: Binding, claim: str, horizon: int) -> Proof | None:
        terms = self.terms(binding)
        formulas = {} if rule.origin is None else formulas_of(rule)
        steps: list[Proof] = []
        for atom in rule.positive:
            if atom.relation.name.startswith(("true", "clock", "first tick", "hop of", "ticks of")):
                continue
            goal = (atom.relation.number, self.words(atom.args, binding))
            shown = show(substitute(formulas[id(atom)], terms)) if formulas else claim
            proof = self.prove(goal, shown)
            if proof is None:
                return None
            # What planning made up to bind groups of an aggregate is not a step that a reader knows.
            steps += proof.because if proof.kind == "element" and rule.origin is not None else (proof,)
        if rule.origin is None:
            # A copy into a memory is not a step that a reader knows: its source is shown instead, within its horizon.
            only = steps[0]
            until = horizon if only.until is None else min(horizon, only.until)
            return Proof(only.claim, last_tick(until), only.kind, only.rule, only.place, only.because)
        negated = [self.as_read(literal.formula) for literal in rule.origin.body if isinstance(literal, Not)]
        steps += [Proof(f"not {show(substitute(formula, terms))}", self.engine.now, "absent") for formula in negated]
        ends = [step.until for step in steps if step.until is not None and step.kind != "absent"]
        end = last_tick(min(horizon, *ends, FOREVER))
        if rule.origin.head.predicate.startswith("'") and rule.origin.head.predicate != ANY_TRIPLE:
            # A rule that planning made up: the reader knows its premises only.
            return Proof(claim, end, "element", because=tuple(steps))
        return Proof(claim, end, "rule", *as_written(rule.origin), because=tuple(steps))

    def as_read(self, formula: Formula) -> Formula:
        """The formula that a reader knows, where planning made up a predicate for it: `not r(D,_) in [5]`."""
        origins = [rule.origin for rule in self.engine.plan.rules if rule.origin is not None]
        while formula.atom.predicate.startswith("'"):
            defining = [origin for origin in origins if origin.head.signature == formula.atom.signature]
            if len(defining) != 1 or len(defining[0].body) != 1 or not isinstance(defining[0].body[0], Formula):
                break
            # The head of such a rule has the variables of the formula that it stands for, by the same names.
            formula = defining[0].body[0]
        return formula

    # Running a rule backwards -----------------------------------------------------------------------------------------

    def answers(self, rule: PlanRule, row: Words) -> Iterator[tuple[Binding, int]]:
        """Every way in which a rule derives a row now, with its horizon."""
        start = self.start(rule, row)
        if start is None:
            return
        assert rule.backwards is not None
        for binding, horizon in self.join(rule, rule.backwards.steps, start, FOREVER):
            if self.words(rule.head.args, binding) == row:
                yield binding, horizon

    def start(self, rule: PlanRule, row: Words) -> Binding | None:
        """What a row says about the variables of a rule; None where the head cannot be that row."""
        bound = names_in(*rule.positive)
        start: Binding = {}
        for arg, word in zip(rule.head.args, row, strict=True):
            if isinstance(arg, Constant) and self.engine.dictionary.code(arg.term) != word:
                return None
            if isinstance(arg, Variable) and arg.name in bound and start.setdefault(arg.name, word) != word:
                return None
        return start

    def join(
        self, rule: PlanRule, steps: tuple[RelationAtom | Comparison, ...], binding: Binding, horizon: int
    ) -> Iterator[tuple[Binding, int]]:
        if not steps:
            yield binding, horizon
            return
        step, remaining = steps[0], steps[1:]
        if isinstance(step, Comparison):
            bound = self.compare(step, rule.binds.get(id(step)), binding)
            if bound is not None:
                yield from self.join(rule, remaining, bound, horizon)
        elif any(step is atom for atom in rule.negative):
            if self.search.find(step.relation.number, self.words(step.args, binding)) is None:
                yield from self.join(rule, remaining, binding, horizon)
        else:
            rows = self.search.matching(step.relation.number, *self.known(step, binding))
            for extension, row in extended(step, binding, rows):
                yield from self.join(rule, remaining, extension, min(horizon, row.horizon))

    def known(self, atom: RelationAtom, binding: Binding) -> tuple[Words, Words]:
        """The columns of an atom whose values are known, and the values."""
        columns = tuple(column for column, arg in enumerate(atom.args) if names_in(arg) <= binding.keys())
        return columns, self.words(tuple(atom.args[column] for column in columns), binding)

    def compare(self, test: Comparison, bound: str | None, binding: Binding) -> Binding | None:
        if bound is not None:
            other = test.right if test.left == Variable(bound) else test.left
            word = self.value(other, binding)
            return None if word == NO_VALUE else binding | {bound: word}
        left, right = self.value(test.left, binding), self.value(test.right, binding)
        if NO_VALUE in (left, right):
            return None
        if test.operator == "is":
            return binding if is_of_kind(COMPARISONS[test.test], left) else None
        operator, spell = test.operator.removeprefix("not "), self.engine.dictionary.spell
        return binding if holds(operator, spell(left), spell(right)) == (operator == test.operator) else None

    def terms(self, binding: Binding) -> dict[str, str]:
        return {name: self.engine.dictionary.spell(word) for name, word in binding.items()}

    def words(self, args: tuple[Expression, ...], binding: Binding) -> Words:
        return tuple(self.value(arg, binding) for arg in args)

    def value(self, expression: Expression, binding: Binding) -> int:
        match expression:
            case Variable(name):
                return binding[name]
            case Constant(term):
                return self.engine.dictionary.code(term)
            case Operation(operator, left, right):
                return calculate(OPERATORS[operator], self.number(left, binding), self.number(right, binding))
            case Call(function, args):
                words = self.words(args, binding)
                if NO_VALUE in words:
                    return NO_VALUE
                result = call(function, tuple(map(self.engine.dictionary.spell, words)), self.engine.memo.calendar)
                return NO_VALUE if result is None else self.engine.dictionary.code(result)

    def number(self, expression: Expression, binding: Binding) -> int:
        word = self.value(expression, binding)
        value = None if word == NO_VALUE else number_of(self.engine.dictionary.spell(word))
        return NO_VALUE if value is None else value


def formulas_of(rule: PlanRule) -> dict[int, Formula]:
    """For each atom of a rule, by its `id`, the formula that it stands for."""
    assert rule.origin is not None
    positive = [literal for literal in rule.origin.body if not isinstance(literal, Not | Comparison | Aggregate)]
    negative = [literal.formula for literal in rule.origin.body if isinstance(literal, Not)]
    # A rule without positive formulas has an atom for them that stands for none.
    atoms = (*(rule.positive if positive else ()), *rule.negative)
    return {id(atom): formula for atom, formula in zip(atoms, (*positive, *negative), strict=True)}


def extended(atom: Atom | RelationAtom, binding: Binding, rows: Iterable[Row]) -> Iterator[tuple[Binding, Row]]:
    """What rows that an atom may be bind, besides what is bound already; a tick behind its arguments binds nothing."""
    for row in rows:
        extended = dict(binding)
        if all(
            extended.setdefault(arg.name, word) == word
            for arg, word in zip(atom.args, row.words, strict=False)
            if isinstance(arg, Variable)
        ):
            yield extended, row


def names_in(*nodes: RelationAtom | Comparison | Expression) -> frozenset[str]:
    """The variables of atoms, comparisons and expressions."""
    parts = (node.args if isinstance(node, RelationAtom) else (node,) for node in nodes)
    return names(*(part for group in parts for part in group))


def _earliest(steps: Iterable[Proof]) -> int | None:
    """The last tick until which all steps hold."""
    return min((step.until for step in steps if step.until is not None), default=None)


def last_tick(horizon: int) -> int | None:
    """The last tick for which a row is guaranteed; None where that is for ever."""
    return None if horizon >= FOREVER else horizon


def as_written(rule: Rule) -> tuple[str, str]:
    """The text of a rule and its place; a rule without a source is printed."""
    source = rule.span.source
    if not source.name:
        return show(rule), ""
    line, column = source.position(rule.span.start)
    return " ".join(source.text[rule.span.start : rule.span.end].split()), f"{source.name}:{line}:{column}"
