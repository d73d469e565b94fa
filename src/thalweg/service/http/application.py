"""The application: from endpoints to something that a server runs.

place and caller are looked at ──▶ route ──▶ scope ──▶ endpoint ──▶ an answer, or a refusal with its diagnostics
"""

from collections.abc import Awaitable, Callable, Iterable
from typing import Final

from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from thalweg.diagnostics import RejectedError
from thalweg.service.http.answer_routes import ANSWER_ROUTES
from thalweg.service.http.endpoint import Api, Endpoint, check_query, json_response
from thalweg.service.http.openapi import document
from thalweg.service.http.program_routes import PROGRAM_ROUTES
from thalweg.service.http.service_routes import SERVICE_ROUTES
from thalweg.service.http.stream_routes import STREAM_ROUTES
from thalweg.service.log import DiskFullError, LogBusyError
from thalweg.service.refused import RefusedError, refusal

_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
_SENT: Final = "Authorization, Content-Type, Idempotency-Key, If-Match, Last-Event-ID, X-Thalweg"
_SHOWN: Final = "ETag, Next, Retry-After"
_LONGEST: Final = 500


async def openapi(api: Api, request: Request) -> Response:
    """The document of all endpoints."""
    return json_response(document(ENDPOINTS))


ENDPOINTS: Final = (
    *SERVICE_ROUTES,
    Endpoint("GET", "/v1/openapi.json", openapi, "This document.", scope=None),
    *STREAM_ROUTES,
    *PROGRAM_ROUTES,
    *ANSWER_ROUTES,
)
"""All that the service answers to."""


_OPEN: Final = frozenset(endpoint.path for endpoint in ENDPOINTS if endpoint.scope is None)


def application(api: Api) -> ASGIApp:
    """The application of a service."""
    return Gate(routed(api), api)


def routed(api: Api) -> Starlette:
    """The endpoints behind the gate."""
    by_path: dict[str, dict[str, Endpoint]] = {}
    for endpoint in ENDPOINTS:
        by_path.setdefault(endpoint.path, {})[endpoint.method] = endpoint
    routes = [Route(path, _dispatch(api, methods), methods=list(methods)) for path, methods in by_path.items()]
    app = Starlette(routes=routes, exception_handlers={HTTPException: _not_routed, Exception: _failed})
    for error in (RefusedError, RejectedError, LogBusyError, DiskFullError):
        app.add_exception_handler(error, _refused)
    app.router.redirect_slashes = False
    return app


def _dispatch(api: Api, methods: dict[str, Endpoint]) -> Callable[[Request], Awaitable[Response]]:
    async def called(request: Request) -> Response:
        endpoint = methods["GET" if request.method == "HEAD" else request.method]
        if endpoint.scope is not None:
            request.scope["caller"].need(endpoint.scope)
        check_query(request, endpoint)
        return await endpoint.handler(api, request)

    return called


class Gate:
    """Looks at the place and the caller of each request, and says to browsers what answers may do."""

    def __init__(self, app: ASGIApp, api: Api) -> None:
        self._app = app
        self._access = api.access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        headers = Headers(scope=scope)

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                self._add_headers(MutableHeaders(scope=message), headers.get("origin"))
            await send(message)

        await self._answer(scope, headers)(scope, receive, with_headers)

    def _answer(self, scope: Scope, headers: Headers) -> ASGIApp:
        """What answers a request: the application, or a refusal."""
        method, address = scope["method"], (scope.get("server") or ("",))[0]
        try:
            self._access.check_place(headers, address)
            if method == "OPTIONS" and "access-control-request-method" in headers:
                return Response(status_code=204)
            caller = scope["caller"] = self._access.caller(method, headers)
            if scope["path"] not in _OPEN:
                # Whether there is something is for those to know who may use it.
                caller.need("read")
        except RefusedError as error:
            return _refusal(error)
        return self._app

    def _add_headers(self, headers: MutableHeaders, origin: str | None) -> None:
        for name, value in _HEADERS.items():
            headers.setdefault(name, value)
        headers.setdefault("Cache-Control", "no-store")
        if origin is not None and self._access.is_allowed(origin):
            headers["Access-Control-Allow-Origin"] = origin
            headers["Access-Control-Allow-Methods"] = "GET, PUT, POST, DELETE"
            headers["Access-Control-Allow-Headers"] = _SENT
            headers["Access-Control-Expose-Headers"] = _SHOWN
            headers.add_vary_header("Origin")


def _refusal(error: RefusedError) -> Response:
    return json_response(error.as_data(), error.status, error.headers)


async def _refused(request: Request, error: Exception) -> Response:
    match error:
        case RefusedError():
            return _refusal(error)
        case RejectedError():
            return _refusal(RefusedError(400, error.diagnostics))
        case LogBusyError():
            return _refusal(refusal(429, str(error), headers={"Retry-After": "1"}))
    return _refusal(refusal(507, str(error)))


async def _not_routed(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    path = request.url.path[:_LONGEST]
    if error.status_code == 404:
        return _refusal(refusal(404, f"there is nothing at `{path}`", "`/v1/openapi.json` has all routes"))
    message = f"`{path}` does not know {request.method}" if error.status_code == 405 else error.detail
    return _refusal(refusal(error.status_code, message, headers=error.headers))


async def _failed(request: Request, error: Exception) -> Response:
    # The server prints what happened.
    return _refusal(refusal(500, "the service failed at this request; its messages say more"))


def routes_of(app: Starlette) -> Iterable[tuple[str, str]]:
    """Methods and paths that an application answers to."""
    for route in app.routes:
        assert isinstance(route, Route)
        yield from ((method, route.path) for method in (route.methods or ()) if method != "HEAD")
