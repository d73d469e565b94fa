"""Where requests wait: in threads, some for what is done in a moment, others for what may take seconds.

The event loop itself must never wait: whoever asks for `/v1/health` is answered from there.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

from anyio import CapacityLimiter
from anyio.to_thread import run_sync

T = TypeVar("T")


class WorkerThreads:
    """So many calls at once, and others wait their turn."""

    def __init__(self, most: int) -> None:
        self._limiter = CapacityLimiter(most)

    async def call(self, function: Callable[..., T], *args: Any, **keywords: Any) -> T:
        """What a function returns that is called in a thread."""
        return await run_sync(partial(function, *args, **keywords), limiter=self._limiter, abandon_on_cancel=True)
