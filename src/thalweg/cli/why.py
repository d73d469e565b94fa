"""The verb `why`."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from thalweg.cli import options
from thalweg.cli.deployed_command import GivenSources
from thalweg.cli.errors import (
    announce_compilation,
    complaining,
    outcome,
    refuse,
    usage,
)
from thalweg.diagnostics import VISIBLE

if TYPE_CHECKING:
    from thalweg.diagnostics import Diagnostic
    from thalweg.model.fact import Fact
    from thalweg.model.predicate import Predicate
    from thalweg.model.prefixes import Prefixes
    from thalweg.model.time import TimeFormat
    from thalweg.parts.patterns.why_event import EventExplanation
    from thalweg.parts.queries.why_row import RowProof


def why(
    context: typer.Context,
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="PROGRAM... FACT", help="One or more programs, then the fact, the row of a query, or the event."
        ),
    ],
    at: Annotated[
        str | None,
        typer.Option(metavar="T", help="The tick, or timestamp, to explain; the last one of a checkpoint needs none."),
    ] = None,
    stream: options.Stream = None,
    background: options.Background = None,
    map_: options.Map = None,
    from_: options.From = None,
    tick: options.Tick = "1s",
    delay: options.Delay = "0s",
    max_ahead: options.MaxAhead = "1 d",
    zone: options.Zone = None,
    times: options.Times = None,
    profile: options.Profile = None,
    window: options.Window = None,
    schema_stream: options.SchemaStream = False,
    literals: options.Literals = False,
    witnesses: options.Witnesses = False,
    as_: options.As = "entailment",
    topology: options.Topology = None,
    bolts: options.Bolts = None,
    checkpoint: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Without `--at`: the checkpoint of a run in one process, which may go on. It is asked at its last "
            "tick, and no stream is read.",
        ),
    ] = None,
    prefix: options.Prefix = None,
    verbose: options.Verbose = False,
    format: options.AsTextOrData = "text",
) -> None:
    """Show the derivation of a fact, and until when each step of it holds; or why the fact does not hold."""
    from thalweg import api

    with outcome() as ending:
        *names, fact = arguments
        programs, sources = [Path(name) for name in names], GivenSources.of(context, stream, background, map_)
        streams, facts = sources.streams, sources.background
        capabilities = api.understood(programs)
        if programs and capabilities.isdisjoint({"why", "why row"}):
            refuse(
                "`why` explains facts of rules (`.lars`), not of answer sets alone: "
                "write the program as rules, or see `thalweg explain`"
            )
        if not programs:
            refuse("both a program and a fact are needed")
        if as_ == "abstraction":
            refuse("`why` does not explain classes of events: see `thalweg explain` for the axioms that can matter")
        with usage():
            declared = api.given_prefixes(prefix or ())
        kinds: api.KindKeywords = {
            "profile": profile,
            "window": window,
            "schema_stream": schema_stream,
            "literals": literals,
            "witnesses": witnesses,
            "as_": as_,
            "topology": topology,
            "bolts": bolts,
            "prefix": declared,
        }
        read = iter(()) if at is None and checkpoint is not None else streams
        api.need_recordings(read)
        if at is None and checkpoint is None:
            refuse("`why` needs a time: give `--at`, or ask the `--checkpoint` of a run at its last tick")
        timing = api.Timing(tick, from_, at, delay, zone, times, max_ahead=max_ahead)
        wanted = api.ask(programs, read, facts, timing, kinds, mappings=sources.mappings)
        timing, prefixes, written = wanted.timing, wanted.prefixes, wanted.timing.format
        ending.prefixes = prefixes
        tell = complaining(prefixes, verbose)
        loaded = programs, facts, tick, wanted.ontology
        part = api.load_part(*loaded, report=tell, show=api.EVERYTHING, mapped=wanted.mapped)
        if at is None:
            assert checkpoint is not None
            if part.compiles:
                announce_compilation()
            engine = api.saved_reasoner(checkpoint, part, timing, tell)
            _explain_fact(
                engine, api.fact_of(fact, prefixes), written.text(engine.now), None, format, prefixes, written, tell
            )
            return
        if "why row" in capabilities:
            ran = api.run_to(part, streams, timing, tell, mapped=wanted.mapped)
            _explain_row(ran.why(fact, prefixes), fact, at, format, prefixes, written)
            return
        goal = api.fact_of(fact, prefixes)
        if part.compiles:
            announce_compilation()
        came: set[Predicate] = set()
        engine = api.run_to(
            part, streams, timing, tell, look=lambda batch: came.update(batch.rows), mapped=wanted.mapped
        )
        event = engine.why_event(goal) if hasattr(engine, "why_event") else None
        if event is not None or not hasattr(engine, "why"):
            _explain_event(event, fact, at, format, prefixes, written, tell)
            return
        _explain_fact(engine, goal, at, came, format, prefixes, written, tell)


def _explain_fact(
    engine: Any,
    goal: "Fact",
    at: str,
    came: "set[Predicate] | None",
    format: str,
    prefixes: "Prefixes",
    times: "TimeFormat",
    tell: Callable[["Diagnostic"], None],
) -> None:
    """Prints why a fact holds at the last tick of what reasons, or why it does not."""
    proof = None if engine.now is None else engine.why(goal)
    if proof is None:
        absence = engine.why_not(goal, came)
        if format == "json":
            print(json.dumps(absence.as_data(times), ensure_ascii=False, indent=2))
        tell(_does_not_hold(goal, at, [] if engine.now is None else engine.facts(), prefixes))
        if format == "text":
            print(prefixes.shorten(absence.render("  ", times)).translate(VISIBLE), file=sys.stderr)
        raise typer.Exit(1)
    _print(proof.as_data(times) if format == "json" else prefixes.shorten(proof.render(times=times)))


def _print(proof: dict[str, object] | str) -> None:
    print(proof.translate(VISIBLE) if isinstance(proof, str) else json.dumps(proof, ensure_ascii=False, indent=2))


def _explain_event(
    explanation: "EventExplanation | None",
    name: str,
    at: str,
    format: str,
    prefixes: "Prefixes",
    times: "TimeFormat",
    tell: Callable[["Diagnostic"], None],
) -> None:
    """Prints what events of a name are made of, or how far they are."""
    from thalweg.diagnostics import Diagnostic, RejectedError

    if explanation is None:
        help_ = "name an event that the program defines, as in `:Jam` or `:Jam(:road1)`"
        raise RejectedError([Diagnostic("E801", f"the event `{name}` is not defined", help=help_)])
    if format == "json":
        _print(explanation.as_data(times))
    elif explanation.proof is not None:
        _print(prefixes.shorten(explanation.render(times)))
    if explanation.proof is None:
        tell(Diagnostic("E405", f"there is no event `{name}` at {at}"))
        if format == "text":
            print(prefixes.shorten(explanation.render(times)).translate(VISIBLE), file=sys.stderr)
        raise typer.Exit(1)


def _explain_row(
    proof: "RowProof | None", row: str, at: str, format: str, prefixes: "Prefixes", times: "TimeFormat"
) -> None:
    """Prints what a row of a query rests on."""
    from thalweg.diagnostics import Diagnostic, RejectedError

    if proof is None:
        help_ = "see with `thalweg run` which rows there are; the last evaluation up to then is asked"
        raise RejectedError([Diagnostic("E405", f"the query has no such row at {at}: `{row}`", help=help_)])
    _print(proof.as_data(times) if format == "json" else prefixes.shorten(proof.render(times)))


def _does_not_hold(goal: "Fact", at: str, holding: "list[Fact]", prefixes: "Prefixes") -> "Diagnostic":
    from thalweg.diagnostics import Diagnostic

    akin = sorted(str(fact) for fact in holding if fact.signature == goal.signature)
    shown = ", ".join(akin[:5]) + (f" and {len(akin) - 5} more" if len(akin) > 5 else "")
    note = (
        f"facts of {goal.signature} that hold then: {shown}" if akin else f"no fact of {goal.signature} is output then"
    )
    help_ = _CLASH_SHAPE if goal.predicate == "inconsistent" else ""
    message = prefixes.shorten(f"`{goal}` does not hold at {at}")
    return Diagnostic("E405", message, notes=(prefixes.shorten(note),), help=help_)


_CLASH_SHAPE: Final = (
    'write `inconsistent("AXIOM",<INDIVIDUAL>,<INDIVIDUAL>)`, with the axiom as `run` prints it and the individual '
    "twice; for an axiom about a pair, `<INDIVIDUAL>,<OTHER>`"
)
