"""Verbs that take a deployment (`city.toml`) where they take programs: its keys are options that were not typed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

from thalweg.cli.errors import outcome, usage
from thalweg.cli.parameters import Values

if TYPE_CHECKING:
    from thalweg.languages.deployment.read_deployment import Deployment


class DeployedCommand(TyperCommand):
    """A verb whose arguments are programs, or one deployment."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts what the deployment says in the place of its name; what is typed counts where both say something."""
        # What is wrong with words that were typed is reported by the parser.
        with outcome():
            deployment = _deployment(args)
        if deployment is None:
            return super().parse_args(ctx, args)
        ctx.obj = deployment
        typed = [word for word in args if word != deployment.source.name]
        words = {parameter.name: list(self._words(parameter, deployment, typed)) for parameter in self.params}
        programs = words.pop("programs", []) or words.pop("arguments", [])
        try:
            return super().parse_args(ctx, [*programs, *chain.from_iterable(words.values()), *typed])
        except typer.BadParameter as error:
            option = None if error.param is None else error.param.name
            if option is None or not words.get(option):
                raise
            with outcome():
                raise _wrong(deployment, option, error.message) from None

    def _words(self, parameter: Any, deployment: "Deployment", typed: Sequence[str]) -> Iterator[str]:
        """What a deployment says of an option as words of the command line; nothing where it is typed."""
        # The programs of `why` stand before the fact.
        name = "programs" if parameter.name == "arguments" else parameter.name
        value = deployment.options.get(name)
        if value is None or any(word.partition("=")[0] in parameter.opts for word in typed):
            return
        for member in value if isinstance(value, list) else [value]:
            if name == "programs":
                yield str(member)
            elif member is True:
                yield parameter.opts[0]
            elif member is not False:
                yield f"{parameter.opts[0]}={member}"


@dataclass(frozen=True, slots=True)
class CommandSources:
    """The streams, backgrounds and mappings of a command; those of a deployment have the names that it gives them."""

    streams: list[Any]
    background: list[Any]
    mappings: Sequence[str]

    @classmethod
    def of(cls, context: typer.Context, values: Values) -> "CommandSources":
        """What the options of a command mean."""
        from thalweg.api import given_prefixes, on_command_line, prefixes_of
        from thalweg.api.deployed_names import check_mappings, deployed, in_place, untied

        deployment, mappings = context.obj, list(values["map_"] or ())
        names, tables = list(values.get("stream") or ()), list(map(on_command_line, values["background"] or ()))
        streams = list(map(on_command_line, names))
        if deployment is None:
            return cls(streams, tables, mappings)
        with usage():
            prefixes = given_prefixes(context.params.get("prefix") or ())
        check_mappings(deployment, prefixes_of([*map(Path, deployment.options["programs"]), *tables], prefixes))
        all_named = True
        if names == deployment.options.get("stream"):
            streams = deployed(deployment, "stream")
        elif deployment.streams:
            streams, all_named = in_place(streams, deployment.streams)
        if list(map(str, tables)) == deployment.options.get("background"):
            tables = deployed(deployment, "background")
        elif deployment.background:
            tables, tables_named = in_place(tables, deployment.background)
            all_named &= tables_named
        if not all_named and mappings == deployment.options.get("map_"):
            mappings = untied(deployment)
        return cls(streams, tables, mappings)


def _deployment(words: Sequence[str]) -> "Deployment | None":
    """The deployment among the words of a command; it stands alone, because it names all programs that there are."""
    # Not of `api`, which imports the engine: Java, which takes longer, is started first.
    from thalweg.connectors.files import read_text
    from thalweg.diagnostics import Source
    from thalweg.languages.registry import language_of

    for word in words:
        language = None if word.startswith("-") else language_of(word)
        if language is not None and language.deploys is not None:
            deployment: Deployment = language.deploys(Source(word, read_text(Path(word))))
            return deployment
    return None


def _wrong(deployment: "Deployment", option: str, message: str) -> Exception:
    from thalweg.diagnostics import NOWHERE, Diagnostic, RejectedError

    key, span = deployment.places.get(option, (option, NOWHERE))
    return RejectedError([Diagnostic("E902", f"`{key}`: {message.removeprefix('Value error, ')}", span)])
