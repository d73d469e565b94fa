"""The OpenAPI document of the endpoints."""

import re
from collections.abc import Iterable
from importlib.metadata import version
from typing import Any, Final

from thalweg.service.http.endpoint import JSON, Endpoint, Parameter
from thalweg.service.http.schemas import SCHEMAS

_REFUSAL: Final = {
    "description": "Refused: what is wrong, each with a number, a sentence and a way out.",
    "content": {JSON: {"schema": {"$ref": "#/components/schemas/Refusal"}}},
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
            "schemas": SCHEMAS,
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
        "responses": {str(status): _answer(endpoint, status) for status in endpoint.answers},
    }
    operation["responses"]["default"] = _REFUSAL
    if endpoint.body:
        operation["requestBody"] = {
            "required": True,
            "content": {media: _schema(endpoint.takes) for media in endpoint.body},
        }
    if endpoint.scope is None:
        operation["security"] = []
    else:
        operation["x-scope"] = endpoint.scope
    return operation


def _answer(endpoint: Endpoint, status: int) -> dict[str, Any]:
    media = endpoint.answers[status]
    answer: dict[str, Any] = {"description": _STATUS.get(status, "Done.")}
    gives = _OF_STATUS.get(status, endpoint.gives) if media == JSON else ""
    return answer | ({"content": {media: _schema(gives)}} if media else {})


def _schema(name: str) -> dict[str, Any]:
    """What a body is like; nothing where that is not said."""
    if not name:
        return {}
    one = {"$ref": f"#/components/schemas/{name.removesuffix('[]')}"}
    return {"schema": {"type": "array", "items": one} if name.endswith("[]") else one}


_OF_STATUS: Final = {202: "Stopping"}
_STATUS: Final = {201: "It is new.", 202: "It has begun.", 204: "Done.", 503: "Not yet."}


def _parameter(parameter: Parameter) -> dict[str, Any]:
    return {
        "name": parameter.name,
        "in": parameter.place,
        "required": parameter.is_required,
        "description": parameter.text,
        "schema": {"type": "integer", "minimum": 0} if parameter.is_number else {"type": "string"},
    }
