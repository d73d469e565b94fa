"""The document is of exactly the routes that there are."""

from collections.abc import Callable, Iterator
from typing import Any

from starlette.routing import Route

from serving import FACTS, RULES, Serving
from thalweg.service.http.application import ENDPOINTS, routed
from thalweg.service.http.endpoint import Api
from thalweg.service.http.openapi import document
from thalweg.service.http.schemas import SCHEMAS

# As the contract of the service lists them.
CONTRACT = """
GET /v1/health
GET /v1/ready
GET /v1/metrics
GET /v1/tokens
POST /v1/session
GET /v1/openapi.json
PUT /v1/streams/{}
GET /v1/streams
GET /v1/streams/{}
POST /v1/streams/{}/facts
GET /v1/streams/{}/facts
DELETE /v1/streams/{}
POST /v1/check
PUT /v1/programs/{}
GET /v1/programs
GET /v1/programs/{}
PUT /v1/programs/{}/subscriptions/{}
DELETE /v1/programs/{}/subscriptions/{}
POST /v1/programs/{}/restart
DELETE /v1/programs/{}
GET /v1/programs/{}/plan
GET /v1/programs/{}/plan.svg
GET /v1/programs/{}/facts
GET /v1/programs/{}/why
GET /v1/programs/{}/lines
GET /v1/programs/{}/events
GET /v1/programs/{}/late
GET /v1/programs/{}/history
POST /v1/playground
"""


def plain(path: str) -> str:
    return "/".join("{}" if part.startswith("{") else part for part in path.split("/"))


def test_the_document_is_of_the_routes(served: Serving) -> None:
    written = served.client.get("/v1/openapi.json").json()
    documented = {(method.upper(), path) for path, methods in written["paths"].items() for method in methods}
    app = routed(Api.__new__(Api))
    routes = {
        (method, route.path)
        for route in app.routes
        if isinstance(route, Route)
        for method in (route.methods or ())
        if method != "HEAD"
    }
    assert documented == routes
    assert {f"{method} {plain(path)}" for method, path in routes} == set(CONTRACT.split("\n")) - {""}


def test_every_route_says_what_it_needs_and_answers() -> None:
    operations = [operation for path in document(ENDPOINTS)["paths"].values() for operation in path.values()]
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    assert all(operation["summary"] and operation["responses"].keys() - {"default"} for operation in operations)
    open_ones = {operation["operationId"] for operation in operations if operation.get("security") == []}
    assert open_ones == {"health", "session", "openapi"}


def misfits(value: Any, schema: Any, place: str = "") -> Iterator[str]:
    """Where a value is not as a schema says."""
    if "$ref" in schema:
        yield from misfits(value, SCHEMAS[schema["$ref"].rpartition("/")[2]], place)
        return
    kinds = schema.get("type", [])
    if kinds and not any(TYPES[kind](value) for kind in ([kinds] if isinstance(kinds, str) else kinds)):
        yield f"{place}: {value!r} is no {kinds}"
    elif value not in schema.get("enum", [schema.get("const", value)]):
        yield f"{place}: {value!r}"
    elif isinstance(value, dict) and "properties" in schema:
        yield from (f"{place}.{key} is missing" for key in set(schema["required"]) - value.keys())
        others = value.keys() - schema["properties"].keys()
        yield from (f"{place}.{key} is unknown" for key in others if not schema["additionalProperties"])
        for key, member in schema["properties"].items():
            if key in value:
                yield from misfits(value[key], member, f"{place}.{key}")
    elif isinstance(value, list):
        for number, member in enumerate(value):
            yield from misfits(member, schema.get("items", {}), f"{place}[{number}]")


TYPES: dict[str, Callable[[Any], bool]] = {
    "null": lambda value: value is None,
    "boolean": lambda value: isinstance(value, bool),
    "integer": lambda value: isinstance(value, int) and not isinstance(value, bool),
    "number": lambda value: isinstance(value, int | float) and not isinstance(value, bool),
    "string": lambda value: isinstance(value, str),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
}
SOURCES = [{"name": "jam.lars", "text": RULES}]
REQUESTS: list[tuple[str, str, Any]] = [
    ("GET", "/v1/health", None),
    ("GET", "/v1/ready", None),
    ("GET", "/v1/tokens", None),
    ("PUT", "/v1/streams/{name}", {"map": ["temp(device, v) at ts"], "zone": "Europe/Rome"}),
    ("GET", "/v1/streams", None),
    ("POST", "/v1/streams/{name}/facts?on_error=skip", "p(a) at 1. p(\n"),
    ("GET", "/v1/streams/{name}", None),
    ("GET", "/v1/streams/{name}/facts", None),
    ("POST", "/v1/check", {"sources": SOURCES, "options": {"tick": "1s", "show": ["jam/1"]}}),
    ("PUT", "/v1/programs/{name}", {"sources": SOURCES, "streams": ["document"], "options": {"tick": "2s"}}),
    ("GET", "/v1/programs", None),
    ("GET", "/v1/programs/{name}", None),
    ("POST", "/v1/programs/{name}/restart", {"from": "now"}),
    ("GET", "/v1/programs/{name}/plan", None),
    ("GET", "/v1/programs/{name}/facts", None),
    ("GET", "/v1/programs/jam/facts", None),
    ("GET", "/v1/programs/jam/why?fact=jam(b)&at=4", None),
    ("GET", "/v1/programs/jam/history", None),
    ("POST", "/v1/playground", {"sources": SOURCES, "stream": {"name": "s.facts", "text": "slow(a) at 1."}}),
    ("GET", "/v1/programs/none", None),
    ("PUT", "/v1/programs/{name}", {}),
]


def test_bodies_and_answers_are_as_the_document_says(served: Serving) -> None:
    paths = document(ENDPOINTS)["paths"]
    for method, path, body in REQUESTS:
        plain_path = path.partition("?")[0].replace("/jam", "/{name}").replace("/none", "/{name}")
        operation = paths[plain_path][method.lower()]
        sent = {"content": body, "headers": FACTS} if isinstance(body, str) else {} if body is None else {"json": body}
        answer = served.client.request(method, path.format(name="document"), **sent)  # type: ignore[arg-type]
        if isinstance(body, dict) and body:
            taken = operation["requestBody"]["content"]["application/json"]["schema"]
            assert not [*misfits(body, taken, f"{method} {path}")]
        described = operation["responses"].get(str(answer.status_code), operation["responses"]["default"])
        schema = described["content"][answer.headers["content-type"]]["schema"]
        assert not [*misfits(answer.json(), schema, f"{method} {path}")], answer.text
    served.client.delete("/v1/programs/document").raise_for_status()
    served.client.delete("/v1/streams/document").raise_for_status()
