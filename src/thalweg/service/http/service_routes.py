"""Routes about the service itself: whether it lives and is ready, what it measures, who may use it, how it is used."""

from importlib.metadata import version

from starlette.requests import Request
from starlette.responses import Response

from thalweg.service.http.access import COOKIE
from thalweg.service.http.endpoint import JSON, Api, Endpoint, json_of, json_response
from thalweg.service.http.metrics import METRICS, exposition
from thalweg.service.refused import refusal

_SMALL = 64 << 10


async def health(api: Api, request: Request) -> Response:
    """It lives: answered by the event loop itself."""
    return json_response({"status": "ok", "version": version("thalweg")})


async def ready(api: Api, request: Request) -> Response:
    """Whether all programs have caught up."""
    is_ready, because = await api.quick.call(api.service.ready)
    if is_ready:
        return json_response({"ready": True})
    return json_response({"ready": False, "because": because}, 503, {"Retry-After": "1"})


async def metrics(api: Api, request: Request) -> Response:
    """All metrics."""
    text = await api.quick.call(exposition, api.service, api.subscribers, api.gap)
    return Response(text, headers={"Content-Type": METRICS})


async def tokens(api: Api, request: Request) -> Response:
    """The tokens, without what they are."""
    return json_response([token.as_data() for token in api.access.tokens or ()])


async def session(api: Api, request: Request) -> Response:
    """A cookie for the console, in exchange for a token."""
    data = await json_of(request, _SMALL)
    secret = data.get("token") if isinstance(data, dict) else None
    if not isinstance(secret, str):
        raise refusal(400, 'the body has no token: write `{"token":"…"}`')
    response = Response(status_code=204)
    if api.access.tokens is not None:
        api.access.caller_of(secret).need("read")
        response.set_cookie(COOKIE, secret, httponly=True, samesite="strict", path="/")
    return response


SERVICE_ROUTES = (
    Endpoint("GET", "/v1/health", health, "Whether the process lives.", scope=None, gives="Health"),
    Endpoint(
        "GET",
        "/v1/ready",
        ready,
        "Whether all programs have caught up; else why not.",
        answers={200: JSON, 503: JSON},
        gives="Ready",
    ),
    Endpoint("GET", "/v1/metrics", metrics, "Metrics, as Prometheus reads them.", answers={200: "text/plain"}),
    Endpoint(
        "GET", "/v1/tokens", tokens, "The tokens: name, scope, and when each was made.", scope="admin", gives="Token[]"
    ),
    Endpoint(
        "POST",
        "/v1/session",
        session,
        "Gives the console a cookie for a token.",
        scope=None,
        body=(JSON,),
        answers={204: ""},
        takes="SessionBody",
    ),
)
