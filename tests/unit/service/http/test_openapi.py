"""The document is of exactly the routes that there are."""

from starlette.routing import Route

from serving import Serving
from thalweg.service.http.application import ENDPOINTS, routed
from thalweg.service.http.endpoint import Api
from thalweg.service.http.openapi import document

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
