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
    sources = deployment.streams if option == "stream" else deployment.background
    if sources:
        return [_named(on_command_line(source.origin), source) for source in sources]
    listed = deployment.options.get(option, [])
    return list(map(Path, listed)) if isinstance(listed, list) else []


def in_place(origins: Sequence[Any], sources: Sequence[DeployedSource]) -> tuple[list[Any], bool]:
    """Origins under the names of the sources that they stand for; and whether each stands for one.

    >>> north, south = DeployedSource("north", "mqtt://b/n"), DeployedSource("south", "mqtt://b/s")
    >>> in_place(["data/south.csv"], [north, south])
    ([NamedSource(name='south', origin='data/south.csv', stated=StatedDialect(separator=None, ...), zone=None)], True)
    """
    only = sources[0] if len(sources) == len(origins) == 1 else None
    by_name = {source.name: source for source in sources}
    matched = [only or by_name.get(_name_of(origin)) for origin in origins]
    return [_named(origin, source) for origin, source in zip(origins, matched, strict=True)], None not in matched


def check_mappings(deployment: "Deployment", prefixes: Prefixes) -> None:
    """`RejectedError` with the places of mappings in a deployment that cannot be read."""
    problems: list[Diagnostic] = []
    for text in untied(deployment):
        try:
            read_mappings([text], prefixes)
        except RejectedError as error:
            problems += (_in_deployment(problem, deployment.source, text) for problem in error.diagnostics)
    if problems:
        raise RejectedError(problems)


def _in_deployment(problem: Diagnostic, source: Source, mapping: str) -> Diagnostic:
    """What is wrong with a mapping, where the deployment has it."""
    start = max(source.text.find(mapping), 0)
    span = Span(source, start + problem.span.start, start + problem.span.end)
    return Diagnostic("E902", f"this mapping cannot be read: {problem.message}", span, problem.help, problem.notes)


def untied(deployment: "Deployment") -> list[str]:
    """The mappings of a deployment, each for all that has its names."""
    sources: Iterable[DeployedSource] = (*deployment.streams, *deployment.background)
    return list(dict.fromkeys(text for source in sources for text in source.map))


def _name_of(origin: Any) -> str:
    """The name that an origin has by itself: that of its table, or the stem of its file."""
    if isinstance(origin, HeldTable):
        return origin.name
    return stem_of(origin.name if isinstance(origin, Source) else str(origin))


def _named(origin: Any, source: DeployedSource | None) -> Any:
    """An origin under the name of a source of the deployment, where it stands for one."""
    match origin:
        case HeldTable():
            return origin if source is None else HeldTable(origin.data, source.name, source.zone)
        case str() | Path() | Source() if source is not None:
            written: dict[str, Any] = {**source.written, "columns": tuple(source.written.get("columns", ()))}
            return NamedSource(source.name, origin, StatedDialect(**written), source.zone)
    return origin
