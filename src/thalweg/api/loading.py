"""One part from programs of any languages, with their background, and all that is wrong with them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from thalweg.api.background_tables import is_background_table, read_background_table
from thalweg.api.kind_options import ResolvedOptions
from thalweg.api.naming import predicates_of, prefixes_of
from thalweg.api.shared_predicates import shared_predicates
from thalweg.api.sources import (
    Background,
    Text,
    as_list,
    compiler_of,
    facts_of,
    language_of_background,
    language_of_program,
    name_of,
    read_all,
    read_background,
    with_kind_of_text,
)
from thalweg.api.timing import Timing
from thalweg.connectors.held_tables import HeldTable
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.named_source import NamedSource
from thalweg.diagnostics import Diagnostic, RejectedError, Source, warn
from thalweg.ir.merge import TOGETHER
from thalweg.ir.nodes import Program, Rule, TermAnnotations
from thalweg.kinds.answer_sets.solve_options import SolveOptions
from thalweg.kinds.choose_outputs import Shown
from thalweg.kinds.compose import compose
from thalweg.kinds.part import Examined, Part
from thalweg.languages.compile_options import OntologyOptions, Options, Outlined, QuestionsOntologies
from thalweg.languages.registry import Graph, Language
from thalweg.model.dataset import Dataset
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate, without_files
from thalweg.model.rdf import fact_of
from thalweg.model.time import Duration
from thalweg.model.triples import TRIPLES
from thalweg.planning.check_nodes import check_nodes

EVERYTHING: Final = "everything"
"""Stands for all that is derived, whatever `#show` says."""

Show = str | Iterable[str] | None
"""What is output: predicates such as `jam/1`, `EVERYTHING`, or None where programs say it."""


def load_part(
    programs: Iterable[Program | Text],
    background: Background = (),
    tick: Duration = "1s",
    ontology: OntologyOptions = OntologyOptions(),
    solving: SolveOptions = SolveOptions(),
    inputs: Sequence[str] = (),
    report: Callable[[Diagnostic], None] = warn,
    show: Show = None,
    mapped: Tally | None = None,
) -> Part:
    """The part that a run of programs evaluates; raises `RejectedError` with all that is wrong, reports the warnings.

    What is `mapped` becomes facts of the background, as it becomes events of streams.
    """
    part, diagnostics = analyse(programs, background, tick, ontology, solving, inputs, show, mapped)
    if any(diagnostic.severity == "error" for diagnostic in diagnostics):
        raise RejectedError(diagnostics)
    for warning in diagnostics:
        report(warning)
    return part


def load_resolved(
    programs: Sequence[Program | Text],
    background: Background,
    resolved: ResolvedOptions,
    report: Callable[[Diagnostic], None] = warn,
) -> Part:
    """What a run of programs with its options evaluates, as `load_part`."""
    about = resolved.timing.tick, resolved.ontology, resolved.solving, resolved.inputs
    return load_part(programs, background, *about, report, resolved.shown, resolved.mapped)


def analyse_resolved(
    programs: Sequence[Program | Text], background: Background, resolved: ResolvedOptions
) -> tuple[Part, list[Diagnostic]]:
    """The part that programs with their options are, as far as these can be read, and every diagnostic."""
    about = resolved.timing.tick, resolved.ontology, resolved.solving, resolved.inputs, resolved.shown
    return analyse(programs, background, *about, resolved.mapped)


def analyse(
    programs: Iterable[Program | Text],
    background: Background = (),
    tick: Duration = "1s",
    ontology: OntologyOptions = OntologyOptions(),
    solving: SolveOptions = SolveOptions(),
    inputs: Sequence[str] = (),
    show: Show = None,
    mapped: Tally | None = None,
) -> tuple[Part, list[Diagnostic]]:
    """The part as far as programs can be read, and every diagnostic."""
    diagnostics, unread = list[Diagnostic](), list[Diagnostic]()
    sources, facts = as_list(programs), as_list(background)
    timing = Timing(tick, delay=ontology.window)
    length, window = timing.clock.tick_length, timing.ticks()[2]
    read = _read(sources, facts, length, unread, mapped)
    if (ontology.checks or ontology.abstracts) and not any(language.specialised for language in read.sources):
        diagnostics.append(Diagnostic("E403", f"`--as {ontology.task}` needs an ontology, and there is none"))
    ontology_options = replace(ontology, window=window)
    if ontology.classes is not None:
        ontology_options = replace(
            ontology_options, prefixes=prefixes_of([*sources, *facts], dict(ontology.prefixes)).pairs
        )
    everything = (*read.facts, *read.absorbed)
    mappings = mapped.mappings if mapped is not None else ()
    mapped_predicates = frozenset(mapping.predicate for mapping in mappings)
    named = tuple(map(Predicate.read, inputs))
    options = Options(length, ontology_options, named, everything, dataset=read.dataset, mapped=mapped_predicates)
    chosen = None if show is None or show == EVERYTHING else _chosen(show, [*sources, *facts])
    brought = read.brought | {mapping.predicate: f"the mapping `{mapping}`" for mapping in mappings}
    compiled, shown = _compile(read, options, diagnostics, chosen, brought)
    if show is not None:
        shown = chosen and _overriding(shown, chosen, compiled)
    if show == EVERYTHING:
        compiled = [
            unit if isinstance(unit, Program) and _is_compiled(unit) else _showing_all(unit) for unit in compiled
        ]
    part, wrong = compose(compiled, everything, solving, shown)
    every = [*diagnostics, *unread, *_apart(sources, facts, compiled), *wrong]
    return part, _in_order([_as_in_file(with_kind_of_text(diagnostic)) for diagnostic in every])


def _as_in_file(diagnostic: Diagnostic) -> Diagnostic:
    """A diagnostic with local predicates as they are written in the file that it points to."""
    notes = tuple(map(without_files, diagnostic.notes))
    return replace(
        diagnostic, message=without_files(diagnostic.message), help=without_files(diagnostic.help), notes=notes
    )


def _in_order(diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Diagnostics, those of a text together and as they stand in it."""
    order = list(dict.fromkeys(diagnostic.span.source for diagnostic in diagnostics))
    return sorted(diagnostics, key=lambda diagnostic: (order.index(diagnostic.span.source), diagnostic.span.start))


def examine(part: Part, diagnostics: Sequence[Diagnostic]) -> list[Diagnostic]:
    """The diagnostics of analysis and those of reasoning, such as a background that contradicts the program."""
    if not isinstance(part, Examined) or any(diagnostic.severity == "error" for diagnostic in diagnostics):
        return list(diagnostics)
    return _in_order([*diagnostics, *part.contradictions()])


def _chosen(show: str | Iterable[str], texts: Sequence[Any]) -> Shown:
    return Shown(frozenset(predicates_of(show, prefixes_of(texts))), by_option=True)


def _overriding(shown: Shown | None, chosen: Shown, compiled: Sequence[Any]) -> Shown:
    """The predicates that options show in place of those of programs; a choice of facts keeps events, or vice versa."""
    events = {event.name for unit in compiled if isinstance(unit, QuestionsOntologies) for event in unit.events}
    about_events = {predicate.name in events for predicate in chosen.predicates}
    kept = () if shown is None or not events else shown.predicates
    unaffected = {predicate for predicate in kept if (predicate.name in events) not in about_events}
    return replace(chosen, predicates=chosen.predicates | unaffected)


@dataclass(frozen=True, slots=True)
class _Read:
    """Programs that were loaded before, and the texts of the others; what the background says.

    What a document of the background says about classes and properties matters to an ontology, whichever option brings
    it: it is `absorbed` by the language of the ontology, and a fact to others only. The `dataset` has all of it.
    `brought` says which background has facts of a predicate.
    """

    programs: list[Program]
    sources: dict[Language, list[Source]]
    facts: tuple[Fact, ...]
    absorbed: tuple[Fact, ...]
    dataset: Dataset
    brought: dict[Predicate, str]


def _read(
    programs: Sequence[Program | Text],
    background: Sequence[Text | Fact | HeldTable | NamedSource],
    tick_length: int,
    diagnostics: list[Diagnostic],
    mapped: Tally | None,
) -> _Read:
    texts = _by_language(programs, diagnostics)
    documents: dict[Language, list[Text]] = {}
    background_facts: list[Fact] = []
    graphs: list[Graph] = []
    outside: list[Fact] = []
    brought: dict[Predicate, str] = {}
    for facts in background:
        name = _background_name(facts)
        if isinstance(facts, HeldTable) or is_background_table(facts):
            read = read_background_table(facts, mapped, diagnostics)  # type: ignore[arg-type]
            background_facts += read
            outside += read
            brought.update((fact.signature, name) for fact in read)
            continue
        facts = facts.origin if isinstance(facts, NamedSource) else facts
        language = language_of_background(facts)
        if language is not None and language.specialised and language in texts and not isinstance(facts, Fact):
            documents.setdefault(language, []).append(facts)
        else:
            before = len(graphs)
            read = read_background(facts, tick_length, diagnostics, graphs)
            background_facts += read
            brought.update((fact.signature, name) for fact in read)
            outside += read if len(graphs) == before else ()
    sources = {language: read_all(language_texts, language, diagnostics) for language, language_texts in texts.items()}
    absorbed: list[Fact] = []
    for language, language_texts in documents.items():
        about = read_all(language_texts, language, diagnostics)
        sources[language] += about
        graphs += (graph for graph in about if isinstance(graph, Graph))
        # Other languages read them as facts, where there are any.
        absorbed += facts_of(about) if len(sources) > 1 else ()
    loaded = [_of_nodes(program, diagnostics) for program in programs if isinstance(program, Program)]
    return _Read(loaded, sources, tuple(background_facts), tuple(absorbed), _dataset(outside, graphs), brought)


def _background_name(facts: Text | Fact | HeldTable | NamedSource) -> str:
    """A description of a background."""
    if isinstance(facts, NamedSource):
        return f"the background `{facts.name}`"
    named = isinstance(facts, str | Path | Source) and name_of(facts)
    return f"the background `{named}`" if named and not named.startswith("<") else "the background"


def _dataset(outside: Sequence[Fact], documents: Sequence[Graph]) -> Dataset:
    """The facts of all documents in their graphs; those from elsewhere are in the default graph."""
    default, named = list(outside), dict[str, list[Fact]]()
    for document in documents:
        default += (fact_of(*triple) for triple in document.unnamed)
        for name, triples in document.named:
            named.setdefault(name, []).extend(fact_of(*triple) for triple in triples)
    return Dataset.of(default, named)


def _compile(
    read: _Read,
    options: Options,
    diagnostics: list[Diagnostic],
    chosen: Shown | None,
    brought: Mapping[Predicate, str],
) -> tuple[list[Any], Shown | None]:
    """The compiled texts of all languages, specialised languages last; and the predicates that they show.

    What rules show is all that a run outputs, also where it has ontologies beside them. Events say what they ask of
    ontologies, which is no more than what those need that are `chosen`.
    """
    plain = {language: sources for language, sources in read.sources.items() if not language.specialised}
    special = {language: sources for language, sources in read.sources.items() if language.specialised}
    units = list(_compiled(plain, options, diagnostics))
    rules = [unit for unit in (*read.programs, *units) if isinstance(unit, Program) and not _is_compiled(unit)]
    diagnostics += shared_predicates(rules, [unit for unit in units if isinstance(unit, Outlined)], brought)
    asking = None
    # What stands beside events may need any of them.
    alone = len(units) == 1 and not read.programs
    for number, unit in enumerate(units):
        if isinstance(unit, QuestionsOntologies):
            wanted = None if chosen is None or not alone else {predicate.name for predicate in chosen.predicates}
            units[number] = asking = unit if wanted is None else unit.needed(wanted)
            options = replace(options, ontology=asking.asking(options.ontology))
    declared = [unit.interface.outputs for unit in units if isinstance(unit, Program)]
    named = [outputs for outputs in declared if outputs is not None]
    shown = Shown(frozenset(name for outputs in named for name in outputs)) if named else None
    compiled: list[Any] = [*read.programs, *map(_showing_all, units)]
    if special or not compiled or any(isinstance(unit, Program) for unit in compiled):
        compiled.append(Program(background=read.facts))
    companions = tuple(unit if isinstance(unit, Program) else unit.readers() for unit in compiled)
    wrong: list[Diagnostic] = []
    compiled += _compiled(special, replace(options, beside=companions), wrong)
    diagnostics += wrong if asking is None else asking.placed(wrong)
    return compiled, shown


def _showing_all(compiled: Any) -> Any:
    """Rules without what they show."""
    if not isinstance(compiled, Program) or compiled.interface.outputs is None:
        return compiled
    return replace(compiled, interface=replace(compiled.interface, outputs=None))


def _by_language(programs: Iterable[Program | Text], diagnostics: list[Diagnostic]) -> dict[Language, list[Text]]:
    texts: dict[Language, list[Text]] = {}
    for program in programs:
        if not isinstance(program, Program):
            try:
                texts.setdefault(compiler_of(program), []).append(program)
            except RejectedError as error:
                diagnostics += error.diagnostics
    return texts


def _compiled(
    sources: Mapping[Language, list[Source]], options: Options, diagnostics: list[Diagnostic]
) -> Iterator[Any]:
    """Compiles the texts of each language; what is wrong goes to `diagnostics`."""
    for language, texts in sources.items():
        try:
            compiled, wrong = language.compile(texts, options) if texts else (Program(), ())
        except RejectedError as error:
            diagnostics += error.diagnostics
        else:
            diagnostics += wrong
            yield _of_nodes(compiled, diagnostics)


def _of_nodes(compiled: Any, diagnostics: list[Diagnostic]) -> Any:
    """A compiled unit; an empty program where its rules are not made of the nodes of rules."""
    wrong = check_nodes(compiled) if isinstance(compiled, Program) else []
    diagnostics += wrong
    return Program() if wrong else compiled


def _apart(
    sources: Sequence[Program | Text], facts: Sequence[Text | Fact], compiled: Sequence[Any]
) -> Iterator[Diagnostic]:
    """Refuses what would mean something else than loading all in one call.

    An ontology is compiled for the schema, the data and the rules that it is loaded with.
    """
    yield from _mingled([program for program in compiled if isinstance(program, Program) and not _is_compiled(program)])
    ontologies = [program for program in sources if isinstance(program, Program) and _is_compiled(program)]
    if not ontologies:
        return
    documents = [
        source
        for source in (*sources, *facts)
        if not isinstance(source, Program) and language_of_program(source).specialised
    ]
    rules = [program for program in compiled if isinstance(program, Program) and program.rules]
    if documents or len(ontologies) > 1:
        other = f"`{documents[0]}`" if documents else "the next one"
        yield Diagnostic("E411", f"an ontology was compiled without {other}", help=TOGETHER)
    elif len(rules) > 1 and not _takes_rules(ontologies[0]):
        yield Diagnostic("E411", "an ontology was compiled without the rules beside it", help=TOGETHER)


def _mingled(programs: Sequence[Program]) -> Iterator[Diagnostic]:
    """Files of one name that were loaded apart, with different rules for a local predicate of one name."""
    homes: dict[Predicate, frozenset[Rule]] = {}
    for program in programs:
        for name in program.derived:
            if name.file is not None:
                rules = frozenset(rule for rule in program.rules if rule.head.signature == name)
                if homes.setdefault(name, rules) != rules:
                    message = f"`{name.public}` is local to two files that are both called {name.file}"
                    yield Diagnostic("E411", message, help=TOGETHER)


def _is_compiled(program: Program) -> bool:
    return (
        program.hints.static_schema
        or program.hints.justification is not None
        or program.annotations != TermAnnotations()
    )


def _takes_rules(program: Program) -> bool:
    """Whether a compiled ontology is the same whatever rules are beside it.

    With rules beside it every equal thing keeps all that is said of it, and triples become facts that they can read.
    """
    return program.equality is None and program.hints.justification is None and TRIPLES not in program.derived
