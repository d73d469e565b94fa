"""Texts of events become definitions: classes of events, and patterns over them.

    NAMED EVENT :High AS :HighTraffic                                  ClassText("<…HighTraffic>")
    NAMED EVENT :Jam { MATCH EVERY :High SEQ :Low WITHIN (10 m) }      Pattern(Sequence((Occurs, Occurs)), "EVERY", 600)

The definitions of all texts of a run are one program. What patterns mean: `ir/pattern_semantics.py`.
"""

from collections.abc import Sequence
from pathlib import PurePath
from typing import TYPE_CHECKING, Final

from thalweg.diagnostics import Diagnostic, Source, Span
from thalweg.languages.options import flags_for
from thalweg.languages.registry import Language, Options

if TYPE_CHECKING:
    from thalweg.languages.cascade.event_definitions import CascadeProgram


def compile(sources: Sequence[Source], options: Options) -> "tuple[CascadeProgram, list[Diagnostic]]":
    """The events of all texts, each behind those that it uses, and every diagnostic."""
    from thalweg.languages.cascade.check_events import in_order, too_many, undefined
    from thalweg.languages.cascade.event_definitions import CascadeProgram
    from thalweg.languages.cascade.impossible_patterns import impossible_patterns
    from thalweg.languages.cascade.read_events import read_events

    graphs = options.dataset.resources
    read = [read_events(source, options.tick_length, graphs) for source in sources]
    written = [event for definitions, _, _ in read for event in definitions]
    events, wrong = in_order(written)
    selections = tuple(selection for _, chosen, _ in read for selection in chosen)
    diagnostics = [diagnostic for *_, reported in read for diagnostic in reported]
    # A definition that could not be read is not unknown to those that use it.
    unknown = (
        () if any(diagnostic.code == "E101" for diagnostic in diagnostics) else tuple(undefined(written, diagnostics))
    )
    name = PurePath(sources[0].name).stem if sources else ""
    program = CascadeProgram(tuple(events), selections, unknown, options.dataset, options.tick_length, name)
    diagnostics += [*wrong, *too_many(selections)]
    if not any(diagnostic.severity == "error" for diagnostic in diagnostics):
        diagnostics += (warning for _, warning in impossible_patterns(events, options.tick_length))
    return program, diagnostics


def includes(source: Source) -> Sequence[tuple[str, Span]]:
    """The files that a text includes."""
    from thalweg.languages.cascade.read_events import included_files

    return included_files(source)


LANGUAGE: Final = Language(
    "cascade", (".tw",), compile, understands=flags_for("events") | {"why"}, includes=includes, title="events (`.tw`)"
)
