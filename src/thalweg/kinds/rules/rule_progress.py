"""W314: at the end of a run, how far each rule got whose predicate was never concluded.

    rule 3: `room(D,r1)` never came
    rule 4: `V > 1200`: 4,031 readings, largest 980
    rule 5: `temp(D,V)` and `room(D,R)` never had the same D
    rule 6: `hot/1` was never derived (rule 4)

The premises are taken in the order in which they are written, and the first that can be said to have failed is named.
Only what is certain is said: times and windows are left out of account, so of a rule with facts of all premises, at
whatever time, it is said only that it did not hold. Of one whose head has a time (`p(X) at T-3`) it is said only which
premise failed: what follows at another tick than now is not seen among the answers.
"""

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from thalweg.answers.record import OF_FACTS, Answer
from thalweg.diagnostics import NOWHERE, Diagnostic, Span
from thalweg.ir.dependency import formulas
from thalweg.ir.nodes import (
    Aggregate,
    Always,
    At,
    Comparison,
    Constant,
    Formula,
    InWindow,
    Literal,
    Not,
    Now,
    PastWindow,
    Program,
    Rule,
    Variable,
    is_anonymous,
)
from thalweg.ir.text import show
from thalweg.kinds.rules.premise_facts import (
    Condition,
    PremiseColumn,
    PremiseFacts,
    PremiseLookout,
    PremiseNote,
    PremisePattern,
)
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate, with_files
from thalweg.model.shipped import Shipped
from thalweg.model.similar import nearest
from thalweg.model.values import number_of, text_of
from thalweg.planning.check_unmatched import Inputs

_MOST: Final = 10
_MIRRORED: Final = {"<": ">", "<=": ">=", ">": "<", ">=": "<=", "=": "="}
_EXTREME: Final = {"<": "smallest", ">": "largest"}
_OF_NOTHING: Final = ("count", "sum")


@dataclass(frozen=True, slots=True)
class _Failure:
    """What kept a rule from holding: in words, where it is written, and the predicate that was missing."""

    message: str
    span: Span
    missing: Predicate | None = None
    help: str = ""


@dataclass(slots=True)
class _Watched:
    """A rule, and what is kept of its premises."""

    rule: Rule
    number: int
    conditions: dict[int, Condition] = field(default_factory=dict)
    joins: list[tuple[Formula, Formula, str, PremiseColumn, PremiseColumn]] = field(default_factory=list)


class RuleProgress:
    """Sees what comes and what is concluded, and says at the end how far rules got that concluded nothing.

    >>> from thalweg.ir.nodes import Atom, Now
    >>> from thalweg.diagnostics import Source
    >>> span = Span(Source("x.lars", "hot(V) :- temp(V), V > 30."), 0, 26)
    >>> above = Comparison(">", Variable("V"), Constant("30"))
    >>> rule = Rule(Atom("hot", (Variable("V"),)), (Now(Atom("temp", (Variable("V"),))), above), span=span)
    >>> progress, words = RuleProgress(Program((rule,))), Dictionary()
    >>> progress.look(words)(Batch({Predicate("temp", 1): [words.code("20"), words.code("21")]}))
    >>> [diagnostic.message for diagnostic in progress.summary()]
    ['rule 1: `V > 30`: 2 readings, largest 21']
    """

    def __init__(self, program: Program) -> None:
        self._program = program
        self._derived, self._outputs = program.derived, program.outputs
        # A fact that begins and ends before now is in no answer.
        self._seen = self._outputs - {rule.head.signature for rule in program.rules if rule.time is not None}
        self._imports = {name for name, _ in program.interface.imports}
        self._background: dict[Predicate, list[Fact]] = {}
        for fact in program.background:
            self._background.setdefault(fact.signature, []).append(fact)
        self._facts: dict[PremisePattern, PremiseFacts] = {}
        self._came: set[Predicate] = set()
        self._pending = {rule.head.signature for rule in program.rules} & self._outputs
        self._heads: dict[str, list[Predicate]] = {}
        for head in self._pending:
            self._heads.setdefault(head.name, []).append(head)
        self._is_partial = False
        self._is_scouted = False
        numbers: dict[str, int] = {}
        self._rules: list[_Watched] = []
        for rule in program.rules:
            numbers[rule.span.source.name] = numbers.get(rule.span.source.name, 0) + 1
            self._rules.append(self._watched(rule, numbers[rule.span.source.name]))
        self._several = len({watched.rule.span.source.name for watched in self._rules}) > 1
        self._open: dict[Predicate, list[PremiseFacts]] = {}
        for facts in self._facts.values():
            self._open.setdefault(facts.pattern.signature, []).append(facts)

    # What is looked at ----------------------------------------------------------------------------------------------

    def _watched(self, rule: Rule, number: int) -> _Watched:
        watched = _Watched(rule, number)
        places: dict[str, list[tuple[Formula, int]]] = {}
        for formula, settled in formulas(rule.body):
            if self._is_from_outside(formula.atom.signature):
                self._facts_of(formula)
                for place, arg in enumerate(formula.atom.args if not settled else ()):
                    if isinstance(arg, Variable) and not is_anonymous(arg.name):
                        places.setdefault(arg.name, []).append((formula, place))
        for literal in rule.body:
            if isinstance(literal, Comparison):
                self._watch_condition(watched, literal, places)
        for name, users in places.items():
            for (left, place), (right, other) in _pairs(users):
                first, second = self._facts_of(left).column(place), self._facts_of(right).column(other)
                # `temp(D,V), temp(D,W) in [5]` read the same column, which has its values in common with itself.
                if first is not second:
                    first.partners.append(second)
                    second.partners.append(first)
                    watched.joins.append((left, right, name, first, second))
        return watched

    def _watch_condition(
        self, watched: _Watched, comparison: Comparison, places: dict[str, list[tuple[Formula, int]]]
    ) -> None:
        """A comparison of a value that comes from outside with a constant is looked at from now on."""
        left, right, operator = comparison.left, comparison.right, comparison.operator
        if isinstance(left, Constant):
            left, right, operator = right, left, _MIRRORED.get(operator, "")
        if not isinstance(left, Variable) or not isinstance(right, Constant) or left.name not in places:
            return
        is_plain = number_of(right.term) is not None or (operator == "=" and text_of(right.term) is not None)
        if operator in _MIRRORED and is_plain:
            formula, place = places[left.name][0]
            watched.conditions[id(comparison)] = self._facts_of(formula).condition(place, operator, right.term)

    def _is_from_outside(self, signature: Predicate) -> bool:
        """Whether all facts of a predicate come from streams and the background, and are seen."""
        return signature not in self._derived and signature not in self._imports and _is_written(signature)

    def _facts_of(self, formula: Formula) -> PremiseFacts:
        args = formula.atom.args
        constants = tuple((place, arg.term) for place, arg in enumerate(args) if isinstance(arg, Constant))
        variables = [(arg.name, place) for place, arg in enumerate(args) if isinstance(arg, Variable)]
        firsts = {name: place for name, place in reversed(variables) if not is_anonymous(name)}
        equal = tuple((firsts[name], place) for name, place in variables if firsts.get(name, place) != place)
        pattern = PremisePattern(formula.atom.signature, formula.stream, constants, equal)
        return self._facts.setdefault(pattern, PremiseFacts(pattern))

    # What happens ---------------------------------------------------------------------------------------------------

    def look(self, words: Dictionary) -> Callable[[Batch], None]:
        """Returns a function that looks at batches whose terms have these words."""
        for facts in self._facts.values():
            if background := self._background.get(facts.pattern.signature):
                facts.know(background, words)

        def look(batch: Batch) -> None:
            self._came.update(batch.rows)
            if self._is_scouted:
                return
            for signature in batch.rows.keys() & self._open.keys():
                for facts in self._open[signature]:
                    facts.look(batch, words)
                left = [facts for facts in self._open[signature] if not facts.is_settled]
                self._open[signature] = left
                if not left:
                    del self._open[signature]

        return look

    def scout(self) -> "ProgressScout":
        """What looks at facts elsewhere; from now on `look` takes note of predicates only."""
        self._is_scouted = True
        return ProgressScout(replace(self._program, background=()))

    def lookout(self, words: Dictionary) -> PremiseLookout:
        """What looks at facts for another one of the same rules."""
        return PremiseLookout([*self._facts.values()], words)

    def hear(self, note: object) -> bool:
        """Takes what a lookout has seen."""
        if not isinstance(note, tuple) or not all(isinstance(seen, PremiseNote) for seen in note):
            return False
        for facts, seen in zip(self._facts.values(), note, strict=True):
            facts.hear(seen)
        return True

    def see(self, answer: Answer) -> Answer:
        """Sees what is concluded."""
        if answer.kind in OF_FACTS:
            self._is_partial |= bool(answer.shed)
            self._pending -= self._concluded(answer.columns[0])
        if not self._pending:
            self._open.clear()
        return answer

    def _concluded(self, facts: Sequence[str]) -> set[Predicate]:
        """The pending predicates of facts, which are in order; a few facts are not compared with all names."""
        if len(facts) < len(self._pending):
            return {head for fact in facts for head in self._heads.get(_name(fact), ()) if _has((fact,), head)}
        return {name for name in self._pending if _has(facts, name)}

    # What is said ---------------------------------------------------------------------------------------------------

    def summary(self, reported: frozenset[Predicate] = frozenset()) -> Iterator[Diagnostic]:
        """A warning for each rule of a predicate without conclusions, unless it lacks a predicate that was `said`."""
        if self._is_partial:
            return
        failures = [
            (watched, failure)
            for watched in self._rules
            if self._is_silent(watched.rule.head.signature) and _is_readable(watched.rule)
            for failure in (self._failure(watched) or self._apart(watched.rule),)
            if failure is not None and failure.missing not in reported
        ]
        for watched, failure in failures[:_MOST]:
            where = f" of {watched.rule.span.source.name}" if self._several else ""
            message = with_files(f"rule {watched.number}{where}: {failure.message}")
            yield Diagnostic("W314", message, failure.span, failure.help)
        if len(failures) > _MOST:
            more = len(failures) - _MOST
            yield Diagnostic("W314", f"{more:,} more rule{'s' * (more > 1)} never held")

    def _is_silent(self, signature: Predicate) -> bool:
        """Whether nothing was concluded of a predicate: of one that is not output, as far as others wait for it."""
        is_hidden = bool(self._pending) and signature not in self._outputs and signature not in self._possible
        return signature in self._pending or (is_hidden and _is_written(signature.public))

    @cached_property
    def _by_head(self) -> dict[Predicate, list[_Watched]]:
        rules: dict[Predicate, list[_Watched]] = {}
        for watched in self._rules:
            rules.setdefault(watched.rule.head.signature, []).append(watched)
        return rules

    @cached_property
    def _possible(self) -> frozenset[Predicate]:
        """The predicates that were concluded, or that may have been, for all that is known."""
        possible = {head for head in self._derived & self._outputs if head not in self._pending}
        waiting = [watched for watched in self._rules if watched.rule.head.signature not in self._seen]
        readers: dict[Predicate, list[_Watched]] = {}
        for watched in waiting:
            for formula, _ in formulas(watched.rule.body):
                readers.setdefault(formula.atom.signature, []).append(watched)
        while waiting:
            watched = waiting.pop()
            head = watched.rule.head.signature
            if head not in possible and self._failure(watched, possible) is None:
                possible.add(head)
                waiting += readers.get(head, ())
        return frozenset(possible)

    def _failure(self, watched: _Watched, possible: Iterable[Predicate] | None = None) -> _Failure | None:
        """The first premise that can be said to have failed."""
        derived = self._possible if possible is None else possible
        before: list[Formula] = []
        for literal in watched.rule.body:
            failure = self._failed(literal, watched, before, derived)
            if failure is not None:
                return failure
        return None

    def _failed(
        self, literal: Literal, watched: _Watched, before: list[Formula], derived: Iterable[Predicate]
    ) -> _Failure | None:
        match literal:
            case Not():
                return None
            case Comparison():
                condition = watched.conditions.get(id(literal))
                return None if condition is None else _unmet(literal, condition)
            case Aggregate(function=function, body=body):
                # The number of nothing is a number.
                inside = () if function in _OF_NOTHING else body
                return next(filter(None, (self._failed(inner, watched, [], derived) for inner in inside)), None)
        failure = self._missing(literal, watched, derived)
        if failure is None:
            before.append(literal)
            for left, right, name, first, second in watched.joins:
                if right is literal and first.is_apart_from(second) and any(left is premise for premise in before):
                    message = f"`{_text(left)}` and `{_text(right)}` never had the same {name}"
                    return _Failure(message, right.span)
        return failure

    def _missing(self, formula: Formula, watched: _Watched, derived: Iterable[Predicate]) -> _Failure | None:
        signature = formula.atom.signature
        if self._is_from_outside(signature):
            if self._facts_of(formula).has_come:
                return None
            has_facts = signature in self._came or signature in self._background
            message = f"`{_text(formula)}` never came"
            if has_facts:
                return _Failure(f"{message}, though facts of `{signature}` did", formula.span)
            similar = nearest(signature, filter(_is_written, self._came | self._background.keys()))
            return _Failure(message, formula.span, signature, f"did you mean `{similar}`?" if similar else "")
        if signature not in self._derived or signature in self._imports or signature in self._background:
            return None
        if signature in self._came or signature in derived:
            return None
        rules = [other for other in self._by_head[signature] if other is not watched]
        numbers = ", ".join(f"{other.number}" for other in rules if _is_readable(other.rule))
        where = f" (rule{'s' * (len(rules) > 1)} {numbers})" if numbers else ""
        return _Failure(f"`{signature}` was never derived{where}", formula.span)

    def _apart(self, rule: Rule) -> _Failure | None:
        """What is left to say where nothing is known to have failed alone."""
        if rule.time is not None:
            return None
        premises = [literal for literal in rule.body if not isinstance(literal, Not | Comparison | Aggregate)]
        hidden = [premise for premise in premises if self._is_hidden(premise.atom.signature)]
        if hidden:
            names = " and ".join(dict.fromkeys(f"`{premise.atom.signature}`" for premise in hidden))
            message = f"all that streams bring came; whether {names} held as well is not known"
            return _Failure(message, rule.span)
        if all(isinstance(literal, Now) for literal in rule.body) and len(premises) > 1:
            return _Failure("all premises came, but never together", rule.span)
        if len(premises) > 1:
            return _Failure("facts of all premises came, but never so that the rule held", rule.span)
        tests = [literal for literal in rule.body if isinstance(literal, Not | Comparison | Aggregate)]
        conditions = [*_outermost(tests)]
        listed = ", ".join(conditions)
        if not premises:
            return _Failure(f"{listed} never held{' together' * (len(conditions) > 1)}", rule.span)
        when = f"with {listed}" if conditions else "when it was looked for"
        premise = premises[0]
        if isinstance(premise, At | Always) or (
            isinstance(premise, InWindow) and isinstance(premise.window, PastWindow)
        ):
            # Its facts came, but perhaps not at its time.
            message = f"facts of `{premise.atom.signature}` came, but never so that the rule held"
            return _Failure(message, rule.span)
        return _Failure(f"`{_text(premise)}` came, but never {when}", rule.span)

    def _is_hidden(self, signature: Predicate) -> bool:
        """Whether a predicate may have held or not, because nothing that holds of it is seen."""
        if signature in self._imports:
            return True
        return signature in self._derived - self._seen and signature not in self._came


@dataclass(frozen=True)
class ProgressScout(Shipped):
    """Looks at facts for the progress of rules, where they are read."""

    program: Program

    def open(self, words: Dictionary) -> PremiseLookout:
        return RuleProgress(self.program).lookout(words)


def watched_rules(program: Program) -> RuleProgress | None:
    """The progress of the rules of a program; None where an ontology may derive what they read from anything."""
    return None if Inputs(program).has_vocabulary else RuleProgress(program)


def _unmet(comparison: Comparison, condition: Condition) -> _Failure | None:
    if condition.is_met or not condition.readings:
        return None
    count = f"{condition.readings:,} reading{'s' * (condition.readings != 1)}"
    if condition.operator == "=":
        how = f"none is `{condition.term}`"
    elif condition.closest is None:
        how = "none of them a number"
    else:
        how = f"{_EXTREME[condition.operator[0]]} {condition.closest}"
    return _Failure(f"`{_text(comparison)}`: {count}, {how}", comparison.span)


def _pairs(users: list[tuple[Formula, int]]) -> Iterator[tuple[tuple[Formula, int], tuple[Formula, int]]]:
    """The pairs of different formulas that use a variable."""
    for number, right in enumerate(users):
        for left in users[:number]:
            if left[0] is not right[0]:
                yield left, right


def _outermost(literals: Sequence[Literal]) -> Iterator[str]:
    """Literals as they were written, each once; `1 < count{…}` stands for a comparison and an aggregate."""
    spans = [literal.span for literal in literals]
    texts = (_text(literal) for literal in literals if not any(_is_inside(literal.span, span) for span in spans))
    return (f"`{text}`" for text in dict.fromkeys(texts))


def _is_inside(span: Span, other: Span) -> bool:
    return span != other and other.start <= span.start and span.end <= other.end


def _name(fact: str) -> str:
    """The name of the predicate of a fact.

    >>> _name("speed(a,12)"), _name("quiet"), _name("<http://ex.org/a(b)>(c)")
    ('speed', 'quiet', '<http://ex.org/a(b)>')
    """
    return fact[: fact.find(">") + 1] if fact.startswith("<") else fact.partition("(")[0]


def _has(facts: Sequence[str], name: Predicate) -> bool:
    """Whether some of the facts, which are in order, are of a predicate; of an IRI with any number of arguments."""
    text = f"{name.name}(" if name.arity else name.name
    place = bisect_left(facts, text)
    return place < len(facts) and facts[place].startswith(text)


def _is_written(name: Predicate) -> bool:
    """Whether people write it: the predicates of plans have names that cannot be typed."""
    return "'" not in name


def _is_readable(rule: Rule) -> bool:
    return rule.span is not NOWHERE


def _text(node: Literal) -> str:
    """A literal as it was written."""
    span = node.span
    return show(node) if span is NOWHERE else " ".join(span.source.text[span.start : span.end].split())
