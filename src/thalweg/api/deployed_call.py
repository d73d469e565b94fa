"""Verbs of Python that take a deployment (`city.toml`) where they take programs: its keys are options of the call.

    run("city.toml")                                as `thalweg run city.toml`, its answers as values
    run("city.toml", stream=frame, end=60)          what the call says counts where both say something

Keys that a verb has no parameter for are for others, or for the command line: where answers and late facts are written.
"""

import inspect
from collections.abc import Callable, Collection, Sequence
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, ParamSpec, TypeVar, get_args

from thalweg.api.deployed_names import deployed, in_place, untied
from thalweg.api.kind_options import check_keywords
from thalweg.api.sources import classify, language_of_program, named
from thalweg.connectors.files import read_text
from thalweg.connectors.mapping.propose import errors_in_python
from thalweg.diagnostics import NOWHERE, Diagnostic, RejectedError, Source
from thalweg.languages.options import IN_PYTHON, Option
from thalweg.model.prefixes import given_prefixes

if TYPE_CHECKING:
    from thalweg.languages.deployment.read_deployment import Deployment

P = ParamSpec("P")
R = TypeVar("R")

# What is a file in a deployment, and a function in Python, is left out.
_OPTIONS: Final = {str(option.python): option for option in IN_PYTHON.values() if not option.callback}


def verb(function: Callable[P, R]) -> Callable[P, R]:
    """A function that takes a deployment as well; an option that it does not know is a `TypeError`."""
    signature = inspect.signature(function)
    options = _keywords(signature)

    @wraps(function)
    def called(*args: P.args, **keywords: P.kwargs) -> R:
        check_keywords(keywords, options)
        call = signature.bind_partial(*args, **keywords)
        with errors_in_python():
            if _take_deployment(call, options):
                return function(*call.args, **call.kwargs)
            return function(*args, **keywords)

    return called


def _keywords(signature: inspect.Signature) -> Sequence[str]:
    """The keywords of a verb, also those that all verbs have in common."""
    names: list[str] = []
    for parameter in signature.parameters.values():
        if parameter.kind is parameter.VAR_KEYWORD:
            names += get_args(parameter.annotation)[0].__annotations__
        elif parameter.kind is not parameter.VAR_POSITIONAL:
            names.append(parameter.name)
    return names


def _take_deployment(call: inspect.BoundArguments, keywords: Collection[str]) -> bool:
    """Puts what a deployment says in its place, where there is one among the programs."""
    parameter = "program" if "program" in call.signature.parameters else "programs"
    argument = call.arguments.get(parameter, ())
    programs = list(argument) if isinstance(argument, list | tuple) else [argument]
    for place, program in enumerate(programs):
        deployment = _deployment(program)
        if deployment is not None:
            programs[place : place + 1] = map(Path, deployment.options["programs"])  # type: ignore[arg-type]
            call.arguments[parameter] = tuple(programs)
            typed = {*call.arguments, *call.arguments.get("kinds", ())}
            for name in {*keywords} & _OPTIONS.keys() - typed:
                if _OPTIONS[name].name in deployment.options:
                    _set(call, name, _value(_OPTIONS[name], deployment))
            _stand_in(call, deployment, typed)
            return True
    return False


def _stand_in(call: inspect.BoundArguments, deployment: "Deployment", typed: Collection[str]) -> None:
    """Gives the streams and backgrounds of a call the names of those of the deployment for which they stand."""
    all_named = True
    for name, deployed_sources in (("stream", deployment.streams), ("background", deployment.background)):
        is_replaced = name in typed and deployed_sources and name in call.arguments
        sources = named(call.arguments[name]) if is_replaced else None
        if sources is not None:
            call.arguments[name], is_named = in_place(sources, deployed_sources)
            all_named &= is_named
    if not all_named and "map" in call.arguments and "map" not in typed:
        call.arguments["map"] = untied(deployment)


def _deployment(program: object) -> "Deployment | None":
    """The deployment that stands in the place of a program; None for a program."""
    source = classify(program) if isinstance(program, str) else program
    deploys = language_of_program(source).deploys if isinstance(source, Path | Source) else None
    if deploys is None:
        return None
    if isinstance(source, Source):
        message = f"`{source.name}` is a text, and no file that a text names is opened"
        help_ = f"write the deployment to a file, and give its path: `Path({source.name!r})`"
        raise RejectedError([Diagnostic("E511", message, help=help_)])
    deployment: Deployment = deploys(Source(str(source), read_text(Path(source))))  # type: ignore[arg-type]
    return deployment


def _set(call: inspect.BoundArguments, name: str, value: object) -> None:
    if name in call.signature.parameters:
        call.arguments[name] = value
    else:
        call.arguments.setdefault("kinds", {})[name] = value


def _value(option: Option, deployment: "Deployment") -> Any:
    """A value as Python has it; `RejectedError` with its place where it cannot be that."""
    name, value, choices = str(option.python), deployment.options[option.name], option.choices
    try:
        if name in ("stream", "background") and isinstance(value, list):
            return deployed(deployment, name)
        if name == "prefix" and isinstance(value, list):
            return given_prefixes(value)
        if name == "conf" and isinstance(value, list):
            return dict(text.split("=", 1) for text in value)
        if choices and value not in choices:
            raise ValueError(f"it is {' or '.join(f'`{word}`' for word in choices)}, and not `{value}`")
        return int(str(value)) if option.is_count else value
    except ValueError as error:
        key, span = deployment.places.get(option.name, (name, NOWHERE))
        reason = f"`{value}` is not a number" if option.is_count else error
        raise RejectedError([Diagnostic("E902", f"`{key}`: {reason}", span)]) from None
