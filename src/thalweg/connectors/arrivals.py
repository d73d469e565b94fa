"""Blocks from several live transports, in the order in which they arrive."""

from collections.abc import Callable, Iterator, Sequence
from queue import Empty, Queue
from threading import Thread
from typing import Any, Final

from thalweg.connectors.interrupt import Interrupt, Interrupted
from thalweg.connectors.transport import Positioned, Transport

Arrival = tuple[int, bytes, Any]

QUEUED: Final = 16
"""Blocks that may wait to be taken: no more, so that a fast sender waits for us instead of filling the memory."""


def arrivals(
    transports: Sequence[Transport], interrupt: Interrupt, pause: Callable[[], float | None] | None = None
) -> Iterator[Arrival | None]:
    """Which transport, a block, and the position behind it, where there is one.

    An empty block says that the transport has ended. `pause` says for how many seconds to wait at most; with it None
    comes when all that has arrived was taken, before each wait and when it was in vain.
    """
    if len(transports) == 1 and pause is None:
        for block in transports[0].blocks(interrupt):
            yield 0, block, position_of(transports[0])
        if not interrupt.asked:
            yield 0, b"", position_of(transports[0])
    elif transports:
        yield from _together(transports, interrupt, pause)


def _together(
    transports: Sequence[Transport], interrupt: Interrupt, pause: Callable[[], float | None] | None
) -> Iterator[Arrival | None]:
    queue: Queue[Arrival | Exception] = Queue(maxsize=QUEUED)
    for number, transport in enumerate(transports):
        Thread(target=_pump, args=(number, transport, queue), daemon=True).start()
    flowing = len(transports)
    while flowing:
        if pause is not None and queue.empty():
            yield None
        try:
            seconds = None if pause is None else pause()
            with interrupt.waiting():
                arrival = queue.get(timeout=seconds)
        except Interrupted:
            return
        except Empty:
            continue
        if isinstance(arrival, Exception):
            raise arrival
        flowing -= not arrival[1]
        yield arrival


def _pump(number: int, transport: Transport, queue: "Queue[Arrival | Exception]") -> None:
    try:
        # Signals reach the main thread only, so a pump gets an interrupt that is never requested.
        for block in transport.blocks(Interrupt()):
            queue.put((number, block, position_of(transport)))
        queue.put((number, b"", position_of(transport)))
    except Exception as error:
        queue.put(error)


def position_of(transport: Transport) -> Any:
    """Behind the last block; None where a transport has no positions."""
    return transport.position() if isinstance(transport, Positioned) else None
