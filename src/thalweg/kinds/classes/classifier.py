"""Events become the classes of their individuals; those that look alike are decided once.

    <obs7> :observedProperty <road1> ; :hasValue "0.031"^^xsd:double       and the same of <obs8> and 0.044

have one signature: individuals of the event's own are renamed, in an order that does not depend on their names;
those of the background stay as they are; a literal is its cell (`owl/dl/data_ranges.py`), and its number among the
equal ones of the event where equality can matter. A signature describes an event up to the names of its own, so no
two events that could be decided differently share one; that two which look alike have two signatures only costs time.
What is not in the cache of decisions is asked of the ladder (`ladder.py`).

A `Classifier` keeps nothing between two ticks but that cache. The buckets of a run in one process share the background.
"""

from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from threading import Lock
from time import perf_counter
from typing import Any, ClassVar, Final, Generic, TypeVar

from thalweg.answers.event_answers import UndecidedEvents
from thalweg.dataflow.context import Context
from thalweg.dataflow.exchange import GATHER, Exchange
from thalweg.dataflow.operator import OpSpec
from thalweg.diagnostics import Diagnostic
from thalweg.ir.annotate_terms import SUPPLIED
from thalweg.kinds.classes.ladder import (
    SELECTION,
    UNDECIDED,
    Decision,
    EventFacts,
    EventSelection,
    Key,
    Ladder,
    way_out,
)
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram, Facts
from thalweg.languages.owl.dl.data_ranges import value
from thalweg.languages.owl.dl.datatypes_of import expected_kinds
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.literals import parts
from thalweg.model.predicate import Predicate
from thalweg.model.term import is_literal
from thalweg.model.vocabulary import DIFFERENT_FROM, SAME_AS, THING
from thalweg.solvers.dl.normal_form import FormGrowth

T = TypeVar("T")

INCONSISTENT: Final = "inconsistent"


class ClassifierSpec(OpSpec):
    """An operator that classifies events: they come with all their facts, but for what is only about terms."""

    keeps_events: ClassVar[bool] = True
    whole_events: ClassVar[bool] = True

    def routes(self, signature: Predicate) -> tuple[tuple[int, Exchange], ...]:
        return () if signature in SUPPLIED else ((0, GATHER),)


@dataclass(frozen=True, slots=True)
class ClassifiedEvent:
    """An event: the name of its graph, its facts as words, why it was `rejected`, individuals with their classes."""

    graph: str
    facts: list[tuple[str, tuple[int, ...]]]
    rejected: str = ""
    classes: Sequence[tuple[str, str]] = ()


class Classifier:
    """Classifies events; classes at the places that are `hidden` are left out. `now` is the last tick."""

    def __init__(
        self,
        ladder: Ladder,
        report: Callable[[Diagnostic], None],
        dictionary: Dictionary,
        hidden: frozenset[int] = frozenset(),
    ) -> None:
        self.now: int | None = None
        self.dictionary = dictionary
        self._datatypes = Datatypes(expected_kinds(ladder.program.axioms), ladder.program.form.roles, report)
        self._signatures = Signatures(ladder.program, dictionary.spell, self._datatypes.look)
        self.decisions = Decisions(ladder, self._signatures)
        self.counts: Counter[str] = Counter()
        self.examples: dict[str, str] = {}
        self.reasons: Counter[str] = Counter()
        self._labels = {place: wanted.label for place, wanted in enumerate(ladder.program.asked) if place not in hidden}

    def classified(self, tick: int, batches: Iterable[Batch]) -> Iterator[ClassifiedEvent]:
        """The events of a tick with their classes."""
        self.now = tick
        for batch in batches:
            for graph, rows in batch.events():
                facts = [(signature.name, words) for signature, words in rows if 0 < signature.arity < 3]
                if facts:
                    yield self.classify(graph, facts)

    def classify(self, graph: str, facts: list[tuple[str, tuple[int, ...]]]) -> ClassifiedEvent:
        """An event of a graph with its classes."""
        self.counts["events"] += 1
        decision, subjects = self.decisions.decide(facts)
        if decision.classes is None:
            self.counts[INCONSISTENT] += 1
            return ClassifiedEvent(graph, facts, INCONSISTENT)
        if decision.by == SELECTION:
            self.counts["dropped"] += 1
            return ClassifiedEvent(graph, facts)
        if decision.by == UNDECIDED:
            self.counts[UNDECIDED] += 1
            self.examples.setdefault(decision.reason, graph)
            self.reasons[decision.reason] += 1
            return ClassifiedEvent(graph, facts, UNDECIDED)
        spell, labels = self.dictionary.spell, self._labels
        classes = [
            (labels[place], spell(subject))  # type: ignore[arg-type]
            for subject, places in zip(subjects, decision.classes, strict=True)
            for place in places
            if place in labels
        ]
        return ClassifiedEvent(graph, facts, classes=classes)

    def grow(self, program: AbstractionProgram, growth: FormGrowth) -> None:
        """Goes on with a program that has a class more; all is decided anew."""
        self.decisions.ladder.grow(program, growth)
        self.decisions.forget()
        self._signatures.renew(program)
        self._datatypes.expect(expected_kinds(program.axioms[-1:]))
        self._labels[len(program.asked) - 1] = program.asked[-1].label

    def forget(self) -> None:
        """The words of terms may get another meaning."""
        self._signatures.forget()

    def summary(self) -> Iterator[Diagnostic]:
        """The events that were not decided, one warning for each reason."""
        return (events.warning() for events in self.undecided())

    def undecided(self) -> Iterator[UndecidedEvents]:
        """The events that were not decided, by their reasons."""
        for reason, count in self.reasons.items():
            yield UndecidedEvents(reason, count, self.examples[reason], way_out(reason))

    def start_counting(self) -> None:
        """Forgets what was done so far; of what is known, nothing."""
        for counts in (self.counts, self.reasons, self.examples, self.decisions.by, self.decisions.ladder.seconds):
            counts.clear()
        self.decisions.hits = self.decisions.misses = 0

    def account(self) -> dict[str, object]:
        """The counts of events and decisions, for the report."""
        ladder = self.decisions.ladder
        return {
            "events": self.counts["events"],
            "dropped": self.counts["dropped"],
            "inconsistent": self.counts[INCONSISTENT],
            "undecided": self.counts[UNDECIDED],
            "hits": self.decisions.hits,
            "misses": self.decisions.misses,
            "decided": dict(sorted(self.decisions.by.items())),
            "seconds": {by: round(seconds, 6) for by, seconds in sorted(ladder.seconds.items())},
        }


class Datatypes:
    """Warns once for each property whose numbers have another datatype than all ranges that the ontology has for it.

    And once for each of the `roles`, the object properties, that has a literal.
    """

    def __init__(
        self, expected: dict[str, frozenset[str]], roles: Iterable[str], report: Callable[[Diagnostic], None]
    ) -> None:
        self._expected = expected
        self._roles = set(roles)
        self._report = report

    def expect(self, kinds: Mapping[str, frozenset[str]]) -> None:
        """Properties have more ranges, of these kinds of values."""
        for property, more in kinds.items():
            self._expected[property] = self._expected.get(property, frozenset()) | more

    def look(self, property: str, literal: str) -> None:
        """Looks at a literal of a property."""
        if property in self._roles:
            self._roles.remove(property)
            self._report(_literal_of_role(property, literal))
        expected = self._expected.get(property)
        if not expected:
            return
        datatype = parts(literal)[1]
        kind = _KINDS.get(datatype.rpartition("#")[2].rstrip(">"))
        if kind is None or kind in expected or expected.isdisjoint(_KINDS.values()):
            return
        del self._expected[property]
        ranges = " and ".join(f"xsd:{name}" for name in sorted(expected))
        message = (
            f"`{property}` has the value `{literal}`, an xsd:{kind}, but the ontology's ranges for it are of {ranges}: "
            "no such value is in them"
        )
        target = min(expected)
        help_ = f'write values as `"0.5"^^xsd:{target}`, or ranges as `xsd:{kind}[…]`: OWL 2 keeps datatypes apart'
        self._report(Diagnostic("W704", message, help=help_))


def _literal_of_role(property: str, literal: str) -> Diagnostic:
    message = (
        f"`{property}` has the value `{literal}`, but the ontology has axioms about it as an object property: "
        "they do not apply to literals"
    )
    help_ = (
        f"declare it in the ontology: `{property} a owl:DatatypeProperty`, or `Declaration(DataProperty({property}))`"
    )
    return Diagnostic("W705", message, help=help_)


_KINDS: Final = {"decimal": "decimal", "integer": "decimal", "double": "double", "float": "float"}


# Decisions by signature ----------------------------------------------------------------------------------------------

Handle = Hashable
"""The form of a term in a stream: the term itself, or its word in a dictionary."""
Given = tuple[str, tuple[Handle, ...]]
"""A fact: its predicate, and one or two handles."""

CLASS: Final = 0
EDGE: Final = 1
LITERAL: Final = 2
EQUAL: Final = 3
DIFFERENT: Final = 4
MOST_KEPT: Final = 100_000
MOST_CODES: Final = 65_536

_Coded = tuple[int, Handle, Handle | None, int]
# The only individual of an event's own; others are numbered downwards from here.
_OWN: Final = -2
# There is no value, or it is a literal.
_NOTHING: Final = -1


class Decisions:
    """Decides events, those with one signature once; the oldest decisions are dropped where there are too many.

    The subjects of an event are classified, and its objects where the program says `all`.

    `selects`: events that have no class asked for are found before the ladder; by default where classes were chosen.

    >>> from thalweg.languages.owl import axioms as ax
    >>> from thalweg.languages.owl.dl.abstraction_program import compile_abstraction
    >>> program = compile_abstraction("x", ax.Ontology((ax.SubClassOf("<B>", "<A>"),)))
    >>> decisions = Decisions(Ladder(program), Signatures(program))
    >>> for one in ("<x>", "<y>"):
    ...     found, subjects = decisions.decide([("<B>", (one,))])
    ...     print(found.classes, subjects)
    ((0, 1),) ['<x>']
    ((0, 1),) ['<y>']
    >>> decisions.hits, decisions.misses
    (1, 1)
    """

    def __init__(
        self, ladder: Ladder, signatures: "Signatures", most: int = MOST_KEPT, selects: bool | None = None
    ) -> None:
        self.ladder = ladder
        self.signatures = signatures
        self.hits = 0
        self.misses = 0
        self.by: dict[str, int] = {}
        self._most = most
        self._known: dict[Hashable, Decision] = {}
        self._selects = ladder.program.chosen if selects is None else selects

    @property
    def size(self) -> int:
        """How many decisions are kept."""
        return len(self._known)

    def forget(self) -> None:
        """Decides all events anew, and selects none beforehand: a selection is made for some classes."""
        self._known.clear()
        self._selects = False
        vars(self).pop("selection", None)

    @cached_property
    def selection(self) -> EventSelection | None:
        """What drops events before the ladder; made when the first event needs it."""
        return EventSelection(self.ladder, self.signatures.numbers) if self._selects else None

    def decide(self, facts: Sequence[Given]) -> tuple[Decision, Sequence[Handle]]:
        """The decision about an event, and the individuals that it classifies in the order of the decision."""
        if self.ladder.program.individuals == "all":
            facts = self.signatures.with_objects(facts)
        key, subjects = self.signatures.signature(facts)
        decision = self._known.get(key)
        if decision is not None:
            self.hits += 1
            return decision, subjects
        self.misses += 1
        decision = self._decide(key, subjects, facts)
        self.by[decision.by] = self.by.get(decision.by, 0) + 1
        if len(self._known) >= self._most:
            del self._known[next(iter(self._known))]
        self._known[key] = decision
        return decision, subjects

    def _decide(self, key: Key, subjects: Sequence[Handle], facts: Sequence[Given]) -> Decision:
        before = perf_counter()
        if self.selection and self.selection.drops(key, partial(self.signatures.event, subjects, facts)):
            self.ladder.seconds[SELECTION] += perf_counter() - before
            return Decision(((),) * len(subjects), SELECTION)
        return self.ladder.decide(self.signatures.event(subjects, facts))


class Signatures:
    """Makes signatures of events. `spell` gives the term of a handle; handles keep their meaning until `forget`.

    `watch` sees the predicate and the term of each literal that is looked at closely, or is passed over.
    """

    def __init__(
        self,
        program: AbstractionProgram,
        spell: Callable[[Any], str] = str,
        watch: Callable[[str, str], None] = lambda predicate, literal: None,
    ) -> None:
        self._program = program
        self._spell = spell
        self._watch = watch
        form = program.form
        pairs = [*((name, EDGE) for name in form.roles), *((name, LITERAL) for name in form.data)]
        pairs += [(SAME_AS, EQUAL), (DIFFERENT_FROM, DIFFERENT)]
        # A class and a property may have the same name.
        self.names = (*form.classes, *(name for name, _ in pairs))
        self.kinds = (*[CLASS] * len(form.classes), *(kind for _, kind in pairs))
        self._classes = {name: place for place, name in enumerate(form.classes)}
        self._pairs = {name: place for place, (name, _) in enumerate(pairs, len(form.classes))}
        # A property may be of both kinds: then its values say which.
        edges = {name: place for place, (name, kind) in enumerate(pairs, len(form.classes)) if kind == EDGE}
        self._edges = {self._pairs[name]: place for name, place in edges.items() if self._pairs[name] != place}
        self.numbers = {individual: number for number, individual in enumerate(sorted(program.fixed))}
        self._cells: dict[object, int] = {}
        # Individuals of the background by handle, None for others; literals by predicate and handle.
        self._individuals: dict[Handle, int | None] = {}
        self._literals: dict[tuple[int, Handle], int | None] = {}
        self._passed_over: set[str] = set()

    def forget(self) -> None:
        """Handles may get another meaning; never in the midst of an event, which looks at its own several times."""
        self._individuals.clear()
        self._literals.clear()

    def renew(self, program: AbstractionProgram) -> None:
        """Goes on with a program that tells more literals apart, and is about the same names and individuals."""
        self._program = program
        self._cells.clear()
        self.forget()

    def signature(self, facts: Sequence[Given]) -> tuple[Key, Sequence[Handle]]:
        """The signature, and the subjects in the order that it gives them."""
        if len(self._individuals) >= MOST_CODES or len(self._literals) >= MOST_CODES:
            self.forget()
        if self._program.has_keys:
            return self._of_several(facts)
        individuals, literals, kinds = self._individuals, self._literals, self.kinds
        classes, pairs = self._classes, self._pairs
        subjects: dict[Handle, int] = {}
        key: list[tuple[int, int, int, int]] = []
        own: Handle | None = None
        values = 0
        for name, handles in facts:
            subject = handles[0]
            subject_code = subjects.get(subject)
            if subject_code is None:
                code = individuals[subject] if subject in individuals else self._code(subject)
                # A text is an individual where it is a subject.
                if code is None or code == _NOTHING:
                    if own is not None and own != subject:
                        return self._of_several(facts)
                    own, code = subject, _OWN
                subjects[subject] = subject_code = code
            if len(handles) == 1:
                predicate = classes.get(name)
                if predicate is not None:
                    key.append((predicate, subject_code, _NOTHING, 0))
                continue
            predicate = pairs.get(name)
            if predicate is None:
                continue
            target = handles[1]
            if kinds[predicate] == LITERAL:
                place = predicate, target
                cell = literals[place] if place in literals else self._cell(predicate, target)
                if cell is not None:
                    values += 1
                    key.append((predicate, subject_code, _NOTHING, cell))
                    continue
                predicate = self._edges.get(predicate)
                if predicate is None:
                    continue
            code = individuals[target] if target in individuals else self._code(target)
            if code is None:
                if own is not None and own != target:
                    return self._of_several(facts)
                own, code = target, _OWN
            if code != _NOTHING:
                key.append((predicate, subject_code, code, 0))
            elif name not in self._passed_over:
                self._pass_over(name, target)
        key.sort()
        ranked = list(subjects) if len(subjects) == 1 else sorted(subjects, key=subjects.__getitem__)
        about = tuple([subjects[handle] for handle in ranked])
        if values < 2 or not self._program.compares_values:
            return (tuple(key), about), ranked
        names = {} if own is None else {own: _OWN}
        return (tuple(key), about, *self._equal(facts, names)), ranked

    def with_objects(self, facts: Sequence[Given]) -> list[Given]:
        """The facts, and that each object which is an individual is a thing: so it is a subject, too."""
        subjects = {handles[0] for _, handles in facts}
        objects = dict.fromkeys(handles[1] for _, handles in facts if len(handles) == 2)
        individuals = (
            individual for individual in objects if individual not in subjects and self._named(individual) != _NOTHING
        )
        return [*facts, *((THING, (individual,)) for individual in individuals)]

    def _of_several(self, facts: Sequence[Given]) -> tuple[Key, Sequence[Handle]]:
        """The signature and the subjects of an event with several individuals of its own."""
        individuals, coded = self._individuals, self._coded(facts)
        subjects = dict.fromkeys(handles[0] for _, handles in facts)
        own = dict.fromkeys(handle for handle in subjects if self._named(handle) in (None, _NOTHING))
        own |= dict.fromkeys(target for _, _, target, _ in coded if target is not None and self._named(target) is None)
        names = self._order(own, coded)
        key = sorted(
            (predicate, _name(subject, names, individuals), _value(target, names, individuals), cell)
            for predicate, subject, target, cell in coded
        )
        ranked = sorted(subjects, key=lambda handle: _name(handle, names, individuals))
        about = tuple(_name(handle, names, individuals) for handle in ranked)
        if self._program.has_keys:
            # Keys are about individuals with a name only.
            about += tuple(sorted(names[handle] for handle in own if self._spell(handle)[0] == "_"))
        equal = self._equal(facts, names) if self._program.compares_values else ()
        return (tuple(key), about, *equal), ranked

    def _coded(self, facts: Sequence[Given]) -> list[_Coded]:
        """The facts that can matter: number of the predicate, subject, value, and the cell of a literal."""
        coded: list[_Coded] = []
        for name, handles in facts:
            predicate = (self._classes if len(handles) == 1 else self._pairs).get(name)
            if predicate is None:
                continue
            if len(handles) == 1:
                coded.append((predicate, handles[0], None, 0))
            elif self.kinds[predicate] == LITERAL:
                place = predicate, handles[1]
                cell = self._literals[place] if place in self._literals else self._cell(*place)
                if cell is not None:
                    coded.append((predicate, handles[0], None, cell))
                elif predicate in self._edges:
                    coded.append((self._edges[predicate], handles[0], handles[1], 0))
            elif self._named(handles[1]) != _NOTHING:
                coded.append((predicate, handles[0], handles[1], 0))
            elif name not in self._passed_over:
                self._pass_over(name, handles[1])
        return coded

    def _named(self, handle: Handle) -> int | None:
        return self._individuals[handle] if handle in self._individuals else self._code(handle)

    def _order(self, own: dict[Handle, None], coded: Sequence[_Coded]) -> dict[Handle, int]:
        """Numbers for the event's own individuals, from -2 downwards, by what is said of them."""
        if len(own) <= 1:
            return dict.fromkeys(own, _OWN)
        individuals = self._individuals
        ranks: dict[Handle, int] = dict.fromkeys(own, _OWN)
        for _ in range(len(own)):
            statements: dict[Handle, list[tuple[int, ...]]] = {handle: [] for handle in own}
            for predicate, subject, target, cell in coded:
                if subject in statements:
                    other = cell if target is None else _name(target, ranks, individuals)
                    statements[subject].append((predicate, 0, target is None, other))
                if target is not None and target in statements:
                    statements[target].append((predicate, 1, 0, _name(subject, ranks, individuals)))
            described = {handle: (ranks[handle], *sorted(statements[handle])) for handle in own}
            order = {text: _OWN - place for place, text in enumerate(sorted(set(described.values())))}
            settled = len(order) == len(set(ranks.values()))
            ranks = {handle: order[described[handle]] for handle in own}
            if settled or len(order) == len(own):
                break
        # Those that nothing distinguishes stay in the order in which they came.
        ranked = sorted(own, key=lambda handle: -ranks[handle])
        return {handle: _OWN - place for place, handle in enumerate(ranked)}

    def _equal(self, facts: Sequence[Given], names: dict[Handle, int]) -> tuple[Hashable, ...]:
        """Which literals are equal: the cell, the predicate and the subject of each, and the number of its value."""
        literals = []
        for name, handles in facts:
            predicate = self._pairs.get(name) if len(handles) == 2 else None
            if predicate is not None and self.kinds[predicate] == LITERAL:
                cell = self._literals.get((predicate, handles[1]))
                if cell is not None:
                    literals.append((cell, predicate, *handles))
        if len(literals) < 2:
            return ()
        rows = [
            (cell, predicate, _name(subject, names, self._individuals), value(self._spell(literal)))
            for cell, predicate, subject, literal in literals
        ]
        numbers: dict[Any, int] = {}
        return tuple((*row[:3], numbers.setdefault(row[3], len(numbers))) for row in sorted(rows))

    def _code(self, handle: Handle) -> int | None:
        """The number of an individual of the background; None for another one, `_NOTHING` for a literal."""
        term = self._spell(handle)
        code = self.numbers.get(term, _NOTHING if is_literal(term) else None)
        self._individuals[handle] = code
        return code

    def _cell(self, predicate: int, handle: Handle) -> int | None:
        """The number of a literal's cell; None where it is no literal."""
        term = self._spell(handle)
        cell = None
        if is_literal(term):
            self._watch(self.names[predicate], term)
            cell = self._cells.setdefault(self._program.cell(term), len(self._cells))
        self._literals[predicate, handle] = cell
        return cell

    def _pass_over(self, name: str, handle: Handle) -> None:
        """A literal stands where an individual is expected: it cannot matter. It is shown once for each property."""
        self._passed_over.add(name)
        self._watch(name, self._spell(handle))

    def event(self, subjects: Sequence[Handle], facts: Iterable[Given]) -> EventFacts:
        """The facts of an event that can matter as terms, for the ladder."""
        spell, same = self._spell, self._program.same
        by_kind: list[list[tuple[str, ...]]] = [[], [], [], [], []]
        for name, handles in facts:
            predicate = (self._classes if len(handles) == 1 else self._pairs).get(name)
            if predicate is None:
                continue
            terms = [spell(handle) for handle in handles]
            if predicate in self._edges and not is_literal(terms[1]):
                predicate = self._edges[predicate]
            kind = self.kinds[predicate]
            if len(terms) == 1 or is_literal(terms[1]) == (kind == LITERAL):
                by_kind[kind].append((self.names[predicate], *(same.get(term, term) for term in terms)))
        classes, edges, literals, equal, different = by_kind
        stated = Facts(tuple(classes), tuple(edges), tuple(literals))  # type: ignore[arg-type]
        pairs = (tuple((individual, other) for _, individual, other in pairs) for pairs in (equal, different))
        return EventFacts(tuple(map(spell, subjects)), stated, *pairs)


def _name(handle: Handle, names: dict[Handle, int], individuals: dict[Handle, int | None]) -> int:
    code = names[handle] if handle in names else individuals[handle]
    assert code is not None
    return code


def _value(handle: Handle | None, names: dict[Handle, int], individuals: dict[Handle, int | None]) -> int:
    return _NOTHING if handle is None else _name(handle, names, individuals)


# In buckets ----------------------------------------------------------------------------------------------------------

# A process works for one run; a session that is used again may have a second one while the first is let go.
_MOST_RUNS: Final = 2


class OncePerRun(Generic[T]):
    """Values that all buckets of a run share in a process, made by the first that needs them.

    A run without a name shares nothing.

    >>> values = OncePerRun[list[int]]()
    >>> values.of("run", lambda: [1]) is values.of("run", lambda: [2])
    True
    """

    def __init__(self) -> None:
        self._values: OrderedDict[str, T] = OrderedDict()
        self._lock = Lock()

    def of(self, run: str, make: Callable[[], T]) -> T:
        """The value of a run."""
        if not run:
            return make()
        with self._lock:
            if run not in self._values:
                self._values[run] = make()
                if len(self._values) > _MOST_RUNS:
                    self._values.popitem(last=False)
            return self._values[run]


@dataclass(frozen=True)
class ClosedBackground:
    """What decides events, and the lock of the bucket that adds an event to it and takes it back.

    `hidden` has the places of classes that are not shown, because everything is in them.
    """

    ladder: Ladder
    hidden: frozenset[int]
    lock: Lock = field(default_factory=Lock)


_CLOSED: Final = OncePerRun[ClosedBackground]()


def closed_background(run: str, program: AbstractionProgram) -> ClosedBackground:
    """The closed background of a run in this process; it was checked before that nothing contradicts."""

    def close() -> ClosedBackground:
        ladder = Ladder(program, program.reasoner)
        return ClosedBackground(ladder, ladder.hidden())

    return _CLOSED.of(run, close)


class BucketClassifier(Classifier):
    """Classifies the events of a bucket."""

    def __init__(self, program: AbstractionProgram, context: Context, dictionary: Dictionary) -> None:
        closed = closed_background(context.run, program)
        super().__init__(closed.ladder, context.report, dictionary, closed.hidden)
        self.lock = closed.lock
        self._listen = context.listen

    def report(self, over: bool, account: bool = False) -> None:
        """Reports what was done since the last time: which events could not be decided, and the `account`."""
        if self.now is None or not (over or self.counts):
            return
        with self.lock:
            if account:
                self._listen(None, self.account())
            for events in self.undecided():
                self._listen(None, events)
            self.start_counting()
