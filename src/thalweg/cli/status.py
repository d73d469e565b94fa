"""The verb `status`."""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import typer

from thalweg.cli.errors import outcome
from thalweg.cli.service_options import ADDRESS, Token, refusals

if TYPE_CHECKING:
    from thalweg.connectors.service_client import ServiceClient

_PROGRAM: Final = ("PROGRAM", "STATE", "TICK", "HOLDING", "LINES", "LATE", "BEHIND", "MEMORY", "STREAMS")
_STREAM: Final = ("STREAM", "FACTS", "FACTS/S", "LATEST", "MALFORMED", "READ BY")
_COUNTS: Final = frozenset({"HOLDING", "LINES", "LATE", "BEHIND", "MEMORY", "FACTS", "FACTS/S", "MALFORMED"})
_GAP: Final = "  "


def status(
    url: Annotated[str, typer.Argument(metavar="[URL]", help="The address of the service.")] = ADDRESS,
    format: Annotated[Literal["text", "json"], typer.Option(help="Tables, or all of it as data.")] = "text",
    facts: Annotated[
        int, typer.Option(metavar="N", min=0, max=100_000, help="How many of the facts that hold are shown a program.")
    ] = 20,
    token: Token = None,
) -> None:
    """Show what runs on a service (`thalweg serve`), and what holds there."""
    with outcome(), refusals():
        from thalweg.connectors.service_client import ServiceClient
        from thalweg.diagnostics import VISIBLE

        data = _asked(ServiceClient(url, token), facts)
        if format == "json":
            print(json.dumps(data, ensure_ascii=False, indent=2))
        else:
            print("\n".join(_lines(data)).translate(VISIBLE))


def _asked(service: "ServiceClient", most: int) -> dict[str, Any]:
    """All that is shown, as data."""
    programs = [_with_facts(service, program, most) for program in service.get("programs")]
    about = {"url": service.name, "version": service.get("health")["version"], **service.get("ready")}
    return {**about, "programs": programs, "streams": service.get("streams")}


def _with_facts(service: "ServiceClient", program: dict[str, Any], most: int) -> dict[str, Any]:
    """A program with the facts that hold; those of one that has failed nobody can know."""
    holding: dict[str, Any] = {"t": None, "facts": []}
    if most and program["state"] in ("live", "catching-up"):
        holding = service.get("programs", program["name"], "facts", limit=most)
    return {**program, "holds": {"t": holding["t"], "facts": holding["facts"]}}


def _lines(data: Mapping[str, Any]) -> Iterator[str]:
    because = f": {'; '.join(data['because'])}" if data.get("because") else ""
    yield f"{data['url']}: Thalweg {data['version']}, {'ready' if data['ready'] else 'not ready'}{because}"
    programs, streams = data["programs"], data["streams"]
    yield ""
    yield from _table(_PROGRAM, map(_of_program, programs)) if programs else ["no programs"]
    yield ""
    yield from _table(_STREAM, map(_of_stream, streams)) if streams else ["no streams"]
    for program in programs:
        yield from _because(program)
        yield from _holding(program)


def _because(program: Mapping[str, Any]) -> Iterator[str]:
    """Why a program has failed, or answers nothing yet."""
    from thalweg.connectors.service_client import diagnostic_of

    if program["because"] or program["awaits"]:
        yield f"\n{program['name']}:"
    if program["awaits"]:
        silent = ", ".join(f"`{stream}`" for stream in program["awaits"])
        yield f"  waits for {silent}: nothing has come there yet, and no tick is decided without it (see `idle`)"
    for diagnostic in program["because"]:
        yield from (f"  {line}" for line in diagnostic_of(diagnostic).render().splitlines())


def _holding(program: Mapping[str, Any]) -> Iterator[str]:
    holds = program["holds"]
    if not holds["facts"]:
        return
    yield f"\n{program['name']} at {holds['t']}:"
    rows = [(fact["fact"], f"since {fact['since']}", _until(fact["until"])) for fact in holds["facts"]]
    yield from (f"  {line}" for line in _aligned(rows))
    if (more := program["holding"] - len(rows)) > 0:
        yield f"  and {more:,} more, which `--facts {program['holding']}` shows"


def _until(until: int | str | None) -> str:
    return "" if until is None else f"until {until}"


def _of_program(program: Mapping[str, Any]) -> Sequence[str]:
    behind = program["lag"]["records"]
    state = program["state"]
    if state == "catching-up":
        state = f"{state} {program['progress']:.0%}"
    counts = (f"{program[name]:,}" for name in ("holding", "lines", "late"))
    memory = f"{program['bytes'] / 1e6:,.1f} MB"
    return program["name"], state, _text(program["t"]), *counts, f"{behind:,}", memory, ", ".join(program["streams"])


def _of_stream(stream: Mapping[str, Any]) -> Sequence[str]:
    rate, readers = f"{stream['rate']:,.1f}", ", ".join(stream["programs"])
    return stream["name"], f"{stream['facts']:,}", rate, _text(stream["latest"]), f"{stream['malformed']:,}", readers


def _text(value: object) -> str:
    return "-" if value is None else str(value)


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    return _aligned([head, *rows], _COUNTS)


def _aligned(rows: Sequence[Sequence[str]], counts: Collection[str] = ()) -> Iterator[str]:
    """Rows as lines whose columns stand below each other; those with `counts` in the first row to the right.

    >>> list(_aligned([("NAME", "FACTS"), ("north", "7")], {"FACTS"}))
    ['NAME   FACTS', 'north      7']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        cells = (
            text.rjust(width) if title in counts else text.ljust(width)
            for title, text, width in zip(rows[0], row, widths, strict=True)
        )
        yield _GAP.join(cells).rstrip()
