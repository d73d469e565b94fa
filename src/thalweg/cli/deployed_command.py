"""Verbs that take a deployment (`city.toml`) where they take programs: its keys are options that were not typed."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from typer.core import TyperCommand

from thalweg.cli.errors import outcome, usage
from thalweg.cli.help_panels import put_in_panels

if TYPE_CHECKING:
    from thalweg.languages.deployment.read_deployment import Deployment


class DeployedCommand(TyperCommand):
    """A verb whose arguments are programs, or one deployment; its many options are shown in groups."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        put_in_panels(self.params)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Puts what the deployment says in the place of its name; what is typed counts where both say something."""
        # What is wrong with words that were typed is reported by the parser.
        with outcome():
            deployment = _deployment(args)
        if deployment is None:
            return super().parse_args(ctx, args)
        ctx.obj = deployment
        typed = [word for word in args if word != deployment.source.name]
        said = {one.name: list(self._words(one, deployment, typed)) for one in self.params}
        programs = said.pop("programs", []) or said.pop("arguments", [])
        try:
            return super().parse_args(ctx, [*programs, *(word for words in said.values() for word in words), *typed])
        except typer.BadParameter as error:
            option = None if error.param is None else error.param.name
            if option is None or not said.get(option):
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
        for one in value if isinstance(value, list) else [value]:
            if name == "programs":
                yield str(one)
            elif one is True:
                yield parameter.opts[0]
            elif one is not False:
                yield f"{parameter.opts[0]}={one}"


@dataclass(frozen=True, slots=True)
class GivenSources:
    """The streams, backgrounds and mappings of a command; those of a deployment have the names that it gives them."""

    streams: list[Any]
    background: list[Any]
    mappings: Sequence[str]

    @classmethod
    def of(
        cls,
        context: typer.Context,
        streams: Sequence[str] | None,
        background: Sequence[Path] | None,
        mappings: Sequence[str] | None,
    ) -> "GivenSources":
        """What the options of a command mean."""
        from thalweg.api import given_prefixes, on_command_line, prefixes_of
        from thalweg.api.deployed_names import check_mappings, deployed, in_place, untied

        deployment, said = context.obj, list(mappings or ())
        given, tables = list(map(on_command_line, streams or ())), list(background or ())
        if deployment is None:
            return cls(given, tables, said)
        with usage():
            named = given_prefixes(context.params.get("prefix") or ())
        check_mappings(deployment, prefixes_of([*map(Path, deployment.options["programs"]), *tables], named))
        all_known = True
        if list(streams or ()) == deployment.options.get("stream"):
            given = deployed(deployment, "stream")
        elif deployment.streams:
            given, all_known = in_place(given, deployment.streams)
        if list(map(str, tables)) == deployment.options.get("background"):
            tables = deployed(deployment, "background")
        elif deployment.background:
            tables, known = in_place(tables, deployment.background)
            all_known &= known
        if not all_known and said == deployment.options.get("map_"):
            said = untied(deployment)
        return cls(given, tables, said)


def _deployment(words: Sequence[str]) -> "Deployment | None":
    """The deployment among the words of a command; it stands alone, because it names all programs that there are."""
    from thalweg.api import language_of_program
    from thalweg.connectors.files import read_text
    from thalweg.diagnostics import Source

    for word in words:
        deploys = None if word.startswith("-") else language_of_program(Path(word)).deploys
        if deploys is not None:
            deployment: Deployment = deploys(Source(word, read_text(Path(word))))
            return deployment
    return None


def _wrong(deployment: "Deployment", option: str, message: str) -> Exception:
    from thalweg.diagnostics import NOWHERE, Diagnostic, RejectedError

    key, span = deployment.places.get(option, (option, NOWHERE))
    return RejectedError([Diagnostic("E902", f"`{key}`: {message.removeprefix('Value error, ')}", span)])
