"""A deployment (`city.toml`) becomes a program of the service, streams with connectors, and an output.

    city.toml            the program `city`; the texts of its files are read once, when the service starts
    [streams.north]      a stream, and the connector that fills it
    [output] to          where its answers go, besides the service

Here alone do files and addresses come from: bodies of requests are texts.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from thalweg.answers.answer_formats import format_of_output
from thalweg.api.background_tables import is_background_table, read_background_table
from thalweg.api.deployed_names import check_mappings, deployed
from thalweg.api.naming import prefixes_of
from thalweg.connectors.files import read_text
from thalweg.connectors.mapping.read_mapping import read_mappings
from thalweg.connectors.mapping.tally import Tally
from thalweg.connectors.named_source import NamedSource
from thalweg.connectors.open import SINKS, is_remote
from thalweg.diagnostics import NOWHERE, Diagnostic, RejectedError, Source, Span, without_secrets
from thalweg.languages.deployment.deployed_sources import DeployedSource, tied_mappings
from thalweg.languages.deployment.read_deployment import Deployment, read_deployment
from thalweg.languages.registry import language_of_texts
from thalweg.model.prefixes import Prefixes, given_prefixes
from thalweg.service.program_text import is_settable
from thalweg.service.streams import NAME

_NOT_OF_NAMES: Final = re.compile(r"[^A-Za-z0-9_-]+")
_LONGEST: Final = 64
_TIED: Final = re.compile(r"\s*(?:`([^`]+)`|([^\s:`()<>,]+)):\s+(.*)\Z", re.DOTALL)
_TIMED: Final = re.compile(r"\)\s*at\s|^[^(]*\sat\s")

# Options that say how a run reports, which a service does in its own way.
_IDLE: Final = frozenset({"programs", "stream", "background", "map_", "out", "answer_format", "quiet", "base"})
_WAYS_OUT: Final = {
    "checkpoint": "leave it out: `--data` has what is needed to go on",
    "late": "leave it out: `/v1/programs/NAME/late` has late facts",
    "picture": "leave it out: `/v1/programs/NAME/history` and the console have the timeline",
    "on_error": "leave it out: malformed messages are left out, and shown with their stream",
    "workers": "leave it out: all programs of a service share their solvers",
    "to": "leave it out: a service has no last tick",
}


@dataclass(frozen=True, slots=True)
class ServedStream:
    """A stream and where it comes from; `definition` is that of the service, without secrets."""

    name: str
    origin: str
    definition: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ServedOutput:
    """Where the answers of a program go besides the service."""

    to: str
    format: str = "jsonl"

    @property
    def is_file(self) -> bool:
        return "://" not in self.to


@dataclass(frozen=True, slots=True)
class ServedDeployment:
    """A program by its name, the body with which it is PUT, its streams, and its output."""

    name: str
    body: Mapping[str, Any]
    streams: tuple[ServedStream, ...] = ()
    output: ServedOutput | None = None


def read_served(path: Path) -> ServedDeployment:
    """What a deployment has a service do; `RejectedError` with what is wrong with it."""
    deployment = read_deployment(Source(str(path), read_text(path)))
    wrong: list[Diagnostic] = []
    name = program_name(path.name.partition(".")[0])
    if name is None:
        message = f"no program can be called `{path.stem}`"
        way_out = "rename the file: a name begins with a letter; letters, digits, `_` and `-` follow"
        wrong.append(Diagnostic("E902", message, help=way_out))
    wrong += _wrong_streams(deployment)
    options = _options(deployment, wrong)
    output = _output(deployment, wrong)
    if wrong:
        raise RejectedError(wrong)
    prefixes = _prefixes(deployment)
    check_mappings(deployment, prefixes)
    body = {
        "sources": [_text(program, path.parent) for program in deployment.options["programs"]],  # type: ignore[union-attr]
        "background": _background(deployment, prefixes),
        "options": options,
        "streams": [stream.name for stream in deployment.streams],
        # What connectors have brought is the program's, also where it is another one now.
        "from": "earliest",
    }
    return ServedDeployment(name or "", body, tuple(_streams(deployment, path.parent)), output)


def program_name(stem: str) -> str | None:
    """The name of the program of a file; None where nothing of its name can be one.

    >>> program_name("city north"), program_name("2-rooms"), program_name("???")
    ('city-north', 'rooms', None)
    """
    name = _NOT_OF_NAMES.sub("-", stem).lstrip("0123456789_-")[:_LONGEST].rstrip("-")
    return name or None


def _wrong_streams(deployment: Deployment) -> Iterator[Diagnostic]:
    if not deployment.streams:
        way_out = 'add for example `[streams.readings]`, and in it `from = "mqtt://broker/readings"`'
        yield Diagnostic("E902", "the deployment has no stream", Span(deployment.source, 0, 0), way_out)
    for stream in deployment.streams:
        if not re.fullmatch(NAME, stream.name):
            way_out = "a name begins with a letter; letters, digits, `_` and `-` follow, 64 at most"
            yield Diagnostic("E902", f"a stream of a service cannot be called `{stream.name}`", help=way_out)
        if stream.origin == "-":
            message = f"`[streams.{stream.name}]`: a service does not read its standard input"
            yield Diagnostic("E902", message, help=f"post to `/v1/streams/{stream.name}/facts`")


def _options(deployment: Deployment, wrong: list[Diagnostic]) -> dict[str, Any]:
    """The options of the program, by their keys; what a service cannot do goes to `wrong`."""
    options: dict[str, Any] = {}
    for name, value in deployment.options.items():
        key, span = deployment.places.get(name, (name, NOWHERE))
        if name in _IDLE or (name, value) in (("runtime", "embedded"), ("on_error", "skip")):
            continue
        if name == "prefix":
            options["prefix"] = _prefix_table(deployment)
        elif is_settable(name):
            options[key.rpartition(".")[2]] = value
        else:
            shown = f"`{key} = {_quoted(value)}`" if name == "runtime" else f"`{key}`"
            way_out = _WAYS_OUT.get(name, "leave it out, or run the deployment: `thalweg run`")
            wrong.append(Diagnostic("E902", f"{shown} has no meaning for a service", span, way_out))
    return options


def _prefix_table(deployment: Deployment) -> dict[str, str]:
    """The prefixes that its options declare."""
    stated = deployment.options.get("prefix", [])
    try:
        return given_prefixes(stated if isinstance(stated, list) else [])
    except ValueError as error:
        _, span = deployment.places["prefix"]
        raise RejectedError([Diagnostic("E902", f"`output.prefix`: {error}", span)]) from None


def _quoted(value: object) -> str:
    return f'"{value}"'


def _output(deployment: Deployment, wrong: list[Diagnostic]) -> ServedOutput | None:
    """Where answers go, and how they are written."""
    to, stated = deployment.options.get("out"), deployment.options.get("answer_format")
    if not isinstance(to, str):
        return None
    _, span = deployment.places.get("out", ("", NOWHERE))
    format = _format(to, None if stated is None else str(stated))
    if isinstance(format, str):
        return ServedOutput(to if "://" in to else str(Path(to).absolute()), format)
    message, way_out = format
    wrong.append(Diagnostic("E902", message, span, way_out))
    return None


def _format(to: str, stated: str | None) -> str | tuple[str, str]:
    """The format of an output; or a sentence about what is wrong with it, and a way out."""
    scheme = to.partition("://")[0] if "://" in to else None
    if to == "-" or (scheme is not None and scheme not in SINKS):
        known = " ".join(f"`{name}://`" for name in SINKS)
        return f"a service cannot send answers to `{without_secrets(to)}`", f"supported are {known} and files"
    try:
        named = format_of_output(to)
    except ValueError as error:
        message, _, way_out = str(error).partition("; ")
        return message, way_out
    format = stated or named or "jsonl"
    if named not in (None, format):
        return f"`{to}` is written as `{named}`, not as `{format}`", "leave `format` out, or rename it"
    if format != "jsonl" or to.endswith(".gz"):
        return (
            f"a service cannot write `{to}` as it goes",
            "answers are lines of JSON: name a file such as `answers.jsonl`",
        )
    return format


def _prefixes(deployment: Deployment) -> Prefixes:
    """The prefixes that its programs and options declare."""
    return prefixes_of(list(map(Path, deployment.options["programs"])), _prefix_table(deployment))  # type: ignore[arg-type]


def _text(file: str, folder: Path) -> dict[str, str]:
    """A file as a text, under the name that it has in the deployment."""
    name = _seen_from(folder, file)
    return {"name": name.removesuffix(".gz"), "text": read_text(Path(file))}


def _seen_from(folder: Path, file: str) -> str:
    """The name of a file as the deployment has it, wherever the command is typed."""
    path = Path(file)
    return str(path.relative_to(folder)) if path.is_relative_to(folder) else file


def _background(deployment: Deployment, prefixes: Prefixes) -> list[dict[str, str]]:
    """The background as texts: tables are read here, by the mappings of the deployment."""
    folder = Path(deployment.source.name).parent
    wrong: list[Diagnostic] = []
    texts: list[dict[str, str]] = []
    tables: list[Any] = deployed(deployment, "background")
    tally = _tally(deployment, tables, prefixes)
    for table in tables:
        origin = table.origin if isinstance(table, NamedSource) else table
        if is_background_table(table):
            facts = read_background_table(table, tally, wrong)
            name = table.name if isinstance(table, NamedSource) else _seen_from(folder, str(origin))
            texts.append(
                {"name": f"{name}{language_of_texts().suffixes[0]}", "text": "".join(f"{fact}.\n" for fact in facts)}
            )
        else:
            texts.append(_text(str(origin), folder))
    if wrong:
        raise RejectedError(wrong)
    return texts


def _tally(deployment: Deployment, tables: Sequence[object], prefixes: Prefixes) -> Tally:
    """The mappings of a deployment, with how its tables are written."""
    texts = list(tied_mappings(deployment.streams, deployment.background))
    stated = {table.name: table.stated for table in tables if isinstance(table, NamedSource)}
    return Tally(read_mappings(texts, prefixes), stated)


def _streams(deployment: Deployment, folder: Path) -> Iterator[ServedStream]:
    mappings = _mappings(deployment)
    for stream in deployment.streams:
        definition: dict[str, Any] = {**stream.written}
        if mappings[stream.name]:
            definition["map"] = mappings[stream.name]
        if stream.zone is not None:
            definition["zone"] = stream.zone
        definition["from"] = without_secrets(_seen_from(folder, stream.origin))
        yield ServedStream(stream.name, stream.origin, definition)


def _mappings(deployment: Deployment) -> dict[str, list[str]]:
    """The mappings of each stream: its own, and those of others that name it.

    One without `at` that stands with a file is for tables of the background.
    """
    mappings: dict[str, list[str]] = {stream.name: [] for stream in deployment.streams}
    sources: Sequence[DeployedSource] = (*deployment.streams, *deployment.background)
    for source in sources:
        for text in source.map:
            tied = _TIED.match(text)
            name = source.name if tied is None else tied[1] or tied[2]
            if name in mappings:
                own = text if tied is None else tied[3]
                if is_remote(source.origin) or _TIMED.search(own):
                    mappings[name].append(own)
            elif tied is not None and source.name in mappings:
                # It names a topic, or a table.
                mappings[source.name] += [tied[3]] if _TIMED.search(tied[3]) else []
    return mappings
