"""How a verb ends: what is wrong becomes a sentence, and an exit code as the package says."""

import os
import signal
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

import typer

if TYPE_CHECKING:
    from thalweg.diagnostics import Diagnostic
    from thalweg.model.prefixes import Prefixes


EXTRAS: Final = {
    "clingo": "asp",
    "pyhornedowl": "owl",
    "jpype": "dl",
    "owlready2": "dl",
    "rdflib": "rspql",
    "pyspark": "spark",
    "pandas": "spark",
    "google": "spark",
    "confluent_kafka": "kafka",
    "paho": "mqtt",
    "websockets": "web",
    "starlette": "serve",
    "uvicorn": "serve",
    "httptools": "serve",
    "uvloop": "serve",
    "prometheus_client": "serve",
    "anyio": "serve",
    "resvg_py": "pictures",
    "matplotlib": "bench",
    "owlrl": "bench",
    "polars": "bench",
    "hypothesis": "testing",
}
"""Packages that the small installation does not have, and the extra that installs each."""


def missing(packages: Sequence[str], extra: str) -> "Diagnostic":
    """Says which packages are not installed, and what installs them."""
    from thalweg.diagnostics import Diagnostic

    message = f"packages are not installed: {', '.join(f'`{name}`' for name in packages)}"
    help_ = f"install what this needs with `pip install 'thalweg[{extra}]'`"
    return Diagnostic("E406", message, help=help_)


@dataclass(slots=True)
class Ending:
    """With which prefixes names are written in what is wrong, once they are known."""

    prefixes: "Prefixes | None" = None

    def complain(self, *diagnostics: "Diagnostic") -> None:
        for diagnostic in diagnostics:
            complain(diagnostic if self.prefixes is None else shortened(diagnostic, self.prefixes))


@contextmanager
def outcome() -> Iterator[Ending]:
    """Turns how a verb ended into an exit code, and what is wrong into sentences."""
    from thalweg.connectors.interrupt import StoppedError
    from thalweg.diagnostics import FailedError, RejectedError

    ending = Ending()
    try:
        yield ending
        sys.stdout.flush()
    except StoppedError:
        print(
            "stopped before the last tick was complete; the answers of all earlier ticks have been written",
            file=sys.stderr,
        )
        sys.stderr.flush()
        # The interpreter would take its time to give back a large arena, and might wait for a reader that has gone.
        os._exit(0)
    except RejectedError as error:
        ending.complain(*error.diagnostics)
        raise typer.Exit(
            2 if all(diagnostic.code in ("E306", "E403") for diagnostic in error.diagnostics) else 1
        ) from None
    except FailedError as error:
        ending.complain(error.diagnostic)
        raise typer.Exit(3) from None
    except BrokenPipeError:
        forget_stdout()
    except (typer.Exit, typer.BadParameter):
        raise
    except Exception as error:
        if isinstance(error, ModuleNotFoundError) and (name := (error.name or "").partition(".")[0]) in EXTRAS:
            ending.complain(missing([name], EXTRAS[name]))
            raise typer.Exit(1) from None
        traceback.print_exc()
        raise typer.Exit(3) from None


@contextmanager
def stoppable() -> Iterator[None]:
    """Ctrl-C and SIGTERM are a normal end of a run while it is being prepared, too."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    except KeyboardInterrupt:
        print("stopped", file=sys.stderr)
        raise typer.Exit(0) from None
    finally:
        signal.signal(signal.SIGTERM, before)


def forget_stdout() -> None:
    """Output that is no longer read must not be flushed when the interpreter ends: it would print an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@contextmanager
def usage() -> Iterator[None]:
    """An option that cannot be understood is wrong usage."""
    try:
        yield
    except ValueError as error:
        refuse(str(error))


def refuse(message: str) -> None:
    from thalweg.diagnostics import Diagnostic

    complain(Diagnostic("E403", message))
    raise typer.Exit(2)


def complain(*diagnostics: "Diagnostic") -> None:
    sys.stdout.flush()
    for diagnostic in diagnostics:
        print(diagnostic.render(), file=sys.stderr)


def complaining(prefixes: "Prefixes", verbose: bool = False) -> "Callable[[Diagnostic], None]":
    """Returns a function that prints warnings with the user's prefixes, and in full where `verbose`."""

    def complain_shortly(diagnostic: "Diagnostic") -> None:
        sys.stdout.flush()
        print(shortened(diagnostic, prefixes).render(verbose), file=sys.stderr)

    return complain_shortly


def shortened(diagnostic: "Diagnostic", prefixes: "Prefixes") -> "Diagnostic":
    """The same with names as the user writes them."""
    notes, listed = (tuple(map(prefixes.shorten, texts)) for texts in (diagnostic.notes, diagnostic.listed))
    message, help_ = prefixes.shorten(diagnostic.message), prefixes.shorten(diagnostic.help)
    return replace(diagnostic, message=message, help=help_, notes=notes, listed=listed)


def announce_compilation() -> None:
    from thalweg.engine import kernels_kept, kernels_ready

    if not kernels_kept():
        way_out = "no folder can be written to that would keep them: set XDG_CACHE_HOME to one"
        print(f"compiling kernels, each time: {way_out} …", file=sys.stderr, flush=True)
    elif not kernels_ready():
        print("compiling kernels, once per installation …", file=sys.stderr, flush=True)


def need_something(stream: Sequence[object], first: int | None, last: int | None) -> None:
    if not stream and (first is None or last is None):
        refuse("no input: give a `--stream`, or both `--from` and `--to`")


def misfits(options: Mapping[str, object], what: str, only: bool = True) -> None:
    """Options that have no meaning here are refused, not passed over: they go with something `only`, or not at all."""
    if names := [name for name, value in options.items() if value is not None and value is not False]:
        is_single = len(names) == 1
        verb = ("is only for" if is_single else "are only for") if only else "cannot be used with"
        refuse(f"`{'` and `'.join(names)}` {verb} {what}")
