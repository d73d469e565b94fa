"""The verb `init`."""

from pathlib import Path
from typing import Annotated

import typer

from thalweg.cli.errors import outcome, refuse


def init(
    data: Annotated[
        Path,
        typer.Argument(
            metavar="DATA", help="A sample of readings: `.csv`, `.parquet`, `.jsonl`, or a stream of facts."
        ),
    ],
    name: Annotated[
        str | None, typer.Option(metavar="NAME", help="What the files are called; by default as the data.")
    ] = None,
) -> None:
    """Write a first deployment from a sample of data: a mapping, a tick, a delay and a rule, ready to run."""
    with outcome():
        from thalweg.api.first_deployment import first_deployment, names_for

        deployment, rules = names_for(name or data.name.partition(".")[0])
        first = first_deployment(data, rules.name)
        for path in (deployment, rules):
            if path.exists():
                refuse(f"`{path}` is there already: choose other names with `--name`, or remove it")
        rules.write_text(first.rules, encoding="utf-8")
        deployment.write_text(first.deployment, encoding="utf-8")
        print(f"wrote {deployment} and {rules}; next:\n\n    thalweg run {deployment}\n")
