"""The verb `why`."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from thalweg.cli.deployed_command import CommandSources
from thalweg.cli.errors import announce_compilation, complaining, misfits, outcome, refuse, usage
from thalweg.cli.parameters import Values, with_options
from thalweg.cli.service_options import refusals
from thalweg.diagnostics import VISIBLE
from thalweg.languages.options import OPTIONS, flag_of

if TYPE_CHECKING:
    from thalweg.diagnostics import Diagnostic
    from thalweg.kinds.events.why_event import EventExplanation
    from thalweg.kinds.queries.why_row import RowProof
    from thalweg.model.fact import Fact
    from thalweg.model.predicate import Predicate
    from thalweg.model.prefixes import Prefixes
    from thalweg.model.time import TimeFormat

_OF_QUESTIONS: Final = frozenset({"service", "program", "token", "at", "format", "verbose"})
"""The options that a service may be asked with."""


@with_options("why")
def why(
    context: typer.Context,
    arguments: Annotated[
        list[str],
        typer.Argument(
            metavar="PROGRAM... FACT", help="One or more programs, then the fact, the row of a query, or the event."
        ),
    ],
    values: Values,
) -> None:
    """Show the derivation of a fact, and until when each step of it holds; or why the fact does not hold."""
    if values["service"] is not None:
        _ask_service(arguments, values)
        return
    misfits({flag_of(name): values[name] for name in ("program", "token")}, "`--service`")
    from thalweg import api

    with outcome() as ending:
        *names, fact = arguments
        programs, sources = [Path(name) for name in names], CommandSources.of(context, values)
        streams, facts = sources.streams, sources.background
        flags = api.understood(programs)
        _need_derivations(programs, flags, values)
        with usage():
            prefix = api.given_prefixes(values["prefix"] or ())
        at, checkpoint = values["at"], values["checkpoint"]
        read = iter(()) if at is None and checkpoint is not None else streams
        api.need_recordings(read)
        if at is None and checkpoint is None:
            refuse("`why` needs a time: give `--at`, or ask the `--checkpoint` of a run at its last tick")
        options = api.RunOptions.of({**api.keywords_of("why", values), "prefix": prefix, "map": sources.mappings})
        # The streams of a run say what some of its options mean, also where they are not read.
        resolved = api.resolve_options(programs, streams or read, facts, options)
        prefixes, times = resolved.prefixes, resolved.timing.format
        ending.prefixes = prefixes
        report = complaining(prefixes, values["verbose"])
        about = programs, facts, values["tick"], resolved.ontology
        part = api.load_part(*about, report=report, show=api.EVERYTHING, mapped=resolved.mapped)
        explained = _Explained(fact, at, values["format"], prefixes, times, report)
        if at is None:
            if part.compiles:
                announce_compilation()
            engine = api.saved_reasoner(checkpoint, part, resolved.timing, report)
            replace(explained, at=times.text(engine.now)).print_fact(engine, api.fact_of(fact, prefixes), None)
            return
        if part.compiles and "why row" not in flags:
            announce_compilation()
        came: set[Predicate] = set()
        observer = api.Observer(report, look=lambda batch: came.update(batch.rows))
        run = api.run_to(part, streams, resolved.run, observer)
        if run.explains_rows:
            explained.print_row(run.why_row(fact, prefixes))
            return
        wanted = api.fact_of(fact, prefixes)
        event = run.why_event(wanted) if run.explains_events else None
        if event is not None or not run.explains_facts:
            explained.print_event(event)
            return
        explained.print_fact(run, wanted, came)


def _ask_service(arguments: list[str], values: Values) -> None:
    """Asks a service why something holds, and prints what it answers."""
    with outcome(), refusals():
        from thalweg.connectors.service_client import ServiceClient, ServiceRefusedError

        program, format = values["program"], values["format"]
        if program is None or len(arguments) != 1:
            refuse("`--service URL` asks about one fact of one of its programs: `--program NAME FACT`")
        misfits(_of_runs(values), "`--service`, which knows how its programs run", only=False)
        service = ServiceClient(values["service"], values["token"])
        try:
            answer = service.get("programs", program, "why", fact=arguments[0], at=values["at"])
        except ServiceRefusedError as error:
            _print_why_not(error.data.get("why_not"), format)
            raise
        _print_answer(answer["proof"], format)


def _of_runs(values: Values) -> dict[str, object]:
    """The options that say what is run and how, where they are not what they are by default."""
    rows = [option for option in OPTIONS if "why" in option.verbs and option.name not in _OF_QUESTIONS]
    return {row.flag: None if values[row.name] == row.default else values[row.name] for row in rows}


def _print_answer(proof: dict[str, Any], format: str) -> None:
    from thalweg.explain.proof_text import proof_text

    # What events are made of, and what rows rest on, has a shape of its own.
    is_text = format == "text" and "claim" in proof
    print(proof_text(proof).translate(VISIBLE) if is_text else json.dumps(proof, ensure_ascii=False, indent=2))


def _print_why_not(absence: dict[str, Any] | None, format: str) -> None:
    from thalweg.explain.proof_text import absence_text

    if absence is None:
        return
    if format == "json":
        print(json.dumps(absence, ensure_ascii=False, indent=2))
    elif "rules" in absence:
        print(absence_text(absence, "  ").translate(VISIBLE), file=sys.stderr)


def _need_derivations(programs: "list[Path]", flags: frozenset[str], values: Values) -> None:
    """Refuses programs whose answers have no derivation."""
    if programs and flags.isdisjoint({"why", "why row"}):
        refuse(
            "`why` explains facts of rules (`.lars`), not of answer sets alone: "
            "write the program as rules, or see `thalweg explain`"
        )
    if not programs:
        refuse("both a program and a fact are needed")
    if values["as_"] == "abstraction":
        refuse("`why` does not explain classes of events: see `thalweg explain` for the axioms that can matter")


@dataclass(frozen=True, slots=True)
class _Explained:
    """What is explained, as it was typed, at which time, and how that is printed."""

    text: str
    at: str
    format: str
    prefixes: "Prefixes"
    times: "TimeFormat"
    report: Callable[["Diagnostic"], None]

    def print_fact(self, engine: Any, fact: "Fact", came: "set[Predicate] | None") -> None:
        """Prints why a fact holds at the last tick of what reasons, or why it does not."""
        proof = None if engine.now is None else engine.why(fact)
        if proof is None:
            absence = engine.why_not(fact, came)
            if self.format == "json":
                print(json.dumps(absence.as_data(self.times), ensure_ascii=False, indent=2))
            self.report(_does_not_hold(fact, self.at, [] if engine.now is None else engine.facts(), self.prefixes))
            if self.format == "text":
                self._print_to_stderr(absence.render("  ", self.times))
            raise typer.Exit(1)
        self._print(proof.as_data(self.times) if self.format == "json" else proof.render(times=self.times))

    def print_event(self, explanation: "EventExplanation | None") -> None:
        """Prints what events of a name are made of, or how far they are."""
        from thalweg.diagnostics import Diagnostic, RejectedError

        if explanation is None:
            help_ = "name an event that the program defines, as in `:Jam` or `:Jam(:road1)`"
            raise RejectedError([Diagnostic("E801", f"the event `{self.text}` is not defined", help=help_)])
        if self.format == "json":
            self._print(explanation.as_data(self.times))
        elif explanation.proof is not None:
            self._print(explanation.render(self.times))
        if explanation.proof is None:
            self.report(Diagnostic("E405", f"there is no event `{self.text}` at {self.at}"))
            if self.format == "text":
                self._print_to_stderr(explanation.render(self.times))
            raise typer.Exit(1)

    def print_row(self, proof: "RowProof | None") -> None:
        """Prints what a row of a query rests on."""
        from thalweg.diagnostics import Diagnostic, RejectedError

        if proof is None:
            help_ = "see with `thalweg run` which rows there are; the last evaluation up to then is asked"
            message = f"the query has no such row at {self.at}: `{self.text}`"
            raise RejectedError([Diagnostic("E405", message, help=help_)])
        self._print(proof.as_data(self.times) if self.format == "json" else proof.render(self.times))

    def _print(self, proof: dict[str, object] | str) -> None:
        if isinstance(proof, str):
            print(self.prefixes.shorten(proof).translate(VISIBLE))
        else:
            print(json.dumps(proof, ensure_ascii=False, indent=2))

    def _print_to_stderr(self, text: str) -> None:
        print(self.prefixes.shorten(text).translate(VISIBLE), file=sys.stderr)


def _does_not_hold(absent: "Fact", at: str, holding: "list[Fact]", prefixes: "Prefixes") -> "Diagnostic":
    from thalweg.diagnostics import Diagnostic

    akin = sorted(str(fact) for fact in holding if fact.signature == absent.signature)
    shown = ", ".join(akin[:5]) + (f" and {len(akin) - 5} more" if len(akin) > 5 else "")
    note = (
        f"facts of {absent.signature} that hold then: {shown}"
        if akin
        else f"no fact of {absent.signature} is output then"
    )
    help_ = _CLASH_SHAPE if absent.predicate == "inconsistent" else ""
    message = prefixes.shorten(f"`{absent}` does not hold at {at}")
    return Diagnostic("E405", message, notes=(prefixes.shorten(note),), help=help_)


_CLASH_SHAPE: Final = (
    'write `inconsistent("AXIOM",<INDIVIDUAL>,<INDIVIDUAL>)`, with the axiom as `run` prints it and the individual '
    "twice; for an axiom about a pair, `<INDIVIDUAL>,<OTHER>`"
)
