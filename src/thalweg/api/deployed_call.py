"""Verbs of Python that take a deployment (`city.toml`) where they take programs: its keys are options of the call.

    run("city.toml")                                as `thalweg run city.toml`, its answers as values
    run("city.toml", stream=frame, end=60)          what the call says counts where both say something

Keys that a verb has no parameter for are for others, or for the command line: where answers and late facts are written.
"""

import inspect
from collections.abc import Callable, Collection, Mapping
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, ParamSpec, TypeVar, get_args, get_origin

from thalweg.api.deployed_names import deployed, in_place, untied
from thalweg.api.kind_options import check_keywords
from thalweg.api.sources import classify, language_of_program, named
from thalweg.connectors.files import read_text
from thalweg.connectors.mapping.propose import errors_in_python
from thalweg.diagnostics import NOWHERE, Diagnostic, RejectedError, Source
from thalweg.model.prefixes import given_prefixes

if TYPE_CHECKING:
    from thalweg.languages.deployment.read_deployment import Deployment

P = ParamSpec("P")
R = TypeVar("R")

_NAMES: Final = {"map_": "map", "from_": "start", "to": "end"}
# Files on the command line, and functions in Python.
_FILES: Final = ("late", "report")


def verb(function: Callable[P, R]) -> Callable[P, R]:
    """A function that takes a deployment as well; an option that it does not know is a `TypeError`."""
    signature = inspect.signature(function)
    options = dict(_options(signature))

    @wraps(function)
    def called(*args: P.args, **keywords: P.kwargs) -> R:
        check_keywords(keywords, options)
        call = signature.bind_partial(*args, **keywords)
        with errors_in_python():
            if _take_deployment(call, options):
                return function(*call.args, **call.kwargs)
            return function(*args, **keywords)

    return called


def _options(signature: inspect.Signature) -> Mapping[str, Any]:
    """The options of a verb with their types, also those that all verbs have in common."""
    found: dict[str, Any] = {}
    for one in signature.parameters.values():
        if one.kind is one.VAR_KEYWORD:
            found |= get_args(one.annotation)[0].__annotations__
        elif one.kind is not one.VAR_POSITIONAL:
            found[one.name] = one.annotation
    return found


def _take_deployment(call: inspect.BoundArguments, options: Mapping[str, Any]) -> bool:
    """Puts what a deployment says in its place, where there is one among the programs."""
    parameter = "program" if "program" in call.signature.parameters else "programs"
    given = call.arguments.get(parameter, ())
    things = list(given) if isinstance(given, list | tuple) else [given]
    for place, thing in enumerate(things):
        deployment = _deployment(thing)
        if deployment is not None:
            things[place : place + 1] = map(Path, deployment.options["programs"])  # type: ignore[arg-type]
            call.arguments[parameter] = tuple(things)
            said = {_NAMES.get(option, option): option for option in deployment.options if option not in _FILES}
            typed = {*call.arguments, *call.arguments.get("kinds", ())}
            for name in options.keys() & said.keys() - typed:
                _set(call, name, _value(name, said[name], deployment, options[name]))
            _stand_in(call, deployment, typed)
            return True
    return False


def _stand_in(call: inspect.BoundArguments, deployment: "Deployment", typed: Collection[str]) -> None:
    """Gives the streams and backgrounds of a call the names of those of the deployment for which they stand."""
    all_known = True
    for name, known in (("stream", deployment.streams), ("background", deployment.background)):
        given = named(call.arguments[name]) if name in typed and known and name in call.arguments else None
        if given is not None:
            call.arguments[name], is_known = in_place(given, known)
            all_known &= is_known
    if not all_known and "map" in call.arguments and "map" not in typed:
        call.arguments["map"] = untied(deployment)


def _deployment(thing: object) -> "Deployment | None":
    found = classify(thing) if isinstance(thing, str) else thing
    deploys = language_of_program(found).deploys if isinstance(found, Path | Source) else None
    if deploys is None:
        return None
    if isinstance(found, Source):
        message = f"`{found.name}` is a text, and no file that a text names is opened"
        help_ = f"write the deployment to a file, and give its path: `Path({found.name!r})`"
        raise RejectedError([Diagnostic("E511", message, help=help_)])
    deployment: Deployment = deploys(Source(str(found), read_text(Path(found))))  # type: ignore[arg-type]
    return deployment


def _set(call: inspect.BoundArguments, name: str, value: object) -> None:
    if name in call.signature.parameters:
        call.arguments[name] = value
    else:
        call.arguments.setdefault("kinds", {})[name] = value


def _value(name: str, option: str, deployment: "Deployment", type_: Any) -> Any:
    """A value as Python has it; `RejectedError` with its place where it cannot be that."""
    value, choices = deployment.options[option], _members(type_)
    try:
        if name in ("stream", "background") and isinstance(value, list):
            return deployed(deployment, name)
        if name == "prefix" and isinstance(value, list):
            return given_prefixes(value)
        if choices and value not in choices:
            raise ValueError(f"it is {' or '.join(f'`{one}`' for one in choices)}, and not `{value}`")
        return int(str(value)) if _is_count(type_) else value
    except ValueError as error:
        key, span = deployment.places.get(option, (name, NOWHERE))
        reason = f"`{value}` is not a number" if _is_count(type_) else error
        raise RejectedError([Diagnostic("E902", f"`{key}`: {reason}", span)]) from None


def _members(type_: Any) -> tuple[str, ...]:
    """The choices that a type leaves, where it does."""
    if get_origin(type_) is Literal:
        return get_args(type_)
    return tuple(member for one in get_args(type_) for member in _members(one))


def _is_count(type_: Any) -> bool:
    return int in get_args(type_) and str not in get_args(type_)
