"""The verbs that look at programs: `check`, `explain` and `why`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final, Literal

import typer

from thalweg.cli.ending import (
    announce_compilation,
    complain,
    need_ontologies,
    outcome,
    refuse,
    signatures_of,
    usage,
)
from thalweg.cli.options import (
    As,
    AsTextOrData,
    Background,
    Bolts,
    Delay,
    From,
    Inputs,
    Literals,
    Profile,
    Programs,
    SchemaStream,
    Stream,
    Tick,
    Topology,
    Window,
    Witnesses,
)

if TYPE_CHECKING:
    from thalweg.diagnostics import Diagnostic
    from thalweg.explain.answer_sets import ExplainedAnswerSets
    from thalweg.explain.parts import ExplainedParts
    from thalweg.explain.plan import Explanation
    from thalweg.explain.topology import ExplainedTopology
    from thalweg.model.fact import Fact


def check(
    programs: Programs,
    background: Background = None,
    tick: Tick = "1s",
    profile: Profile = "rl",
    inputs: Inputs = None,
    as_: As = "entailment",
    format: AsTextOrData = "text",
) -> None:
    """Parse and analyse programs, and report all problems, without running anything."""
    from thalweg import api

    with outcome():
        with usage():
            api.Timing(tick).clock  # noqa: B018
            reading = api.Reading(profile, task=as_)
            names = signatures_of(inputs, programs)
        need_ontologies(programs, as_)
        parts, found = api.analyse_parts(programs, background or (), tick, reading, inputs=names)
        known = parts.rules
        sizes = [] if known is None else [f"rules: {len(known.rules)}, facts: {len(known.background)}"]
        size = ", ".join([*sizes, *(["answer sets"] if "answer sets" in map(api.kind_of, programs) else [])])
        if format == "json":
            print(json.dumps([one.as_data() for one in found], ensure_ascii=False, indent=2))
        else:
            for one in found:
                complain(one)
            if not found:
                print(f"no problems found ({size})")
        if any(one.severity == "error" for one in found):
            raise typer.Exit(1)


def explain(
    programs: Programs,
    background: Background = None,
    tick: Tick = "1s",
    profile: Profile = "rl",
    window: Window = "0",
    schema_stream: SchemaStream = False,
    literals: Literals = False,
    witnesses: Witnesses = False,
    inputs: Inputs = None,
    decomposition: Annotated[
        Literal["sound", "paper"],
        typer.Option(
            help="For `.lp`: sound communities, or the published ones, with a warning where they change answers."
        ),
    ] = "sound",
    as_: As = "entailment",
    topology: Topology = None,
    bolts: Bolts = None,
    format: Annotated[
        Literal["text", "json", "svg"], typer.Option(help="As text for people, as data, or as a drawing.")
    ] = "text",
    runtime: Annotated[
        Literal["embedded", "spark"], typer.Option(help="`spark` also shows stages, keys and what cannot be split.")
    ] = "embedded",
    partitions: Annotated[int, typer.Option(metavar="N", min=1, help="Buckets of a stage on Spark.")] = 2,
) -> None:
    """Show the plan: strata, windows, shared memories, join orders, and how it is split over partitions."""
    from thalweg import api

    with outcome():
        from thalweg.explain.plan import explain as explain_program

        with usage():
            api.Timing(tick, delay=window).ticks()
            reading = api.Reading(
                profile, window, schema_stream, literals, witnesses, as_, topology, bolts, spread=runtime == "spark"
            )
            names = signatures_of(inputs, programs)
        need_ontologies(programs, as_)
        solved = [api.kind_of(one) == "answer sets" for one in programs]
        mixed = any(solved) and not all(solved)
        if mixed and runtime == "spark":
            refuse("rules and answer set programs can run together only with `--runtime embedded`")
        if decomposition == "paper" and not any(solved):
            refuse("`--decomposition` is only for answer set programs (`.lp`)")
        spread = partitions if runtime == "spark" else None
        plan: Explanation | ExplainedAnswerSets | ExplainedParts | ExplainedTopology
        if mixed:
            plan = api.explain_mixed(programs, background or (), tick, reading, names, complain)
        elif any(solved):
            published = decomposition == "paper"
            plan = api.explain_answer_sets(programs, background or (), names, published, complain, tick, spread)
            complain(*plan.warnings)
        elif as_ == "consistency":
            plan = api.explain_checks(programs, background or (), tick, reading, spread, complain)
        else:
            program = api.load(*programs, background=background or (), tick=tick, reading=reading, report=complain)
            plan = explain_program(program, spread)
        if format == "json":
            print(json.dumps(plan.as_data(), ensure_ascii=False, indent=2))
        else:
            print(plan.as_svg() if format == "svg" else plan.as_text())


def why(
    arguments: Annotated[
        list[str], typer.Argument(metavar="PROGRAM... FACT", help="One or more programs, then the fact.")
    ],
    at: Annotated[str, typer.Option(metavar="T", help="The tick, or timestamp, to explain.")],
    stream: Stream = None,
    background: Background = None,
    from_: From = None,
    tick: Tick = "1s",
    delay: Delay = "0s",
    profile: Profile = "rl",
    window: Window = "0",
    schema_stream: SchemaStream = False,
    literals: Literals = False,
    witnesses: Witnesses = False,
    as_: As = "entailment",
    topology: Topology = None,
    bolts: Bolts = None,
    format: AsTextOrData = "text",
) -> None:
    """Show the derivation of a fact, and until when each step of it holds."""
    from thalweg import api
    from thalweg.diagnostics import Rejected
    from thalweg.languages.lars.facts import read_fact

    with outcome():
        *names, fact = arguments
        programs, streams = [Path(name) for name in names], [api.on_command_line(name) for name in stream or ()]
        if programs and all(api.kind_of(one) == "answer sets" for one in programs):
            refuse(
                "`why` explains facts of rules (`.lars`), not of answer sets alone: "
                "write the program as rules, or see `thalweg explain`"
            )
        if not programs:
            refuse("both a program and a fact are needed")
        need_ontologies(programs, as_)
        with usage():
            reading = api.Reading(profile, window, schema_stream, literals, witnesses, as_, topology, bolts)
            timing, reading = api.alone(programs, streams, api.Timing(tick, from_, at, delay), reading)
            timing.ticks()
            api.Timing(tick, delay=window).ticks()
        parts = api.load_parts(programs, background or (), tick, reading, report=complain)
        asked = read_fact(fact)
        announce_compilation()
        engine = api.run_to(parts, streams, timing, complain)
        proof = None if engine.now is None else engine.why(asked)
        if proof is None:
            raise Rejected([_does_not_hold(asked, at, [] if engine.now is None else engine.facts())])
        print(json.dumps(proof.as_data(), ensure_ascii=False, indent=2) if format == "json" else proof.render())


def _does_not_hold(asked: "Fact", at: str, holding: "list[Fact]") -> "Diagnostic":
    from thalweg.diagnostics import Diagnostic

    akin = sorted(str(fact) for fact in holding if fact.signature == asked.signature)
    shown = ", ".join(akin[:5]) + (f" and {len(akin) - 5} more" if len(akin) > 5 else "")
    note = f"facts of {asked.signature} that hold then: {shown}" if akin else f"no fact of {asked.signature} holds then"
    help_ = _CLASH_SHAPE if asked.predicate == "inconsistent" else ""
    return Diagnostic("E405", f"`{asked}` does not hold at {at}", notes=(note,), help=help_)


_CLASH_SHAPE: Final = (
    'write `inconsistent("AXIOM",<INDIVIDUAL>,<INDIVIDUAL>)`, with the axiom as `run` prints it and the individual '
    "twice; for an axiom about a pair, `<INDIVIDUAL>,<OTHER>`"
)
