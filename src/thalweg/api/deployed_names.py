"""Streams and backgrounds under the names that a deployment gives them, also where a command or a call brings others.

What is given stands for the stream of a deployment that is called as it is, or for the only one: it has its name and
its mappings, and is written in the same way. Otherwise every mapping of the deployment serves what has its names.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.api.sources import on_command_line
from thalweg.connectors.held_tables import HeldTable
from thalweg.connectors.mapping.dialect import StatedDialect
from thalweg.connectors.mapping.read_mapping import read_mappings
from thalweg.connectors.named_source import NamedSource
from thalweg.diagnostics import Diagnostic, RejectedError, Source, Span
from thalweg.languages.deployment.deployed_sources import DeployedSource, stem_of
from thalweg.model.prefixes import Prefixes

if TYPE_CHECKING:
    from thalweg.languages.deployment.read_deployment import Deployment


def deployed(deployment: "Deployment", option: str) -> list[Any]:
    """The streams or the backgrounds of a deployment."""
    known = deployment.streams if option == "stream" else deployment.background
    if known:
        return [_named(on_command_line(one.origin), one) for one in known]
    listed = deployment.options.get(option, [])
    return list(map(Path, listed)) if isinstance(listed, list) else []


def in_place(given: Sequence[Any], known: Sequence[DeployedSource]) -> tuple[list[Any], bool]:
    """What is given, under the names of what it stands for; and whether that is so for all of it.

    >>> north, south = DeployedSource("north", "mqtt://b/n"), DeployedSource("south", "mqtt://b/s")
    >>> in_place(["data/south.csv"], [north, south])
    ([NamedSource(name='south', origin='data/south.csv', stated=StatedDialect(separator=None, ...), zone=None)], True)
    """
    only = known[0] if len(known) == len(given) == 1 else None
    names = {one.name: one for one in known}
    found = [only or names.get(_called(one)) for one in given]
    return [_named(one, other) for one, other in zip(given, found, strict=True)], None not in found


def check_mappings(deployment: "Deployment", prefixes: Prefixes) -> None:
    """`RejectedError` with the places of mappings in a deployment that cannot be read."""
    found: list[Diagnostic] = []
    for text in untied(deployment):
        try:
            read_mappings([text], prefixes)
        except RejectedError as error:
            found += (_in_deployment(one, deployment.source, text) for one in error.diagnostics)
    if found:
        raise RejectedError(found)


def _in_deployment(found: Diagnostic, source: Source, mapping: str) -> Diagnostic:
    """What is wrong with a mapping, where the deployment has it."""
    start = max(source.text.find(mapping), 0)
    span = Span(source, start + found.span.start, start + found.span.end)
    return Diagnostic("E902", f"this mapping cannot be read: {found.message}", span, found.help, found.notes)


def untied(deployment: "Deployment") -> list[str]:
    """The mappings of a deployment, each for all that has its names."""
    sources: Iterable[DeployedSource] = (*deployment.streams, *deployment.background)
    return list(dict.fromkeys(text for one in sources for text in one.map))


def _called(thing: Any) -> str:
    return (
        thing.name if isinstance(thing, HeldTable) else stem_of(thing.name if isinstance(thing, Source) else str(thing))
    )


def _named(origin: Any, known: DeployedSource | None) -> Any:
    match origin:
        case HeldTable():
            return origin if known is None else HeldTable(origin.data, known.name, known.zone)
        case str() | Path() | Source() if known is not None:
            written: dict[str, Any] = {**known.written, "columns": tuple(known.written.get("columns", ()))}
            return NamedSource(known.name, origin, StatedDialect(**written), known.zone)
    return origin
