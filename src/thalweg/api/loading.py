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
from thalweg.languages.compile_options import OntologyOptions, Options
from thalweg.languages.registry import Graph, Language
from thalweg.model.dataset import Dataset
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate, without_files
from thalweg.model.rdf import fact_of
from thalweg.model.time import Duration
from thalweg.model.triples import TRIPLES
from thalweg.parts.answer_sets.solve_options import SolveOptions
from thalweg.parts.choose_outputs import Shown
from thalweg.parts.compose import compose
from thalweg.parts.part import Examined, Part
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
    """What a run of programs evaluates; raises `RejectedError` with all that is wrong, reports the warnings.

    What is `mapped` becomes facts of the background, as it becomes events of streams.
    """
    part, found = analyse(programs, background, tick, ontology, solving, inputs, show, mapped)
    if any(one.severity == "error" for one in found):
        raise RejectedError(found)
    for warning in found:
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
    found, unread = list[Diagnostic](), list[Diagnostic]()
    given, facts = as_list(programs), as_list(background)
    timing = Timing(tick, delay=ontology.window)
    length, window = timing.clock.tick_length, timing.ticks()[2]
    read = _read(given, facts, length, unread, mapped)
    if (ontology.checks or ontology.abstracts) and not any(language.specialised for language in read.sources):
        found.append(Diagnostic("E403", f"`--as {ontology.task}` needs an ontology, and there is none"))
    asked = replace(ontology, window=window)
    if ontology.classes is not None:
        asked = replace(asked, prefixes=prefixes_of([*given, *facts], dict(ontology.prefixes)).pairs)
    everything = (*read.known, *read.absorbed)
    made = frozenset(one.predicate for one in mapped.mappings) if mapped is not None else frozenset[Predicate]()
    named = tuple(map(Predicate.read, inputs))
    options = Options(length, asked, named, everything, dataset=read.dataset, mapped=made)
    chosen = None if show is None or show == EVERYTHING else _chosen(show, [*given, *facts])
    brought = read.brought | {one.predicate: f"the mapping `{one}`" for one in (mapped.mappings if mapped else ())}
    compiled, shown = _compile(read, options, found, chosen, brought)
    if show is not None:
        shown = chosen and _overriding(shown, chosen, compiled)
    if show == EVERYTHING:
        compiled = [one if isinstance(one, Program) and _is_compiled(one) else _showing_all(one) for one in compiled]
    part, wrong = compose(compiled, everything, solving, shown)
    every = [*found, *unread, *_apart(given, facts, compiled), *wrong]
    return part, _in_order([_as_in_file(with_kind_of_text(one)) for one in every])


def _as_in_file(found: Diagnostic) -> Diagnostic:
    """A diagnostic with local predicates as they are written in the file that it points to."""
    notes = tuple(map(without_files, found.notes))
    return replace(found, message=without_files(found.message), help=without_files(found.help), notes=notes)


def _in_order(found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Diagnostics, those of a text together and as they stand in it."""
    order = list(dict.fromkeys(one.span.source for one in found))
    return sorted(found, key=lambda one: (order.index(one.span.source), one.span.start))


def examine(part: Part, found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """What analysis found, and what reasoning finds: whether the background contradicts the program, for one."""
    if not isinstance(part, Examined) or any(one.severity == "error" for one in found):
        return list(found)
    return _in_order([*found, *part.contradictions()])


def _chosen(show: str | Iterable[str], texts: Sequence[Any]) -> Shown:
    return Shown(frozenset(predicates_of(show, prefixes_of(texts))), by_option=True)


def _overriding(said: Shown | None, chosen: Shown, compiled: Sequence[Any]) -> Shown:
    """What options choose in place of what programs show; what names facts only leaves the events, and vice versa."""
    events = {event.name for one in compiled if hasattr(one, "asking") for event in one.events}
    about_events = {one.name in events for one in chosen.predicates}
    kept = () if said is None or not events else said.predicates
    others = {one for one in kept if (one.name in events) not in about_events}
    return replace(chosen, predicates=chosen.predicates | others)


@dataclass(frozen=True, slots=True)
class _Read:
    """Programs that were loaded before, and the texts of the others; what the background says.

    What a document of the background says about classes and properties matters to an ontology, whichever option brings
    it: it is `absorbed` by the language of the ontology, and a fact to others only. The `dataset` has all of it.
    `brought` says which background has facts of a predicate.
    """

    programs: list[Program]
    sources: dict[Language, list[Source]]
    known: tuple[Fact, ...]
    absorbed: tuple[Fact, ...]
    dataset: Dataset
    brought: dict[Predicate, str]


def _read(
    programs: Sequence[Program | Text],
    background: Sequence[Text | Fact | HeldTable | NamedSource],
    tick_length: int,
    found: list[Diagnostic],
    mapped: Tally | None,
) -> _Read:
    texts = _by_language(programs, found)
    documents: dict[Language, list[Text]] = {}
    known: list[Fact] = []
    graphs: list[Graph] = []
    outside: list[Fact] = []
    brought: dict[Predicate, str] = {}
    for facts in background:
        name = _background_name(facts)
        if isinstance(facts, HeldTable) or is_background_table(facts):
            read = read_background_table(facts, mapped, found)  # type: ignore[arg-type]
            known += read
            outside += read
            brought.update((fact.signature, name) for fact in read)
            continue
        facts = facts.origin if isinstance(facts, NamedSource) else facts
        language = language_of_background(facts)
        if language is not None and language.specialised and language in texts and not isinstance(facts, Fact):
            documents.setdefault(language, []).append(facts)
        else:
            before = len(graphs)
            read = read_background(facts, tick_length, found, graphs)
            known += read
            brought.update((fact.signature, name) for fact in read)
            outside += read if len(graphs) == before else ()
    sources = {language: read_all(some, language, found) for language, some in texts.items()}
    absorbed: list[Fact] = []
    for language, some in documents.items():
        about = read_all(some, language, found)
        sources[language] += about
        graphs += (one for one in about if isinstance(one, Graph))
        # Other languages read them as facts, where there are any.
        absorbed += facts_of(about) if len(sources) > 1 else ()
    loaded = [_of_nodes(program, found) for program in programs if isinstance(program, Program)]
    return _Read(loaded, sources, tuple(known), tuple(absorbed), _dataset(outside, graphs), brought)


def _background_name(facts: Text | Fact | HeldTable | NamedSource) -> str:
    """What brings facts that always hold, in words."""
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
    found: list[Diagnostic],
    chosen: Shown | None,
    brought: Mapping[Predicate, str],
) -> tuple[list[Any], Shown | None]:
    """What all languages make of their texts, those that are specialised to the others at last; and what they show.

    What rules show is all that a run outputs, also where it has ontologies beside them. Events say what they ask of
    ontologies, which is no more than what those need that are `chosen`.
    """
    plain = {one: some for one, some in read.sources.items() if not one.specialised}
    special = {one: some for one, some in read.sources.items() if one.specialised}
    made = list(_compiled(plain, options, found))
    rules = [one for one in (*read.programs, *made) if isinstance(one, Program) and not _is_compiled(one)]
    found += shared_predicates(rules, [one for one in made if hasattr(one, "outlines")], brought)
    asking = None
    # What stands beside events may need any of them.
    alone = len(made) == 1 and not read.programs
    for number, one in enumerate(made):
        if hasattr(one, "asking"):
            wanted = None if chosen is None or not alone else {each.name for each in chosen.predicates}
            made[number] = asking = one if wanted is None else one.needed(wanted)
            options = replace(options, ontology=asking.asking(options.ontology))
    said = [one.interface.outputs for one in made if isinstance(one, Program)]
    named = [outputs for outputs in said if outputs is not None]
    shown = Shown(frozenset(name for outputs in named for name in outputs)) if named else None
    compiled: list[Any] = [*read.programs, *map(_showing_all, made)]
    if special or not compiled or any(isinstance(one, Program) for one in compiled):
        compiled.append(Program(background=read.known))
    beside = tuple(one if isinstance(one, Program) else one.readers() for one in compiled)
    wrong: list[Diagnostic] = []
    compiled += _compiled(special, replace(options, beside=beside), wrong)
    found += wrong if asking is None else asking.placed(wrong)
    return compiled, shown


def _showing_all(compiled: Any) -> Any:
    """Rules without what they show."""
    if not isinstance(compiled, Program) or compiled.interface.outputs is None:
        return compiled
    return replace(compiled, interface=replace(compiled.interface, outputs=None))


def _by_language(programs: Iterable[Program | Text], found: list[Diagnostic]) -> dict[Language, list[Text]]:
    texts: dict[Language, list[Text]] = {}
    for program in programs:
        if not isinstance(program, Program):
            try:
                texts.setdefault(compiler_of(program), []).append(program)
            except RejectedError as error:
                found += error.diagnostics
    return texts


def _compiled(sources: Mapping[Language, list[Source]], options: Options, found: list[Diagnostic]) -> Iterator[Any]:
    """What each language makes of its texts; what is wrong goes to `found`."""
    for language, some in sources.items():
        try:
            compiled, wrong = language.compile(some, options) if some else (Program(), ())
        except RejectedError as error:
            found += error.diagnostics
        else:
            found += wrong
            yield _of_nodes(compiled, found)


def _of_nodes(compiled: Any, found: list[Diagnostic]) -> Any:
    """What a language or Python made; without rules where they are not made of the nodes of rules."""
    wrong = check_nodes(compiled) if isinstance(compiled, Program) else []
    found += wrong
    return Program() if wrong else compiled


def _apart(
    given: Sequence[Program | Text], facts: Sequence[Text | Fact], compiled: Sequence[Any]
) -> Iterator[Diagnostic]:
    """Refuses what would mean something else than loading all in one call.

    An ontology is compiled for the schema, the data and the rules that it is loaded with.
    """
    yield from _mingled([one for one in compiled if isinstance(one, Program) and not _is_compiled(one)])
    ontologies = [one for one in given if isinstance(one, Program) and _is_compiled(one)]
    if not ontologies:
        return
    documents = [
        one for one in (*given, *facts) if not isinstance(one, Program) and language_of_program(one).specialised
    ]
    rules = [one for one in compiled if isinstance(one, Program) and one.rules]
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
