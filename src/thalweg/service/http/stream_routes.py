"""Routes of streams: their definitions, what is posted to them, and what came."""

import re
from asyncio import wrap_future
from concurrent.futures import Future
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response

from thalweg.service.body_reader import FORMATS
from thalweg.service.http.endpoint import (
    JSON,
    Api,
    Endpoint,
    Parameter,
    body_of,
    choice_of,
    json_of,
    json_response,
    number_of,
)
from thalweg.service.log import LogRecord
from thalweg.service.refused import RefusedError, refusal
from thalweg.service.streams import NAME

_DEFINITION: Final = 1 << 20
_MOST_RECORDS: Final = 10_000
_LONGEST_KEY: Final = 256


def checked_name(request: Request) -> str:
    """The name in the path of a PUT; `RefusedError` (400) where it cannot be one."""
    name: str = request.path_params["name"]
    if not re.fullmatch(NAME, name):
        way_out = "use letters, digits, `_` and `-`, at most 64, a letter first"
        raise refusal(400, f"`{name[:80]}` cannot be a name", way_out)
    return name


async def put_stream(api: Api, request: Request) -> Response:
    """Makes or changes a stream."""
    name, definition = checked_name(request), await json_of(request, _DEFINITION)
    if not isinstance(definition, dict):
        raise refusal(400, 'the body is not an object such as `{"map":["temp(device, v) at ts"]}`')
    is_new = await api.slow.call(_put, api, name, definition)
    return json_response(await _described(api, name), 201 if is_new else 200)


def _put(api: Api, name: str, definition: dict[str, Any]) -> bool:
    """Defines a stream; one that a connector fills stays one."""
    stream = api.service.streams.get(name)
    origin = None if stream is None else stream.version.definition.get("from")
    if definition.get("from") != origin and "from" in definition:
        raise refusal(400, "`from` cannot be set by a request", "connectors are those of `thalweg serve city.toml`")
    kept = definition if origin is None else {**definition, "from": origin}
    _, is_new = api.service.streams.put(name, kept)
    return is_new


async def get_streams(api: Api, request: Request) -> Response:
    """All streams."""
    return json_response(await api.quick.call(_descriptions, api))


async def get_stream(api: Api, request: Request) -> Response:
    """A stream."""
    return json_response(await _described(api, _name_of_stream(api, request)))


async def delete_stream(api: Api, request: Request) -> Response:
    """Deletes a stream that no program reads."""
    name = _name_of_stream(api, request)
    if not await api.slow.call(api.service.programs.delete_stream, name):
        raise _no_stream(name)
    return Response(status_code=204)


async def post_facts(api: Api, request: Request) -> Response:
    """Takes facts, and answers when they are on disk."""
    media = request.headers.get("content-type", "")
    skip = choice_of(request, "on_error", ("stop", "skip")) == "skip"
    key = request.headers.get("idempotency-key")
    if key is not None and not 0 < len(key) <= _LONGEST_KEY:
        raise refusal(400, f"an idempotency key has 1 to {_LONGEST_KEY} characters")
    body = await body_of(request, api.max_body)
    name, post = request.path_params["name"], api.service.post
    durable: Future[dict[str, Any]] = await api.quick.call(post, name, media, body, skip=skip, key=key)
    answer: dict[str, Any] = await wrap_future(durable)
    return json_response(answer)


async def get_records(api: Api, request: Request) -> Response:
    """What came, as it came."""
    name = _name_of_stream(api, request)
    after, limit = number_of(request, "after", 0), number_of(request, "limit", 100, _MOST_RECORDS)
    try:
        records = await api.quick.call(api.service.streams.records, name, after, limit)
    except LookupError:
        # It has been deleted just now.
        raise _no_stream(name) from None
    return json_response({"records": [_record(record) for record in records]})


def _record(record: LogRecord) -> dict[str, Any]:
    arrived = datetime.fromtimestamp(record.arrived / 1_000, UTC).isoformat(timespec="milliseconds")
    text = record.body.decode(errors="replace")
    return {"seq": record.seq, "arrived": arrived.replace("+00:00", "Z"), "type": record.media, "text": text}


def _name_of_stream(api: Api, request: Request) -> str:
    name: str = request.path_params["name"]
    if api.service.streams.get(name) is None:
        raise _no_stream(name)
    return name


def _no_stream(name: str) -> RefusedError:
    return refusal(404, f"there is no stream `{name}`", "make it by PUT, or look at `/v1/streams`")


async def _described(api: Api, name: str) -> dict[str, Any]:
    return await api.quick.call(_description, api, name)


def _descriptions(api: Api) -> list[dict[str, Any]]:
    descriptions = []
    for name in api.service.streams.names():
        # One may be deleted meanwhile.
        with suppress(RefusedError):
            descriptions.append(_description(api, name))
    return descriptions


def _description(api: Api, name: str) -> dict[str, Any]:
    try:
        return api.service.streams.describe(name, api.service.programs.readers(name))
    except LookupError:
        raise _no_stream(name) from None


_PATH: Final = "/v1/streams/{name}"

STREAM_ROUTES = (
    Endpoint("GET", "/v1/streams", get_streams, "All streams.", gives="Stream[]"),
    Endpoint(
        "PUT",
        _PATH,
        put_stream,
        "Makes a stream, or changes how its rows become facts.",
        scope="admin",
        body=(JSON,),
        answers={200: JSON, 201: JSON},
        takes="StreamBody",
        gives="Stream",
    ),
    Endpoint("GET", _PATH, get_stream, "A stream and what came on it.", gives="Stream"),
    Endpoint("DELETE", _PATH, delete_stream, "Deletes a stream that no program reads.", "admin", answers={204: ""}),
    Endpoint(
        "POST",
        f"{_PATH}/facts",
        post_facts,
        "Takes facts; answers once they are on disk.",
        scope="write",
        parameters=(
            Parameter("on_error", "`skip` takes what can be read of a body; by default one bad line refuses all"),
            Parameter("Idempotency-Key", "the same key gives the first answer again", place="header"),
        ),
        body=tuple(FORMATS),
        gives="Posted",
    ),
    Endpoint(
        "GET",
        f"{_PATH}/facts",
        get_records,
        "What came on a stream, as it came.",
        parameters=(
            Parameter("after", "records behind this number", is_number=True),
            Parameter("limit", "how many at most, by default 100", is_number=True),
        ),
        gives="Records",
    ),
)
