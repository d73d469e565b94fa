"""The verb `check`."""

import json
from typing import TYPE_CHECKING

import typer

from thalweg.cli.errors import (
    complain,
    need_ontologies,
    outcome,
    signatures_of,
    usage,
)
from thalweg.cli.options import (
    As,
    AsTextOrData,
    Background,
    Inputs,
    Profile,
    Programs,
    Tick,
)

if TYPE_CHECKING:
    pass


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
