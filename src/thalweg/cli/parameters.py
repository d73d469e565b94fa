"""Commands whose options are rows of the table of options (`languages/options.py`)."""

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.models import OptionInfo

from thalweg.languages.options import OPTIONS, Option

Values = Mapping[str, Any]
"""The values of the options of a command, by parameter."""

Programs = Annotated[
    list[Path],
    typer.Argument(
        metavar="PROGRAM",
        help="Rule programs (`.lars`), answer set programs (`.lp`), continuous queries (`.rspql`) and ontologies "
        "(`.ttl .owl .rdf .nt .jsonld .ofn .omn`) and events (`.tw`), run together; or a deployment (`.toml`).",
    ),
]


def with_options(verb: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Makes a command of a function: its last parameter gets the values of all options that the verb has."""

    def command(function: Callable[..., None]) -> Callable[..., None]:
        arguments = [*inspect.signature(function).parameters.values()][:-1]

        @wraps(function)
        def called(**words: Any) -> None:
            function(*(words.pop(argument.name) for argument in arguments), words)

        options = [_parameter(option) for option in OPTIONS if verb in option.verbs]
        parameters = [argument.replace(kind=inspect.Parameter.KEYWORD_ONLY) for argument in arguments] + options
        called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return called

    return command


def typed(option: Option, panel: str | None = None) -> OptionInfo:
    """An option as typer knows it, shown in a panel of `--help`."""
    info: OptionInfo = typer.Option(
        option.flag,
        metavar=option.metavar,
        min=option.min,
        callback=None if option.check is None else _checked(option.check),
        help=option.help,
        rich_help_panel=panel,
    )
    return info


def _parameter(option: Option) -> inspect.Parameter:
    # Type checkers do not take a value for a type.
    annotated: Any = Annotated
    annotation = annotated[option.type, typed(option, option.panel)]
    return inspect.Parameter(option.name, inspect.Parameter.KEYWORD_ONLY, default=option.default, annotation=annotation)


def _checked(check: Callable[[str], None]) -> Callable[[str | None], str | None]:
    def callback(value: str | None) -> str | None:
        try:
            if value is not None:
                check(value)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from None
        return value

    return callback
