"""The verb `serve`."""

import os
import sys
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from thalweg.cli.errors import announce_compilation, complain, outcome, refuse, stoppable, usage

if TYPE_CHECKING:
    from thalweg.service.http.access import Access
    from thalweg.service.served_deployment import ServedDeployment
    from thalweg.service.service import Service, ServiceOptions

ScopeName = Literal["read", "write", "admin"]


def serve(
    deployment: Annotated[
        Path | None,
        typer.Argument(metavar="[DEPLOYMENT]", help="A deployment (`.toml`) that is registered as a program."),
    ] = None,
    data: Annotated[
        Path, typer.Option(metavar="DIR", help="The folder that holds everything: the log, programs, answers.")
    ] = Path("thalweg-data"),
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The address to listen at; others than loopback need `--tokens`.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(metavar="N", min=0, max=65_535, help="The port; 0 takes a free one.")] = 8642,
    tokens: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Who may use it, and for what; by default everyone may, here.")
    ] = None,
    allow_origin: Annotated[
        list[str] | None,
        typer.Option(metavar="URL", help="Pages that may use it, such as `https://console.example.org`; repeatable."),
    ] = None,
    retain: Annotated[str, typer.Option(metavar="DURATION", help="How long the log and answers are kept.")] = "24h",
    retain_size: Annotated[
        str, typer.Option(metavar="SIZE", help="How large the log, and the answers, may become.")
    ] = "10GB",
    max_body: Annotated[str, typer.Option(metavar="SIZE", help="How large one request may be.")] = "16MB",
    new_token: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Make a token, print it, keep its hash in `--tokens`, and end."),
    ] = None,
    scope: Annotated[
        ScopeName | None,
        typer.Option(help="What the new token is for: `read`, `write` (facts), `admin` (streams and programs)."),
    ] = None,
    quiet: Annotated[bool, typer.Option(help="Leave out messages, but not what is wrong.")] = False,
) -> None:
    """Serve programs over HTTP: they live while streams flow, and their answers are subscribed to."""
    with outcome(), stoppable():
        if new_token is not None:
            _make_token(new_token, scope, tokens)
            return
        if scope is not None:
            refuse("`--scope` goes with `--new-token`")
        from thalweg.service.http.endpoint import Api
        from thalweg.service.http.server import address_of, open_port
        from thalweg.service.http.server import serve as answer
        from thalweg.service.service import Service

        access = _access(host, tokens, allow_origin or [])
        options = _options(retain, retain_size, max_body)
        served = None if deployment is None else _served(deployment)
        listener = open_port(host, port)
        with listener:
            service = _opened(Service, data, options)
            service.start()
            if served is not None:
                _deploy(service, served)

            def opened() -> None:
                print(address_of(listener), flush=True)
                if not quiet:
                    announce_compilation()
                    print(f"serving `{data}`; Ctrl-C ends it", file=sys.stderr, flush=True)

            answer(Api(service, access, options.max_body), listener, opened)
        # Threads of requests that are still at work would keep the interpreter.
        os._exit(0)


def _served(deployment: Path) -> "ServedDeployment":
    """What a deployment has a service do."""
    from thalweg.languages.registry import language_of
    from thalweg.service.served_deployment import read_served

    language = language_of(str(deployment))
    if language is None or language.deploys is None:
        refuse(f"`{deployment}` is not a deployment: write `thalweg serve city.toml`")
    return read_served(deployment)


def _deploy(service: "Service", served: "ServedDeployment") -> None:
    """Has a service do it; where it is rejected the service ends, and keeps what it had."""
    from thalweg.diagnostics import RejectedError

    try:
        service.deploy(served, complain)
    except RejectedError:
        service.close()
        raise


def _opened(kind: "type[Service]", data: Path, options: "ServiceOptions") -> "Service":
    from thalweg.diagnostics import Diagnostic, FailedError

    try:
        return kind(data, options)
    except OSError as error:
        message = f"the data folder `{data}` cannot be used: {error.strerror or error}"
        raise FailedError(Diagnostic("E401", message)) from None


def _make_token(name: str, scope: ScopeName | None, tokens: Path | None) -> None:
    if scope is None or tokens is None:
        refuse("`--new-token` needs `--scope read|write|admin` and `--tokens FILE`")
        return
    from thalweg.service.http.tokens import add_token

    print(add_token(tokens, name, scope))


def _access(host: str, tokens: Path | None, origins: list[str]) -> "Access":
    """The rules of access; a port that others reach is not opened without any token."""
    from thalweg.service.http.access import Access
    from thalweg.service.http.tokens import TokenFile

    file = None if tokens is None or not (tokens.exists() or _is_loopback(host)) else TokenFile(tokens, complain)
    if not file and not _is_loopback(host):
        refuse(
            f"others can reach `{host}`: give `--tokens FILE`, with a token that "
            "`thalweg serve --new-token NAME --scope admin --tokens FILE` has made"
        )
    with usage():
        return Access(host, file, origins)


def _is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _options(retain: str, retain_size: str, max_body: str) -> "ServiceOptions":
    from thalweg.model.byte_size import size_in_bytes
    from thalweg.model.time import milliseconds
    from thalweg.service.service import ServiceOptions

    with usage():
        return ServiceOptions(milliseconds(retain) / 1_000, size_in_bytes(retain_size), size_in_bytes(max_body))
