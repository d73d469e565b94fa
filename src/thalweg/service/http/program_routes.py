"""Routes of programs: checked, put, looked at, restarted and deleted; and the playground."""

from typing import Final

from starlette.requests import Request
from starlette.responses import Response

from thalweg.service.http.endpoint import JSON, Api, Endpoint, Parameter, body_of, json_of, json_response
from thalweg.service.http.stream_routes import checked_name
from thalweg.service.refused import refusal
from thalweg.service.registered_program import RegisteredProgram

_RESTARTS: Final = ("checkpoint", "earliest", "now")
_SMALL: Final = 64 << 10


def program_of(api: Api, request: Request) -> RegisteredProgram:
    """The program in the path; `RefusedError` (404) where there is none."""
    return api.service.programs.get(request.path_params["name"])


async def check(api: Api, request: Request) -> Response:
    """What is wrong with a program, and what would begin anew if it took the place of another."""
    body = await json_of(request, api.max_body)
    return json_response(
        await api.compiling.call(api.service.programs.check, body, request.query_params.get("program"))
    )


async def put_program(api: Api, request: Request) -> Response:
    """Registers a program, or replaces it."""
    name = checked_name(request)
    generation = _if_match(request.headers.get("if-match"))
    body = await json_of(request, api.max_body)
    program, is_new = await api.compiling.call(api.service.programs.put, name, body, generation)
    return await _described(api, program, 201 if is_new else 200)


def _if_match(header: str | None) -> int | None:
    if header is None:
        return None
    number = header.strip().removeprefix("W/").strip('"')
    if not (number.isascii() and number.isdigit() and len(number) < 19):
        raise refusal(412, f"`{header}` is not a generation of a program", 'write it as its ETag has it: `"3"`')
    return int(number)


async def get_programs(api: Api, request: Request) -> Response:
    """All programs."""
    programs = api.service.programs
    return json_response(await api.quick.call(lambda: [program.describe() for program in programs]))


async def get_program(api: Api, request: Request) -> Response:
    """A program."""
    return await _described(api, program_of(api, request))


async def _described(api: Api, program: RegisteredProgram, status: int = 200) -> Response:
    data = await api.quick.call(program.describe)
    return json_response(data, status, {"ETag": f'"{program.generation}"'})


async def delete_program(api: Api, request: Request) -> Response:
    """Stops a program and removes its answers."""
    program = program_of(api, request)
    is_over = await api.slow.call(api.service.programs.delete, program.name)
    api.subscribers.drop(program)
    return Response(status_code=204) if is_over else json_response({"state": "stopping"}, 202)


async def restart(api: Api, request: Request) -> Response:
    """Goes on from a checkpoint, or begins a generation."""
    program = program_of(api, request)
    body = await json_of(request, _SMALL)
    origin = body.get("from") if isinstance(body, dict) else None
    if origin not in _RESTARTS:
        raise refusal(400, 'write from where: `{"from":"checkpoint"}`, `"earliest"` or `"now"`')
    await api.slow.call(program.restart, origin)
    return await _described(api, program)


async def put_subscription(api: Api, request: Request) -> Response:
    """Adds the definition of an event to a program that runs."""
    program = program_of(api, request)
    try:
        text = (await body_of(request, api.max_body)).decode()
    except UnicodeDecodeError:
        raise refusal(400, "the body is not UTF-8") from None
    data, is_new = await api.slow.call(program.subscriptions.put, request.path_params["subscription"], text)
    return json_response(data, 201 if is_new else 200)


async def delete_subscription(api: Api, request: Request) -> Response:
    """Takes a definition away."""
    program = program_of(api, request)
    await api.slow.call(program.subscriptions.delete, request.path_params["subscription"])
    return Response(status_code=204)


async def plan(api: Api, request: Request) -> Response:
    """The plan that runs, with live counts."""
    return json_response(await api.slow.call(program_of(api, request).plan))


async def plan_svg(api: Api, request: Request) -> Response:
    """The plan, drawn."""
    return Response(await api.slow.call(program_of(api, request).plan_svg), media_type="image/svg+xml")


async def playground(api: Api, request: Request) -> Response:
    """Tries a program out, in a process of its own."""
    body = await json_of(request, api.max_body)
    if not isinstance(body, dict):
        raise refusal(400, "the body is not an object with `sources`")
    return json_response(await api.slow.call(api.service.playground.evaluate, body))


_PATH: Final = "/v1/programs/{name}"
_SUBSCRIPTION: Final = f"{_PATH}/subscriptions/{{subscription}}"

PROGRAM_ROUTES = (
    Endpoint(
        "POST",
        "/v1/check",
        check,
        "What is wrong with a program.",
        parameters=(Parameter("program", "says besides what of this program would go on, and what would begin"),),
        body=(JSON,),
        takes="CheckBody",
        gives="Checked",
    ),
    Endpoint("GET", "/v1/programs", get_programs, "All programs.", gives="Program[]"),
    Endpoint(
        "PUT",
        _PATH,
        put_program,
        "Registers a program; another body of the same name becomes its next generation.",
        scope="admin",
        parameters=(Parameter("If-Match", "the generation that is to be replaced", place="header"),),
        body=(JSON,),
        answers={200: JSON, 201: JSON},
        takes="ProgramBody",
        gives="Program",
    ),
    Endpoint("GET", _PATH, get_program, "A program and how it does.", gives="Program"),
    Endpoint(
        "DELETE",
        _PATH,
        delete_program,
        "Stops a program, and removes its answers.",
        scope="admin",
        answers={204: "", 202: JSON},
    ),
    Endpoint(
        "POST",
        f"{_PATH}/restart",
        restart,
        "Goes on from the last checkpoint, or begins a generation with the log or now.",
        scope="admin",
        body=(JSON,),
        takes="RestartBody",
        gives="Program",
    ),
    Endpoint(
        "PUT",
        _SUBSCRIPTION,
        put_subscription,
        "Adds the definition of an event while the program runs.",
        scope="admin",
        body=("text/plain",),
        answers={200: JSON, 201: JSON},
        gives="Subscribed",
    ),
    Endpoint("DELETE", _SUBSCRIPTION, delete_subscription, "Takes a definition away.", "admin", answers={204: ""}),
    Endpoint("GET", f"{_PATH}/plan", plan, "The plan that runs, with counts by the id of a box.", gives="Plan"),
    Endpoint("GET", f"{_PATH}/plan.svg", plan_svg, "The plan, drawn.", answers={200: "image/svg+xml"}),
    Endpoint(
        "POST",
        "/v1/playground",
        playground,
        "Tries a program out in a process of its own: its lines, proofs and history.",
        body=(JSON,),
        takes="PlaygroundBody",
        gives="Played",
    ),
)
