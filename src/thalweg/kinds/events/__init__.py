"""The events of a `.tw`: classes of the events of a stream, and patterns over them.

Beside other parts of a plan events are facts, which rules, queries and answer sets read:

    {"t":5,"event":"<High>",…,"individual":"<obs1>"}             <High>(<obs1>) at 5
    {"t":12,"event":"<Jam>",…,"bindings":{"loc":"<loc1>"}}       <Jam>(<id>) and <Jam_loc>(<id>,<loc1>) at 12
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from thalweg.dataflow.context import Context
from thalweg.dataflow.plan import Edge, Expansion
from thalweg.diagnostics import Diagnostic, RejectedError, Source
from thalweg.ir.dependency import formulas
from thalweg.ir.event_names import binding_name
from thalweg.ir.nodes import Atom, Program
from thalweg.ir.pattern_semantics import TripleTerms
from thalweg.ir.patterns import Pattern
from thalweg.kinds.classes import Abstraction
from thalweg.kinds.member import Member, Neighbours
from thalweg.kinds.typed_columns import Inputs, TypedColumns
from thalweg.languages.cascade.event_definitions import CascadeProgram, NamedEvent
from thalweg.languages.options import SplitName
from thalweg.languages.owl import structure
from thalweg.languages.owl.dl.abstraction_program import AbstractionProgram, TargetClass, compile_abstraction
from thalweg.languages.owl.dl.askable_ontology import AskableOntology
from thalweg.languages.owl.dl.manchester import Vocabulary
from thalweg.languages.owl.dl.subscribe import triples_of
from thalweg.languages.rspql.names import DeclaredNames, means_stream, unknown_prefix
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.similar import nearest
from thalweg.planning.stage_patterns import PatternStage, stage_patterns
from thalweg.planning.wire_parts import Ports, resting_on_part

if TYPE_CHECKING:
    from thalweg.answers.answer_columns import AnswerColumns
    from thalweg.dataflow.operator import OpSpec
    from thalweg.explain.document import PlanDocument
    from thalweg.explain.plan_stage import PlanStage
    from thalweg.explain.wired_parts import ExplainedMember
    from thalweg.kinds.definitions import Definition
    from thalweg.kinds.events.added_events import AddedEvent
    from thalweg.kinds.events.unmatched_names import UnmatchedNames


_MOST_NAMED: Final = 6


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What events read of the parts beside them.

    A conclusion of one of the `classes` is an event, `known` are the predicates of its graph. What queries make are the
    events of `streams`.
    """

    classes: frozenset[Predicate] = frozenset()
    known: frozenset[Predicate] = frozenset()
    streams: frozenset[str] = frozenset()
    concluded: frozenset[Predicate] = frozenset()
    """All that other parts conclude of one or two things, whether it is read or not."""


@dataclass(frozen=True)
class EventCascade(Member):
    """Definitions of events, what decides their classes, and the names of those that are output."""

    program: CascadeProgram
    abstraction: AbstractionProgram | None = None
    output: frozenset[str] = frozenset()
    triples: tuple[TripleTerms, ...] = field(default=(), repr=False)
    """The background."""
    beside: Surroundings = Surroundings()
    since: frozenset[tuple[str, int]] = frozenset()
    """The events that began later than the run, and the tick at which they did."""
    added: "tuple[AddedEvent, ...]" = ()
    """Events that were added while it ran: they are output, and no other part of the plan reads them."""

    @property
    def size(self) -> str:
        count = len(self.program.events)
        return f"{count} event{'s' if count != 1 else ''}"

    @property
    def rules(self) -> Program:
        help_ = "pass the name of its file to `thalweg.run`, or use `thalweg run`"
        raise RejectedError([Diagnostic("E402", "events cannot be loaded as rules", help=help_)])

    @property
    def compiles(self) -> bool:
        """Of events only a selection is evaluated by rules."""
        queries = [selection.query for selection in self.program.selections if selection.query is not None]
        if not queries:
            return False
        from thalweg.kinds.queries.choose_evaluator import is_compiled

        return any(map(is_compiled, queries))

    def identity(self, context: Context) -> tuple[str, str]:
        text, fingerprint = self.classifier().identity(context)
        # Clauses look up triples of the background that no class needs.
        looked_up = sha256(repr(sorted(self.triples)).encode()).hexdigest()
        events = "\n".join([*map(repr, (*self.program.events, *self.program.selections)), f"background {looked_up}"])
        return f"{events}\n{text}", sha256(repr((events, fingerprint, sorted(self.output))).encode()).hexdigest()

    def definitions(self, context: Context) -> "tuple[Definition, ...]":
        """Its events, each a unit, and its selection."""
        from thalweg.kinds.events.event_units import event_definitions

        return event_definitions(self)

    def aged(self, since: Mapping[str, int]) -> "EventCascade":
        """The same where some events began later than the run."""
        from thalweg.kinds.events.event_units import event_title

        titles = ((event.name, event_title(event.name)) for event in self.program.events)
        return replace(self, since=frozenset((name, since[title]) for name, title in titles if title in since))

    def answer_columns(self, emit: str) -> "AnswerColumns":
        from thalweg.answers.answer_columns import EventColumns

        return EventColumns()

    def typed_columns(self, emit: str, of: Predicate | None, inputs: Inputs) -> TypedColumns | None:
        """Those of all events, or of one by its name: variables of a pattern have types where the stream says so."""
        from thalweg.answers.answer_columns import MatchColumns, MemberColumns
        from thalweg.kinds.events.binding_types import binding_types, property_types

        if of is None:
            return TypedColumns(self.answer_columns(emit))
        pattern = self.patterns.get(of.name)
        if pattern is None:
            return TypedColumns(MemberColumns(of.name))
        columns = MatchColumns(of.name, tuple(sorted(pattern.bound)))
        # What a CONSTRUCT makes is an event whose triples hold anything.
        streamed = {} if self.beside.streams else inputs
        types = binding_types(pattern, property_types(self.classifier().program, streamed, self.beside.known))
        return TypedColumns(columns, {columns.names[name]: type_ for name, type_ in types.items()})

    def answerable(self, predicate: Predicate) -> frozenset[Predicate] | None:
        """The events that are output."""
        return frozenset(Predicate(name, 1) for name in self.output)

    @property
    def names(self) -> frozenset[str]:
        """The names of all its events."""
        return frozenset(event.name for event in self.program.events)

    @cached_property
    def patterns(self) -> dict[str, Pattern]:
        """The definitions that are patterns, each behind those that it uses."""
        events = self.program.events
        return {event.name: event.definition for event in events if isinstance(event.definition, Pattern)}

    @property
    def is_costly(self) -> bool:
        """Classes of events are worth a shuffle, where there are some; a selection sees many events at once."""
        return self.abstraction is not None and bool(self.program.classes) and not self.program.selections

    def expand(self, context: Context, neighbours: Neighbours | None, partitions: int | None) -> Expansion:
        """Events of streams are classified in all buckets, and patterns are matched in stages, each split by variables
        or in one bucket; beside other parts, events become facts behind them.

        A selection sees many events at once, so it is in one operator with all that rests on it. Patterns beside parts
        that it reads stay in one bucket, unless all is to be split.
        """
        from thalweg.kinds.events.event_stages import ClassifySpec, MatchSpec
        from thalweg.kinds.events.events_operator import EventsSpec

        self._check(context, is_alone=neighbours is None)
        hears_held = neighbours is not None and neighbours.hears_held
        may_split = (partitions or 1) > 1 and not (context.explains or self.program.selections or hears_held)
        if not may_split or not (neighbours is None or self.is_costly):
            return Expansion((EventsSpec(self, None if neighbours is None else neighbours.streams),))
        published = neighbours is not None
        stages = stage_patterns(self.patterns.items())
        may_have_keys = neighbours is None or neighbours.is_alone or context.split == "always"
        keyed = may_have_keys and any(stage.split for stage in stages)
        if published and not may_have_keys:
            return self._beside_others()
        if published and not keyed and stages:
            stages = (PatternStage(1, tuple(self.patterns), (0,), {}),)
        matches = (MatchSpec(self, stage, published, keyed) for stage in stages)
        return self._connected((ClassifySpec(self, published, keyed), *matches), stages, published)

    def _beside_others(self) -> Expansion:
        """Events of streams are classified in all buckets; what other parts give, and patterns, in one."""
        from thalweg.kinds.events.event_stages import ClassifyOthersSpec, ClassifySpec, MatchSpec

        stages = (PatternStage(2, tuple(self.patterns), (0, 1), {}),) if self.patterns else ()
        matches = (MatchSpec(self, stage, published=True) for stage in stages)
        classifying = ClassifySpec(self, published=True, only_streams=True), ClassifyOthersSpec(self)
        return self._connected((*classifying, *matches), stages, published=True)

    def _connected(self, operators: "tuple[OpSpec, ...]", stages: Sequence[PatternStage], published: bool) -> Expansion:
        """Operators with the edges from stage to stage, and to what makes facts of events where they are published."""
        from thalweg.kinds.events.event_stages import PublishSpec, ToClauses, ToPublisher

        edges = [
            Edge(source, stage.number, "records", exchange=ToClauses(self, stage))
            for stage in stages
            for source in stage.reads
        ]
        if not published:
            return Expansion(operators, tuple(edges))
        last = len(operators)
        edges += (Edge(source, last, "records", exchange=ToPublisher()) for source in range(last))
        return Expansion((*operators, PublishSpec(self)), tuple(edges))

    def placements(self, partitions: int) -> "tuple[PlanStage, ...]":
        """How classes, and stages of patterns, are spread over partitions."""
        stages = self.explain(partitions).stages
        assert stages is not None
        return stages

    def looks(self, context: Context, words: Dictionary) -> Iterable[Callable[[Batch], object]]:
        """Beside other parts nothing is said of what streams bring."""
        return ()

    def watch(self, context: Context, partitions: int | None) -> "UnmatchedNames":
        """What sees whether streams bring what classes and clauses are about."""
        from thalweg.kinds.events.unmatched_names import UnmatchedNames

        looked_up = self.program.looked_up
        names = {*self._related(), *self.program.named_classes, *(predicate.name for predicate in looked_up or ())}
        # What takes any name can be about all that comes.
        return UnmatchedNames(names if looked_up is not None else (), self.triples)

    # Beside other parts ---------------------------------------------------------------------------------------------

    @property
    def ports(self) -> Ports:
        """Its events are a stream of facts; it reads conclusions, and hears the streams that queries make."""
        predicates, reads = predicates_given(self.program), self.beside.classes | self.beside.known
        return Ports(
            "the text of events",
            self.program.name,
            reads=reads.__contains__,
            writes=predicates.__contains__,
            hears=self._hears,
            streams=True,
            mentions=predicates | reads,
        )

    def _hears(self, stream: str) -> bool:
        """Whether it reads a stream that another part makes: one that a selection names, or all without a selection."""
        windows = [
            window
            for selection in self.program.selections
            if selection.query is not None
            for window in selection.query.windows
        ]
        if self.program.selections:
            return any(means_stream(window.stream, stream) for window in windows)
        return stream in self.beside.streams

    def readers(self) -> Program:
        """It reads graphs, and not predicates."""
        return Program()

    def explain_member(self) -> "ExplainedMember":
        from thalweg.explain.event_patterns import event_statements
        from thalweg.explain.wired_parts import ExplainedMember

        outputs = tuple(sorted(predicates_given(self.program)))
        name, streams = self.program.name, tuple(sorted(self.beside.streams))
        statements = tuple(event_statements(self.program))
        return ExplainedMember(f"events {name}", name, (), outputs, statements, self.explain(), streams)

    def surrounded(self, rules: Program, ports: Sequence[Ports]) -> "EventCascade":
        """The same beside rules and other parts: it reads what they conclude, and what queries make of streams.

        What rests on its own events is not among what it looks up or hears; where it needs that, the plan is refused.
        """
        above = resting_on_part(rules, [*ports, self.ports], len(ports))
        holders = [(number, port) for number, port in enumerate(ports) if not port.streams]
        named = {name for name, _ in self.program.undefined} | self.program.named_classes
        classes = {Predicate(name, 1) for name in named}
        classes &= rules.derived | {name for name in classes for _, port in holders if port.writes(name)}
        concluded = rules.derived.union(*(port.mentions for number, port in holders if number not in above))
        looked_up, related = self.program.looked_up, self._related()
        read = {
            name
            for name in (concluded | (looked_up or set())) - above
            if 0 < name.arity < 3 and (looked_up is None or name in looked_up or name.name in related)
        }
        making = (port for number, port in enumerate(ports) if port.streams and number not in above)
        streams = (port.name for port in making if not port.gives_rows)
        beside = frozenset(name for name in concluded - above if 0 < name.arity < 3)
        known = frozenset(read if classes else ())
        surroundings = Surroundings(frozenset(classes), known, frozenset(streams), beside)
        return replace(self, beside=surroundings)

    def _related(self) -> Collection[str]:
        """The names that the axioms about its classes have."""
        if self.abstraction is None:
            return ()
        form = self.abstraction.form
        return {*form.classes, *form.roles, *form.data}

    @staticmethod
    def _check(context: Context, is_alone: bool) -> None:
        if is_alone and context.settings.emit != "changes":
            raise RejectedError([Diagnostic("E403", "an event is a point of the output: leave `--emit` out")])
        if context.settings.memory is not None:
            raise RejectedError([Diagnostic("E403", "`--memory` cannot be used with events: leave it out")])

    def classifier(self) -> Abstraction:
        """What decides the classes of events, by the names of these events; the background may be all its axioms."""
        if self.abstraction is None:
            ontology = structure.read(self.triples)
            vocabulary = Vocabulary(ontology, is_open=True)
            definitions = [
                (name, vocabulary.read(definition.text, {}, definition.span.source.name))
                for name, definition in self.program.classes
            ]
            return Abstraction(replace(compile_abstraction("", ontology, definitions), triples=self.triples))
        classes = zip(self.program.classes, self.abstraction.asked, strict=True)
        named = tuple(TargetClass(name, definition.name) for (name, _), definition in classes)
        return Abstraction(replace(self.abstraction, asked=named))

    # Definitions that are added while it runs -------------------------------------------------------------------------

    def names_in_use(self) -> frozenset[str]:
        """The names of its events, and of what other parts conclude."""
        undefined = frozenset(name for name, _ in self.program.undefined)
        return self.names | undefined | {predicate.name for predicate in self.beside.concluded}

    def name_of(self, local: str, sources: Iterable[Source]) -> str:
        """The IRI that a local name has by the default prefix of the program's texts."""
        iri = _declared(sources).iri(f":{local}")
        if iri is None:
            message, help_ = unknown_prefix(f":{local}")
            raise RejectedError([Diagnostic("E103", message, help=f"{help_}, in the text of the program")])
        return iri

    def read_definition(self, local: str, text: str, sources: Iterable[Source]) -> NamedEvent:
        """The event that `AS …` or `MATCH …` defines; `RejectedError` with all that is wrong with it."""
        from thalweg.languages.cascade.read_events import read_definition

        names = _declared(sources)
        name = self.name_of(local, sources)
        event, problems = read_definition(Source(local, text), name, names, self.program.tick_length)
        if event is None or any(problem.severity == "error" for problem in problems):
            raise RejectedError(problems)
        return event

    def with_added(self, definitions: "Sequence[tuple[NamedEvent, int | None]]") -> "EventCascade":
        """The same with events that were added, each with its first tick."""
        from thalweg.kinds.events.added_events import AddedEvent

        return replace(self, added=tuple(AddedEvent(event, first) for event, first in definitions))

    def askable(self) -> AskableOntology:
        """Its ontology, for classes that are added while it runs."""
        triples = self.triples if self.abstraction is None else self.abstraction.triples
        return AskableOntology(triples, self.abstraction, self.beside.classes | self.beside.known)

    def contradictions(self) -> list[Diagnostic]:
        """What contradicts the ontology, which events can never happen, and which ones a selection loses."""
        if self.abstraction is None:
            return _wrong_classes(self)
        diagnostics = Abstraction(self.abstraction).contradictions()
        if diagnostics:
            return diagnostics
        from thalweg.kinds.events.event_checks import impossible_events, lost_events

        diagnostics = list(impossible_events(self.program, self.abstraction))
        if self.program.selections:
            diagnostics += lost_events(self.program, self.classifier().ladder()[0])
        return diagnostics

    def explain(
        self, partitions: int | None = None, published: bool = False, split: SplitName = "auto"
    ) -> "PlanDocument":
        from thalweg.explain.event_patterns import explain_events

        return explain_events(self.program, self.abstraction, self.output, partitions)


def _declared(sources: Iterable[Source]) -> DeclaredNames:
    """The prefixes of the texts of events among some sources."""
    from thalweg.languages.cascade import LANGUAGE
    from thalweg.languages.registry import language_of

    texts = tuple(source.text for source in sources if language_of(source.name) is LANGUAGE)
    return _names_of(texts)


@lru_cache(maxsize=8)
def _names_of(texts: tuple[str, ...]) -> DeclaredNames:
    from thalweg.languages.cascade.read_events import declared_names

    return declared_names(Source("", "\n".join(texts)))


def _wrong_classes(events: EventCascade) -> list[Diagnostic]:
    """What is wrong with classes that are read when a run begins, where there is no ontology."""
    try:
        events.classifier()
    except RejectedError as error:
        return list(error.diagnostics)
    return []


def predicates_given(program: CascadeProgram) -> frozenset[Predicate]:
    """The predicates of the facts that the events of a program are."""
    predicates = {Predicate(event.name, 1) for event in program.events}
    for event in program.events:
        if isinstance(event.definition, Pattern):
            predicates |= {Predicate(binding_name(event.name, name), 2) for name in event.definition.bound}
    return frozenset(predicates)


def cascade_part(
    program: CascadeProgram,
    compiled: Collection[object],
    background: Iterable[Fact],
    names: Collection[str] | None,
) -> EventCascade:
    """The part of definitions; `names` are the events asked for."""
    abstraction = next((unit for unit in compiled if isinstance(unit, AbstractionProgram)), None)
    triples = tuple(triples_of(background)) if abstraction is None else abstraction.triples
    return EventCascade(program, abstraction, frozenset(names) if names else program.top, triples)


def undefined(
    program: CascadeProgram, concluded: Collection[Predicate] = (), predicates: Collection[Predicate] = ()
) -> list[Diagnostic]:
    """What is wrong with the names that no text defines, unless rules conclude them.

    The help of a diagnostic names one of the `predicates` of rules where that is similar.
    """
    missing = [(name, diagnostic) for name, diagnostic in program.undefined if Predicate(name, 1) not in concluded]
    return [_concluded_else(name, diagnostic, predicates) for name, diagnostic in missing]


def _concluded_else(name: str, diagnostic: Diagnostic, predicates: Collection[Predicate]) -> Diagnostic:
    """An event that is not defined, with a way out where rules conclude something of almost the same name."""
    meant = nearest(Predicate(name, 1), predicates)
    if meant is None:
        return diagnostic
    way_out = f"rules conclude `{meant}`: " + (
        "an event has an IRI as its name, so write it with a prefix there" if meant.name[0] != "<" else "use that name"
    )
    return replace(diagnostic, help=way_out)


def unknown(program: CascadeProgram, names: Iterable[str]) -> list[Diagnostic]:
    """What is wrong with names of events that are asked for."""
    defined = [event.name for event in program.events]
    return [
        Diagnostic("E801", f"the event `{name}` is not defined", help=_meant(name, defined))
        for name in sorted(names)
        if name not in defined
    ]


def _meant(name: str, defined: Sequence[str]) -> str:
    """A way out for a name that no event has."""
    close = nearest(Predicate(name, 1), (Predicate(event, 1) for event in defined))
    if close is not None:
        return f"did you mean `{close.name}`?"
    *leading, last = (f"`{event}`" for event in defined[:_MOST_NAMED])
    listed = f"{', '.join(leading)} and {last}" if leading else last
    return f"the events are {listed}" if len(defined) <= _MOST_NAMED else f"some of the events are {listed}"


def never_bound(program: CascadeProgram, rules: Program) -> list[Diagnostic]:
    """Warns where rules read a variable of an event that no match binds."""
    names = {
        Predicate(binding_name(event.name, variable), 2): (event.name, variable)
        for event in program.events
        if isinstance(event.definition, Pattern)
        for variable in frozenset().union(*(clause.variables for clause in event.definition.clauses))
        - event.definition.bound
    }
    atoms = (formula.atom for rule in rules.rules for formula, _ in formulas(rule.body))
    return [
        _never_bound(atom, *names[atom.signature])
        for atom in atoms
        if atom.signature in names and atom.signature not in rules.derived
    ]


def _never_bound(atom: Atom, event: str, variable: str) -> Diagnostic:
    message = f"no match of `{event}` binds `?{variable}`, so `{atom.predicate}` never holds"
    way_out = (
        f"give each place a name of its own (`NAMED EVENT :Second AS …`) and use `?{variable}` in the clauses of both"
    )
    return Diagnostic("W816", message, atom.span, help=way_out)
