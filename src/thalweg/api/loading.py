"""One part from programs of any languages, with their background, and all that is wrong with them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from thalweg.api.sources import (
    Background,
    Text,
    as_list,
    compiler_of,
    facts_of,
    language_of_background,
    language_of_program,
    read_all,
    read_background,
)
from thalweg.api.timing import Timing
from thalweg.diagnostics import Diagnostic, Rejected, Source, warn
from thalweg.ir.merge import TOGETHER
from thalweg.ir.nodes import Program, TermAnnotations
from thalweg.languages.compile_options import OntologyOptions, Options
from thalweg.languages.registry import Language
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.triples import TRIPLES
from thalweg.parts.answer_sets.solve_options import SolveOptions
from thalweg.parts.compose import compose
from thalweg.parts.part import Part


def load(
    *programs: Program | Text,
    background: Background = (),
    tick: str = "1s",
    ontology: OntologyOptions = OntologyOptions(),
    report: Callable[[Diagnostic], None] = warn,
) -> Program:
    """One program from many, with its background; raises `Rejected` with all that is wrong, reports the warnings.

    >>> load("q(X) :- p(X) in [3].").derived
    frozenset({'q/1'})
    """
    return load_part(programs, background, tick, ontology, report=report).rules


def load_part(
    programs: Iterable[Program | Text],
    background: Background = (),
    tick: str = "1s",
    ontology: OntologyOptions = OntologyOptions(),
    solving: SolveOptions = SolveOptions(),
    inputs: Sequence[str] = (),
    report: Callable[[Diagnostic], None] = warn,
) -> Part:
    """What a run of programs evaluates; raises `Rejected` with all that is wrong, reports the warnings."""
    part, found = analyse(programs, background, tick, ontology, solving, inputs)
    if any(one.severity == "error" for one in found):
        raise Rejected(found)
    for warning in found:
        report(warning)
    return part


def analyse(
    programs: Iterable[Program | Text],
    background: Background = (),
    tick: str = "1s",
    ontology: OntologyOptions = OntologyOptions(),
    solving: SolveOptions = SolveOptions(),
    inputs: Sequence[str] = (),
) -> tuple[Part, list[Diagnostic]]:
    """The part as far as programs can be read, and every diagnostic."""
    found: list[Diagnostic] = []
    given, facts = as_list(programs), as_list(background)
    timing = Timing(tick, delay=ontology.window)
    length, window = timing.clock.tick_length, timing.ticks()[2]
    options = Options(length, replace(ontology, window=window), tuple(map(Predicate.read, inputs)))
    texts = _by_language(given, found)
    special = [language for language in texts if language.specialised]
    if ontology.checks and not special:
        found.append(Diagnostic("E403", "there is no ontology to check"))
    # What a document says about classes and properties matters to an ontology, whichever option brings it.
    absorbed = {one: [text for text in facts if language_of_background(text) is one] for one in special}
    rest = [text for text in facts if not any(text in some for some in absorbed.values())]
    known = tuple(fact for text in rest for fact in read_background(text, length, found))
    documents = {one: read_all(some, one, found) for one, some in absorbed.items()}
    sources = {one: [*read_all(some, one, found), *documents.get(one, ())] for one, some in texts.items()}
    everything = (*known, *(fact for some in documents.values() if len(texts) > 1 for fact in facts_of(some)))
    options = replace(options, background=everything)
    compiled: list[Any] = [one for one in given if isinstance(one, Program)]
    compiled += _compiled({one: some for one, some in sources.items() if one not in special}, options, found)
    if special or not compiled or any(isinstance(one, Program) for one in compiled):
        compiled.append(Program(background=known))
    beside = tuple(one if isinstance(one, Program) else one.readers() for one in compiled)
    compiled += _compiled({one: sources[one] for one in special}, replace(options, beside=beside), found)
    found += _apart(given, facts, compiled)
    part, wrong = compose(compiled, everything, solving)
    found += wrong
    order = list(dict.fromkeys(one.span.source for one in found))
    return part, sorted(found, key=lambda one: (order.index(one.span.source), one.span.start))


def _by_language(programs: Iterable[Program | Text], found: list[Diagnostic]) -> dict[Language, list[Text]]:
    texts: dict[Language, list[Text]] = {}
    for program in programs:
        if not isinstance(program, Program):
            try:
                texts.setdefault(compiler_of(program), []).append(program)
            except Rejected as error:
                found += error.diagnostics
    return texts


def _compiled(sources: Mapping[Language, list[Source]], options: Options, found: list[Diagnostic]) -> Iterator[Any]:
    """What each language makes of its texts; what is wrong goes to `found`."""
    for language, some in sources.items():
        try:
            compiled, wrong = language.compile(some, options) if some else (Program(), ())
        except Rejected as error:
            found += error.diagnostics
        else:
            found += wrong
            yield compiled


def _apart(
    given: Sequence[Program | Text], facts: Sequence[Text | Fact], compiled: Sequence[Any]
) -> Iterator[Diagnostic]:
    """Refuses what would mean something else than loading all in one call.

    An ontology is compiled for the schema, the data and the rules that it is loaded with.
    """
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


def _is_compiled(program: Program) -> bool:
    return program.static_schema or program.reasons is not None or program.annotations != TermAnnotations()


def _takes_rules(program: Program) -> bool:
    """Whether a compiled ontology is the same whatever rules are beside it.

    With rules beside it every equal thing keeps all that is said of it, and triples become facts that they can read.
    """
    return program.equality is None and program.reasons is None and TRIPLES not in program.derived
