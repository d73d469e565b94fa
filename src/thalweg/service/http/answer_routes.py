"""Routes of what programs answer: what holds and why, lines, events as they come, late facts and history."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from heapq import nsmallest
from typing import Any, Final

from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from thalweg.service.history import history
from thalweg.service.http.endpoint import (
    LINES,
    Api,
    Endpoint,
    Parameter,
    choice_of,
    json_response,
    number_of,
)
from thalweg.service.http.event_stream import LineId, StreamFilter
from thalweg.service.http.program_routes import program_of
from thalweg.service.match_list import EVERYTHING, MatchList
from thalweg.service.past import why_now, why_then
from thalweg.service.refused import refusal
from thalweg.service.registered_program import RegisteredProgram

_EVENTS: Final = "text/event-stream"
_AS_THEY_COME: Final = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
_MOST: Final = 100_000


def _match(program: RegisteredProgram, request: Request) -> MatchList:
    text = request.query_params.get("match")
    return EVERYTHING if text is None else MatchList.read(text, program.current.prefixes)


async def facts(api: Api, request: Request) -> Response:
    """What holds, in the order of its text: so a page goes on where the one before ended, whatever has changed."""
    program = program_of(api, request)
    limit, after = number_of(request, "limit", 1_000, _MOST), request.query_params.get("after", "")
    return json_response(await api.quick.call(_page, program, _match(program, request), after, max(limit, 1)))


def _page(program: RegisteredProgram, match: MatchList, after: str, limit: int) -> dict[str, Any]:
    _, snapshot = program.snapshot()
    behind = (fact for fact in snapshot["facts"] if fact["fact"] > after and match.wants(fact["fact"]))
    *page, more = [*nsmallest(limit + 1, behind, key=lambda fact: fact["fact"]), None]
    if len(page) > limit:
        page = page[:limit]
        more = page[-1]["fact"]
    return {"t": snapshot["t"], "facts": page, "next": more}


async def why(api: Api, request: Request) -> Response:
    """Why a fact holds, now or at a tick that is over."""
    program, fact = program_of(api, request), request.query_params.get("fact")
    if not fact:
        raise refusal(400, "the query has no `fact`")
    at = request.query_params.get("at")
    if at is None:
        return json_response(await api.slow.call(why_now, program.current, fact))
    return json_response(await api.slow.call(why_then, api.service, program.current, fact, at))


async def lines(api: Api, request: Request) -> Response:
    """Lines behind an id, as `thalweg run` prints them."""
    program, limit = program_of(api, request), number_of(request, "limit", 1_000, _MOST)
    after = _id(request.query_params.get("after"))
    text, place = await api.quick.call(_lines, program, after, limit)
    return Response(text, headers={"Next": str(place), "Content-Type": LINES})


def _lines(program: RegisteredProgram, after: LineId | None, limit: int) -> tuple[bytes, LineId]:
    generation = program.current
    kept = LineId(generation.number, max(generation.lines.first - 1, 0))
    after = after or kept
    if after.generation != generation.number:
        message = f"generation {after.generation} does not answer any more"
        raise refusal(410, message, f"read on behind `{kept}`", {"Next": str(kept)})
    numbered = generation.lines.read(after.number, limit)
    first = numbered[0][0] if numbered else generation.lines.first
    if first > after.number + 1:
        kept = LineId(generation.number, first - 1)
        message = f"what is behind `{after}` is no longer kept"
        raise refusal(410, message, f"read on behind `{kept}`", {"Next": str(kept)})
    place = LineId(generation.number, numbered[-1][0] if numbered else after.number)
    return b"".join(b"%b\n" % line.text for _, line in numbered), place


def _id(text: str | None) -> LineId | None:
    return LineId.read(text) if text else None


class EventResponse(StreamingResponse):
    """Events that end with the request, whichever way it ends."""

    def __init__(self, events: AsyncGenerator[bytes]) -> None:
        super().__init__(events, headers=_AS_THEY_COME, media_type=_EVENTS)
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with aclosing(self._events):
            await super().__call__(scope, receive, send)


async def events(api: Api, request: Request) -> Response:
    """Lines as they come."""
    program = program_of(api, request)
    if request.method == "HEAD":
        head = Response(headers=_AS_THEY_COME, media_type=_EVENTS)
        del head.headers["content-length"]
        return head
    # A browser that comes back has the id of its last event, and the address that it came to first.
    after = _id(request.headers.get("last-event-id") or request.query_params.get("after"))
    match = _match(program, request)
    filter_ = StreamFilter(match, choice_of(request, "until", ("false", "true")) == "true")
    connection = request.scope["state"].get("connection")
    return EventResponse(api.subscribers.subscribe(program, filter_, after, connection))


async def late(api: Api, request: Request) -> Response:
    """The latest lines about late facts."""
    generation, limit = program_of(api, request).current, number_of(request, "limit", 100, _MOST)
    texts = await api.quick.call(generation.late_lines, limit)
    return Response("".join(f"{text}\n" for text in texts), headers={"Content-Type": LINES})


async def program_history(api: Api, request: Request) -> Response:
    """What held from when to when."""
    program, query = program_of(api, request), request.query_params
    match = _match(program, request)
    wants = match.wants if match.is_about_facts else None
    return json_response(await api.slow.call(history, program.current, query.get("from"), query.get("to"), wants))


_PATH: Final = "/v1/programs/{name}"
_MATCH: Final = Parameter("match", "a list of `jam/1`, `jam(*)`, `jam(a,*)`, or of names of events such as `:Jam`")

ANSWER_ROUTES = (
    Endpoint(
        "GET",
        f"{_PATH}/facts",
        facts,
        "What holds, and until when that is guaranteed.",
        parameters=(
            _MATCH,
            Parameter("limit", "how many, by default 1,000", is_number=True),
            Parameter("after", "the `next` of the page before"),
        ),
        gives="Facts",
    ),
    Endpoint(
        "GET",
        f"{_PATH}/why",
        why,
        "Why a fact holds, or why it does not.",
        parameters=(
            Parameter("fact", "the fact, event or row", is_required=True),
            Parameter("at", "a tick or a timestamp; by default now"),
        ),
        gives="Why",
    ),
    Endpoint(
        "GET",
        f"{_PATH}/lines",
        lines,
        "The lines that `thalweg run` would print; the header `Next` has the id behind the last.",
        parameters=(
            Parameter("after", "lines behind this id; by default all that are kept"),
            Parameter("limit", "how many, by default 1,000", is_number=True),
        ),
        answers={200: LINES},
    ),
    Endpoint(
        "GET",
        f"{_PATH}/events",
        events,
        "The same lines as they come, as server-sent events.",
        parameters=(
            Parameter("after", "lines behind this id; without one a snapshot comes first"),
            Parameter("Last-Event-ID", "the same, as browsers send it", place="header"),
            _MATCH,
            Parameter("until", "`true` adds until when what begins is guaranteed"),
        ),
        answers={200: _EVENTS},
    ),
    Endpoint(
        "GET",
        f"{_PATH}/late",
        late,
        "The latest facts that came too late.",
        parameters=(Parameter("limit", "how many, by default 100", is_number=True),),
        answers={200: LINES},
    ),
    Endpoint(
        "GET",
        f"{_PATH}/history",
        program_history,
        "What held from when to when, as a timeline draws it.",
        parameters=(Parameter("from", "a tick or a timestamp"), Parameter("to", "a tick or a timestamp"), _MATCH),
        gives="History",
    ),
)
