"""The options of verbs that ask a service, and what becomes of its refusals."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated, Final

import typer

from thalweg.cli.errors import complain

Token = Annotated[
    str | None,
    typer.Option(metavar="TOKEN", help="The token that it asks for; by default what `THALWEG_TOKEN` has."),
]
ADDRESS: Final = "http://127.0.0.1:8642"
"""Where `thalweg serve` is by default."""


@contextmanager
def refusals() -> Iterator[None]:
    """A request that a service refuses ends with exit code 1, whatever is wrong with it."""
    from thalweg.connectors.service_client import ServiceRefusedError

    try:
        yield
    except ServiceRefusedError as error:
        complain(*error.diagnostics)
        raise typer.Exit(1) from None
