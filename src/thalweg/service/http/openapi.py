"""The OpenAPI document of the endpoints."""

import re
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any, Final

from thalweg.service.http.endpoint import JSON, Endpoint, Parameter

_TEXT: Final = {"type": "string"}
_REFUSAL: Final = {
    "description": "Refused: what is wrong, each with a number, a sentence and a way out.",
    "content": {JSON: {"schema": {"$ref": "#/components/schemas/Refusal"}}},
}
_SCHEMAS: Final = {
    "Diagnostic": {
        "type": "object",
        "required": ["code", "severity", "message"],
        "properties": {
            **dict.fromkeys(("code", "message", "file", "help"), _TEXT),
            "severity": {"enum": ["error", "warning"]},
            **{name: {"type": "integer"} for name in ("line", "column", "end_line", "end_column")},
            **{name: {"type": "array", "items": _TEXT} for name in ("notes", "listed")},
        },
    },
    "Refusal": {
        "type": "object",
        "required": ["diagnostics"],
        "properties": {"diagnostics": {"type": "array", "items": {"$ref": "#/components/schemas/Diagnostic"}}},
    },
}


def document(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    """The document, as data."""
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in endpoints:
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = _operation(endpoint)
    return {
        "openapi": "3.1.0",
        "info": {"title": "Thalweg", "version": version("thalweg"), "summary": "Stream reasoning as a service."},
        "paths": paths,
        "security": [{"token": []}, {"console": []}],
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "console": {"type": "apiKey", "in": "cookie", "name": "thalweg"},
            },
        },
    }


def _operation(endpoint: Endpoint) -> dict[str, Any]:
    names = re.findall(r"\{(\w+)\}", endpoint.path)
    parameters = [_parameter(Parameter(name, f"the {name}", is_required=True, place="path")) for name in names]
    operation: dict[str, Any] = {
        "operationId": endpoint.handler.__name__,
        "summary": endpoint.text,
        "parameters": parameters + [_parameter(parameter) for parameter in endpoint.parameters],
        "responses": {str(status): _answer(status, media) for status, media in endpoint.answers.items()},
    }
    operation["responses"]["default"] = _REFUSAL
    if endpoint.body:
        operation["requestBody"] = {"required": True, "content": {media: {} for media in endpoint.body}}
    if endpoint.scope is None:
        operation["security"] = []
    else:
        operation["x-scope"] = endpoint.scope
    return operation


def _answer(status: int, media: str) -> dict[str, Any]:
    answer: dict[str, Any] = {"description": _STATUS.get(status, "Done.")}
    return answer | ({"content": {media: {}}} if media else {})


_STATUS: Final = {201: "It is new.", 202: "It has begun.", 204: "Done.", 503: "Not yet."}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.is_required,
        "description": parameter.text,
        "schema": _TEXT,
    }
