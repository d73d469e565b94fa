"""Writes the reference pages of Python, of the command line and of HTTP, from the code itself: `make reference`."""

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import typer.main

import thalweg
import thalweg.spark
from thalweg.api.answer_values import AnswerView
from thalweg.api.run_options import KindKeywords, OntologyKeywords
from thalweg.api.verbs import WhyKeywords
from thalweg.cli import app
from thalweg.languages.options import PANELS
from thalweg.service.http.application import ENDPOINTS
from thalweg.service.http.openapi import document

FOLDER = Path(__file__).parent / "reference"
GENERATED = "<!-- Written by `make reference` from the code: edit the docstrings and help texts instead. -->\n"
VALUES = ("Answers", "Session", "Engine", "Fact", "IRI", "Term", "Event", "Source")
ANSWERS = ("Change", "Snapshot", "Interval", "Clash", "Solution", "Bindings", "ConstructedGraph", "Truth")
ANSWERS += ("AbstractEvent", "ComplexEvent", "RejectedEvents")
VERBS = ("run", "open", "load", "check", "why", "why_event", "why_not", "why_row")
ERRORS = ("RejectedError", "FailedError", "BusyError", "ThalwegWarning", "Diagnostic")


def pages() -> dict[str, str]:
    """The text of each page by its name."""
    return {"python.md": "".join(python()), "command-line.md": "".join(command_line()), "http.md": "".join(http())}


def python() -> Iterator[str]:
    yield f"# Python\n\n{GENERATED}\n`import thalweg` has these names.\n"
    for title, names in (("Functions", VERBS), ("Values", VALUES), ("Answers", ANSWERS), ("Errors", ERRORS)):
        yield f"\n## {title}\n"
        for name in names:
            yield from described(name, getattr(thalweg, name))
    yield "\n## Inside a job of Spark\n\n`thalweg.spark` has these names ([how to use them](../how-to/spark.md)).\n"
    for name in thalweg.spark.__all__:
        yield from described(name, getattr(thalweg.spark, name))
    yield "\n## Options of some kinds of programs\n\n"
    yield f"{inspect.getdoc(OntologyKeywords)}\n\n{inspect.getdoc(KindKeywords)}\n\n{inspect.getdoc(WhyKeywords)}\n"


def described(name: str, thing: Any) -> Iterator[str]:
    yield f"\n### `{name}{signature(thing)}`\n\n{with_examples(inspect.getdoc(thing) or '')}\n"
    if inspect.isclass(thing) and name in VALUES:
        for member, value in vars(thing).items():
            if member.startswith("_") or not (callable(value) or isinstance(value, property)):
                continue
            shown = "" if isinstance(value, property) else signature(value)
            summary = (inspect.getdoc(value) or "").partition("\n\n")[0].replace("\n", " ")
            yield f"\n- `{member}{shown}`: {summary}"
        yield "\n"


def with_examples(text: str) -> str:
    """A docstring whose examples are code that can be copied; they are run where they stand in the code."""
    lines, fenced = [], False
    for line in text.replace("PythonFact", "Fact").replace("  # doctest: +SKIP", "").splitlines():
        is_code, inside = line.startswith((">>> ", "...")), bool(line.strip())
        if is_code and not fenced:
            lines.append("```")
            fenced = True
        elif fenced and not inside:
            lines.append("```")
            fenced = False
        lines.append(line[4:] if is_code else f"# {line}" if fenced and inside else line)
    return "\n".join([*lines, *(["```"] if fenced else [])])


def signature(thing: Any) -> str:
    """The names of parameters with their defaults; types are in the code, and would hide them."""
    if inspect.isclass(thing) and issubclass(thing, AnswerView):
        defaults = thing._defaults
        shown = (f"{name}={defaults[name]!r}" if name in defaults else name for name in thing.__match_args__)
        return f"({', '.join(shown)})"
    try:
        parameters = inspect.signature(thing).parameters.values()
    except (TypeError, ValueError):
        return ""
    parts, starred = [], False
    for one in parameters:
        if one.name == "self":
            continue
        if one.kind is one.KEYWORD_ONLY and not starred:
            parts.append("*")
        starred |= one.kind in (one.KEYWORD_ONLY, one.VAR_POSITIONAL)
        star = {one.VAR_POSITIONAL: "*", one.VAR_KEYWORD: "**"}.get(one.kind, "")
        default = one.default.__name__ if inspect.isfunction(one.default) else repr(one.default)
        parts.append(f"{star}{one.name}" if one.default is one.empty else f"{one.name}={default}")
    return f"({', '.join(parts)})"


def command_line() -> Iterator[str]:
    yield f"# The command line\n\n{GENERATED}\nThe same as `thalweg VERB --help`.\n"
    for verb, command in typer.main.get_command(app).commands.items():  # type: ignore[attr-defined]
        arguments = [one for one in command.params if one.param_type_name == "argument"]
        words = " ".join(one.metavar or one.name.upper() for one in arguments)
        yield f"\n## `thalweg {verb} {words}`\n\n{command.help}\n\n"
        yield from (f"- `{one.metavar or one.name.upper()}`: {one.help}\n" for one in arguments)
        options = {one.name: one for one in command.params if one.param_type_name == "option" and one.name != "help"}
        grouped = {name for names in PANELS.values() for name in names}
        yield from table("Options", [one for name, one in options.items() if name not in grouped])
        for panel, names in PANELS.items():
            yield from table(panel, [options[name] for name in names if name in options])
        if command.epilog:
            yield f"\n{command.epilog}\n"


def choices(annotation: Any) -> list[str]:
    """The words that an option takes, where it takes only some."""
    if get_origin(annotation) is Literal:
        return list(get_args(annotation))
    return [word for one in get_args(annotation) for word in choices(one)]


def table(title: str, options: list[Any]) -> Iterator[str]:
    if not options:
        return
    yield f"\n| {title} | |\n|---|---|\n"
    for one in options:
        kind = one.metavar or "|".join(choices(one.type_descriptor.annotation))
        word = f"{one.opts[0]} {kind}".strip().replace("|", "\\|")
        default = "" if one.default in (None, False, ()) or callable(one.default) else f" Default: `{one.default}`."
        yield f"| `{word}` | {(one.help or '').replace('|', chr(92) + '|')}{default} |\n"


def http() -> Iterator[str]:
    yield f"# HTTP\n\n{GENERATED}\nThe routes of [`thalweg serve`](../how-to/serve.md), from its OpenAPI document, "
    yield "which is at `/v1/openapi.json`. "
    yield 'A request that is refused has a status of 400 or above, and `{"diagnostics": […]}`.\n'
    api = document(ENDPOINTS)
    for path, operations in api["paths"].items():
        for method, operation in operations.items():
            yield from route(f"{method.upper()} {path}", operation)
    yield "\n## Bodies and answers\n\nKeys in brackets may be left out, or are not always there.\n"
    for name, schema in api["components"]["schemas"].items():
        yield f"\n### `{name}`\n\n{keys(schema)}"


def route(name: str, operation: dict[str, Any]) -> Iterator[str]:
    """A route with its parameters, the bodies that it takes and the answers that it gives."""
    yield f"\n## `{name}`\n\n{operation['summary']}\n"
    yield f"\n- scope: {operation.get('x-scope', 'none is needed')}\n"
    for parameter in operation["parameters"]:
        place = {"path": "in the path", "query": "in the query", "header": "a header"}[parameter["in"]]
        yield f"- `{parameter['name']}` ({place}): {parameter['description']}\n"
    if body := operation.get("requestBody"):
        yield f"- body: {media_types(body['content'])}\n"
    for status, answer in operation["responses"].items():
        if status != "default":
            yield f"- {status}: {media_types(answer.get('content', {})) or 'no body'}\n"


def media_types(content: dict[str, Any]) -> str:
    """The media types of a body, and what is in it where that is said."""
    schemas = (kind(value["schema"]) if "schema" in value else "" for value in content.values())
    return ", ".join(f"`{media}` {shown}".strip() for media, shown in zip(content, schemas, strict=True))


def keys(schema: dict[str, Any]) -> str:
    """The keys of an object, each with what it is."""
    required = schema.get("required", [])
    rows = []
    for name, value in schema["properties"].items():
        shown = f"`{name}`" if name in required else f"[`{name}`]"
        text = value.get("description", "").replace("|", r"\|")
        rows.append(f"| {shown} | {kind(value)} | {text} |\n")
    return f"| key | is | |\n|---|---|---|\n{''.join(rows)}"


def kind(schema: dict[str, Any]) -> str:
    """What a value is, in a word or two; a link where it is described itself."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return f"[`{name}`](#{name.lower()})"
    if "enum" in schema or "const" in schema:
        return " or ".join(f"`{value}`" for value in schema.get("enum", [schema.get("const")]))
    kinds = schema.get("type", "any value")
    if kinds == "array":
        return f"list of {kind(schema['items'])}"
    if kinds == "object" and schema.get("properties"):
        return f"object: {', '.join(f'`{name}`' for name in schema['properties'])}"
    return " or ".join(kinds) if isinstance(kinds, list) else kinds


if __name__ == "__main__":
    for name, text in pages().items():
        (FOLDER / name).write_text(text, encoding="utf-8")
        print(f"wrote {FOLDER / name}", file=sys.stderr)
