"""A stream or a background under a name of its own, as deployments and Python give it."""

from dataclasses import dataclass
from pathlib import Path

from thalweg.connectors.mapping.dialect import UNSTATED, StatedDialect
from thalweg.diagnostics import Source


@dataclass(frozen=True, slots=True)
class NamedSource:
    """A source, called `name` in rules and mappings (`from north`, `north: temp(…)`); `stated` is its dialect.

    `zone` is that of times without one.
    """

    name: str
    origin: str | Path | Source
    stated: StatedDialect = UNSTATED
    zone: str | None = None
