"""Blocks from several live transports, in the order in which they arrive."""

from collections.abc import Iterator, Sequence
from queue import Queue
from threading import Thread

from thalweg.connectors.interrupt import Interrupt, Interrupted
from thalweg.connectors.transport import Transport

Arrival = tuple[int, bytes]


def arrivals(transports: Sequence[Transport], interrupt: Interrupt) -> Iterator[Arrival]:
    """Pairs (which transport, block); an empty block says that the transport has ended."""
    if len(transports) == 1:
        for block in transports[0].blocks(interrupt):
            yield 0, block
        if not interrupt.asked:
            yield 0, b""
    elif transports:
        yield from _together(transports, interrupt)


def _together(transports: Sequence[Transport], interrupt: Interrupt) -> Iterator[Arrival]:
    # Bounded, so that a fast sender waits for us instead of filling the memory.
    queue: Queue[Arrival | Exception] = Queue(maxsize=16)
    for which, transport in enumerate(transports):
        Thread(target=_pump, args=(which, transport, queue), daemon=True).start()
    flowing = len(transports)
    while flowing:
        try:
            with interrupt.waiting():
                arrival = queue.get()
        except Interrupted:
            return
        if isinstance(arrival, Exception):
            raise arrival
        flowing -= not arrival[1]
        yield arrival


def _pump(which: int, transport: Transport, queue: "Queue[Arrival | Exception]") -> None:
    try:
        # Signals reach the main thread only, so a pump gets an interrupt that is never requested.
        for block in transport.blocks(Interrupt()):
            queue.put((which, block))
        queue.put((which, b""))
    except Exception as error:
        queue.put(error)
