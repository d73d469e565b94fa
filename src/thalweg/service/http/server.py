"""The server: a port, an event loop, and an end in time."""

import asyncio
import gc
import resource
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from signal import SIGINT, SIGTERM
from threading import Thread
from time import monotonic
from typing import Final

import uvicorn

from thalweg.diagnostics import Diagnostic, FailedError
from thalweg.service.http.application import application
from thalweg.service.http.connection import HttpConnection
from thalweg.service.http.endpoint import Api

SWITCH: Final = 0.001
"""Seconds after which a thread that evaluates gives way to the one that answers requests."""
_GRACE: Final = 9.0
_REQUESTS: Final = 1
_BACKLOG: Final = 2_048
_CONNECTIONS: Final = 16_384


def open_port(host: str, port: int) -> socket.socket:
    """A socket at an address, not yet listening; `FailedError` where it cannot be had."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((host, port))
        # From here on nobody else gets it; connections wait until the service takes them.
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        message = f"the service cannot use port {port} of `{host}`: {error.strerror}"
        help_ = "stop what uses it, give another one with `--port`, or `--port 0` for any that is free"
        raise FailedError(Diagnostic("E404", message, help=help_)) from None
    return listener


def allow_connections() -> None:
    """Raises how many files the process may have open, as far as it may: each connection is one."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _CONNECTIONS if hard == resource.RLIM_INFINITY else min(_CONNECTIONS, hard)
    if 0 <= soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def address_of(listener: socket.socket) -> str:
    """The address that people type."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


class _Server(uvicorn.Server):
    """A server that leaves signals to others."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def serve(api: Api, listener: socket.socket, opened: Callable[[], None]) -> None:
    """Answers requests until SIGINT or SIGTERM, then closes the service within the time that is left."""
    sys.setswitchinterval(SWITCH)
    Thread(target=_freeze, args=[api], name="freezes what is loaded", daemon=True).start()
    allow_connections()
    config = uvicorn.Config(
        application(api),
        http=HttpConnection,
        loop="uvloop",
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=75,
        timeout_graceful_shutdown=_REQUESTS,
    )
    loop_factory = config.get_loop_factory()
    with asyncio.Runner(loop_factory=loop_factory) as runner:
        runner.run(_serve(api, _Server(config), listener, opened))


def _freeze(api: Api) -> None:
    """Leaves modules and kernels to no collection of garbage, which would stop all threads for that long."""
    api.service.is_warm.wait()
    gc.collect()
    gc.freeze()


async def _serve(api: Api, server: _Server, listener: socket.socket, opened: Callable[[], None]) -> None:
    ended = asyncio.Event()
    for number in (SIGINT, SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    background = [asyncio.create_task(work) for work in (api.gap.measure(), api.subscribers.watch())]
    serving = asyncio.create_task(server.serve([listener]))
    opened()
    await asyncio.wait((serving, asyncio.create_task(ended.wait())), return_when=asyncio.FIRST_COMPLETED)
    begun = monotonic()
    server.should_exit = True
    api.subscribers.close()
    with suppress(TimeoutError):
        await asyncio.wait_for(serving, _REQUESTS + 1)
    for task in background:
        task.cancel()
    # Nothing waits for the threads of requests that are still at work.
    await asyncio.get_running_loop().run_in_executor(None, api.service.close, _GRACE - (monotonic() - begun))
