"""What bodies of requests and answers in JSON look like: the schemas of the OpenAPI document, by their names.

Program      what `GET /v1/programs/{name}` answers
ProgramBody  what is PUT there
"""

from collections.abc import Mapping
from typing import Any, Final

from thalweg.languages.options import OPTIONS
from thalweg.service.program_text import ORIGINS, is_settable
from thalweg.service.stream import KEYS
from thalweg.service.streams import NAME

Schema = Mapping[str, Any]

_TEXT: Final[Schema] = {"type": "string"}
_COUNT: Final[Schema] = {"type": "integer", "minimum": 0}
_SIZE: Final[Schema] = {"type": "integer", "minimum": 0, "description": "in bytes"}
_NUMBER: Final[Schema] = {"type": "number", "minimum": 0}
_YES: Final[Schema] = {"type": "boolean"}
_ANYTHING: Final[Schema] = {"type": "object"}
_TIME: Final[Schema] = {"type": ["integer", "string"], "description": "a tick, or a timestamp"}
_NAMED: Final[Schema] = {"type": "string", "pattern": f"^{NAME}$"}


def _one(name: str) -> Schema:
    return {"$ref": f"#/components/schemas/{name}"}


def _list(items: Schema, text: str = "") -> Schema:
    return {"type": "array", "items": items} | ({"description": text} if text else {})


def _or_null(schema: Schema, text: str = "") -> Schema:
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return {**schema, "type": [*kinds, "null"]} | ({"description": text} if text else {})


def _described(schema: Schema, text: str) -> Schema:
    return {**schema, "description": text}


def _object(properties: Mapping[str, Schema], optional: Mapping[str, Schema] = {}) -> Schema:
    """An object that has all of some keys, and perhaps others, and no more."""
    return {
        "type": "object",
        "required": list(properties),
        "properties": {**properties, **optional},
        "additionalProperties": False,
    }


_KINDS: Final[Mapping[str, Schema]] = {
    "true or false": _YES,
    "a text": {"type": ["string", "number"]},
    "a list of texts": {"type": ["array", "string"], "items": _TEXT},
    "a table": {"type": "object", "additionalProperties": _TEXT},
}
_OPTIONS: Final = {
    option.key.name: {**_KINDS[option.key.kind], "description": option.help}
    for option in sorted(OPTIONS, key=lambda option: option.name)
    if option.key is not None and is_settable(option.name)
}
_SOURCES: Final = _list(_one("Text"), "the programs; the ending of a name says what its text is")
_BACKGROUND: Final = _list(_one("Text"), "what always holds: facts, or graphs of RDF")
_SETTINGS: Final = _one("Options")
_STREAMS: Final = _list(_NAMED, "the streams that it reads; one that is not there yet is made")
_DIAGNOSTICS: Final = _list(_one("Diagnostic"))
_PROOF: Final = _described(_ANYTHING, "as `thalweg why --format json` prints it")

SCHEMAS: Final[Mapping[str, Schema]] = {
    "Diagnostic": _object(
        {"code": _TEXT, "severity": {"enum": ["error", "warning"]}, "message": _TEXT},
        {
            **dict.fromkeys(("file", "help"), _TEXT),
            **dict.fromkeys(("line", "column", "end_line", "end_column"), _COUNT),
            **dict.fromkeys(("notes", "listed"), _list(_TEXT)),
        },
    ),
    "Refusal": {**_object({"diagnostics": _DIAGNOSTICS}), "additionalProperties": True},
    "Health": _object({"status": {"const": "ok"}, "version": _TEXT}),
    "Ready": _object({"ready": _YES}, {"because": _list(_TEXT, "what is not ready yet")}),
    "Token": _object({"name": _TEXT, "scope": {"enum": ["read", "write", "admin"]}, "made": _TEXT}),
    "SessionBody": _object({"token": _TEXT}),
    "Options": _object({}, _OPTIONS),
    "Text": _object({"name": _TEXT, "text": _TEXT}),
    "StreamBody": _object(
        {},
        {
            "map": {**_list(_TEXT, "mappings, such as `temp(device, v) at ts`"), "type": ["array", "string"]},
            **{key: {} for key in KEYS if key not in ("map", "from")},
        },
    ),
    "Stream": _object(
        {
            "name": _NAMED,
            "map": _list(_TEXT, "how rows and messages become facts"),
            "facts": _described(_COUNT, "how many have come"),
            "rate": _described(_NUMBER, "facts a second, over ten seconds"),
            "latest": _or_null(_TIME, "the latest time of a fact"),
            "arrived": _or_null(_TEXT, "when the last body came"),
            "malformed": _described(_COUNT, "lines that could not be read"),
            "bad": _list(_one("BadLine"), "the last ten of them"),
            "bytes": _SIZE,
            "from": _or_null(_TEXT, "what a connector reads"),
            "programs": _list(_NAMED, "those that read it"),
        },
        {"connector": _described(_ANYTHING, "how the connector is doing")},
    ),
    "BadLine": _object({"arrived": _TEXT, "text": _TEXT, "diagnostic": _one("Diagnostic")}),
    "Posted": _object(
        {"seq": _described(_COUNT, "its number in the log"), "facts": _COUNT},
        {"skipped": _COUNT, "diagnostics": _DIAGNOSTICS},
    ),
    "Records": _object({"records": _list(_one("Record"))}),
    "Record": _object({"seq": _COUNT, "arrived": _TEXT, "type": _TEXT, "text": _TEXT}),
    "CheckBody": _object(
        {"sources": _SOURCES},
        {
            "background": _BACKGROUND,
            "options": _SETTINGS,
            "streams": _STREAMS,
            "from": {"enum": [*ORIGINS]},
            "memory": {"type": ["string", "integer"]},
        },
    ),
    "Checked": _object(
        {"ok": _YES, "diagnostics": _DIAGNOSTICS},
        {"would": _described(_object({"keeps": _list(_TEXT), "begins": _list(_TEXT)}), "with `?program=`")},
    ),
    "ProgramBody": _object(
        {"sources": _SOURCES, "streams": _STREAMS},
        {
            "background": _BACKGROUND,
            "options": _SETTINGS,
            "from": {"enum": [*ORIGINS], "description": "where it begins; by default `now`"},
            "memory": {"type": ["string", "integer"], "description": "the budget of its engine; by default `256MB`"},
        },
    ),
    "Program": _object(
        {
            "name": _NAMED,
            "generation": _described(_COUNT, "which body it is; the `ETag`"),
            "state": {"enum": ["catching-up", "live", "failed", "stopping"]},
            "progress": {"type": "number", "minimum": 0, "maximum": 1},
            "because": _list(_one("Diagnostic"), "why it has failed"),
            "t": _or_null(_TIME, "the last tick that was evaluated"),
            "awaits": _list(_NAMED, "streams that have said nothing yet: no tick is decided before (see `idle`)"),
            "lag": _object({"records": _COUNT, "seconds": _NUMBER}),
            "lines": _described(_COUNT, "how many it has answered"),
            "holding": _described(_COUNT, "how many facts hold"),
            "late": _described(_COUNT, "facts that came too late"),
            "bytes": _described(_SIZE, "memory of its engines"),
            "cpu": _described(_NUMBER, "seconds of its thread"),
            "warnings": _DIAGNOSTICS,
            "subscriptions": _list(_one("Subscription")),
            "sources": _SOURCES,
            "background": _BACKGROUND,
            "streams": _STREAMS,
            "options": _SETTINGS,
            "from": {"enum": [*ORIGINS]},
            "memory": _TEXT,
        },
        {"answering": _described(_COUNT, "the generation that answers while the last one catches up")},
    ),
    "Subscription": _object({"name": _TEXT, "text": _TEXT, "from": _or_null(_TIME, "its first tick")}),
    "Subscribed": _object({"from": _or_null(_TIME, "the first tick of which it answers")}),
    "Stopping": _object({"state": {"const": "stopping"}}),
    "RestartBody": _object({"from": {"enum": ["checkpoint", "earliest", "now"]}}),
    "Plan": {
        **_object({"counts": _described(_ANYTHING, "by the `id` of a box")}, {"boxes": _list(_ANYTHING)}),
        "additionalProperties": True,
    },
    "Facts": _object(
        {
            "t": _or_null(_TIME),
            "facts": _list(_one("HeldFact")),
            "next": _or_null(_TEXT, "what to give as `after` for the next page"),
        }
    ),
    "HeldFact": _object({"fact": _TEXT, "since": _TIME, "until": _or_null(_TIME, "how long it holds for certain")}),
    "Why": _object({"t": _or_null(_TIME), "proof": _PROOF}),
    "History": _object(
        {
            "first": _described({"type": "number"}, "where it begins: a tick, or milliseconds since 1970"),
            "last": {"type": "number"},
            "unit": _described({"type": "number"}, "the length of a tick"),
            "zone": _or_null(_TEXT),
            "groups": _list(_object({"p": _TEXT, "rows": _list(_list({})), "curves": _list({})})),
        },
        {"note": _described(_TEXT, "what was left out")},
    ),
    "PlaygroundBody": _object(
        {"sources": _SOURCES},
        {
            "background": _BACKGROUND,
            "options": _SETTINGS,
            "stream": _one("Text"),
            "to": _or_null(_TIME, "the last tick"),
            "why": _list(_TEXT, "facts that are to be explained"),
        },
    ),
    "Played": _object(
        {
            "lines": _list(_ANYTHING, "what `thalweg run` would print"),
            "proofs": _described(_ANYTHING, "by the facts that were asked about"),
            "history": _one("History"),
            "diagnostics": _DIAGNOSTICS,
        }
    ),
}
"""By their names."""
