"""An endpoint: a method and a path with what it needs, what it answers, and the function that does it.

All of them are values in tables: routes are made of these, and so is the OpenAPI document.
"""

import json
import re
from asyncio import get_running_loop, timeout
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any, Final

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from thalweg.service.http.access import Access
from thalweg.service.http.loop_gap import LoopGap
from thalweg.service.http.subscribers import Subscribers
from thalweg.service.http.threads import WorkerThreads
from thalweg.service.http.tokens import Scope
from thalweg.service.refused import refusal
from thalweg.service.service import Service

JSON: Final = "application/json"
LINES: Final = "application/x-ndjson"

PATIENCE: Final = 60.0
"""Seconds for a body, however small it is."""
SLOWEST: Final = 1_000
"""Bytes a second that a larger one must have."""
_CHARSET: Final = re.compile(r';\s*charset\s*=\s*"?([^\s";]*)', re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Api:
    """What endpoints work with: the service, the rules of access, those who follow programs, and threads to wait in."""

    service: Service
    access: Access
    max_body: int = 16 << 20
    subscribers: Subscribers = field(default_factory=Subscribers)
    gap: LoopGap = field(default_factory=LoopGap)
    quick: WorkerThreads = field(default_factory=lambda: WorkerThreads(24))
    """For what takes milliseconds."""
    slow: WorkerThreads = field(default_factory=lambda: WorkerThreads(48))
    """For what waits for a program, or evaluates something."""
    compiling: WorkerThreads = field(default_factory=lambda: WorkerThreads(4))
    """For what compiles programs, so that whoever has many checked keeps nobody from anything else."""


Handler = Callable[[Api, Request], Awaitable[Response]]


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of the query or a header, for the document."""

    name: str
    text: str
    is_required: bool = False
    place: str = "query"
    is_number: bool = False


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A route with what a document says about it; without a scope it is for everybody."""

    method: str
    path: str
    handler: Handler
    text: str
    scope: Scope | None = "read"
    parameters: tuple[Parameter, ...] = ()
    body: tuple[str, ...] = ()
    """The media types of what is sent; none where nothing is."""
    answers: Mapping[int, str] = field(default_factory=lambda: {200: JSON})
    """The media type of each answer that is not a refusal; empty where it has no body."""
    takes: str = ""
    """The schema of a body in JSON."""
    gives: str = ""
    """That of answers in JSON, of a list of such with `[]` behind it, where the status does not say another one."""


def as_json(data: object) -> bytes:
    """Data as UTF-8, compact.

    >>> as_json({"fact": "jam(ü)"}).decode()
    '{"fact":"jam(ü)"}'
    """
    return json.dumps(data, ensure_ascii=False, separators=(",", ":")).encode(errors="replace")


def json_response(data: object, status: int = 200, headers: Mapping[str, str] | None = None) -> Response:
    """An answer in JSON."""
    return Response(as_json(data), status, headers, JSON)


async def body_of(request: Request, most: int) -> bytes:
    """The body of a request; `RefusedError` (413) as soon as it is too large, 408 where it comes too slowly.

    415 where it is compressed, or not in UTF-8, as its type says.
    """
    if request.headers.get("content-encoding", "identity") != "identity":
        raise refusal(415, "compressed bodies are not read", "send it as it is, without `Content-Encoding`")
    charset = _CHARSET.search(request.headers.get("content-type", ""))
    if charset is not None and charset[1].lower() not in ("utf-8", "utf8", "us-ascii"):
        raise refusal(415, f"bodies in `{charset[1]}` are not read", "send it in UTF-8")
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > most:
        raise _too_large(most)
    parts, size = [], 0
    begun = get_running_loop().time()
    try:
        async with timeout(PATIENCE) as patience:
            async for part in request.stream():
                parts.append(part)
                size += len(part)
                if size > most:
                    raise _too_large(most)
                patience.reschedule(begun + PATIENCE + size / SLOWEST)
    except ClientDisconnect:
        raise refusal(400, "the request ended before its body did") from None
    except TimeoutError:
        raise refusal(408, "the body comes too slowly", "send less at once") from None
    return b"".join(parts)


def _too_large(most: int) -> Exception:
    return refusal(413, f"the body is larger than {most:,} bytes", "send less at once, or start with `--max-body`")


async def json_of(request: Request, most: int) -> Any:
    """The JSON of a request; `RefusedError` (400) where it is none."""
    body = await body_of(request, most)
    if not body.strip():
        raise refusal(400, "the body is empty: it should be an object of JSON", "send it with `curl -d '{…}'`")
    try:
        data = json.loads(body)
        if b"\\u" in body:
            # Half of a surrogate pair is no character, and no file can have it.
            json.dumps(data, ensure_ascii=False).encode()
        return data
    except (ValueError, RecursionError) as error:
        raise refusal(400, f"the body is not JSON: {error}") from None


def check_query(request: Request, endpoint: Endpoint) -> None:
    """`RefusedError` (400) where a query has a name that the endpoint does not know, or one of them twice."""
    known = [parameter.name for parameter in endpoint.parameters if parameter.place == "query"]
    names = [name for name, _ in request.query_params.multi_items()]
    for name in names:
        if name not in known:
            near = get_close_matches(name, known, 1)
            way_out = f"did you mean `{near[0]}`?" if near else _known(known)
            raise refusal(400, f"the query has an unknown name, `{name}`", way_out)
        if names.count(name) > 1:
            raise refusal(400, f"the query has `{name}` twice", "name it once; lists have commas")


def _known(names: list[str]) -> str:
    return f"known are {', '.join(f'`{name}`' for name in names)}" if names else "leave the query out"


def number_of(request: Request, name: str, default: int, most: int = 2**62) -> int:
    """A number of the query, at most so large; `RefusedError` (400) where it is none."""
    text = request.query_params.get(name)
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 19):
        raise refusal(400, f"`{name}` is not a number: `{text}`")
    return min(int(text), most)


def choice_of(request: Request, name: str, choices: tuple[str, ...]) -> str:
    """One of some words of the query, by default the first; `RefusedError` (400) for any other."""
    text = request.query_params.get(name, choices[0])
    if text not in choices:
        raise refusal(400, f"`{name}` is `{text}`, and may be {' or '.join(f'`{word}`' for word in choices)}")
    return text
