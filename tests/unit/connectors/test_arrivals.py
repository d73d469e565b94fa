import threading
from dataclasses import dataclass

import pytest

from thalweg.connectors.arrivals import arrivals
from thalweg.connectors.interrupt import Interrupt
from thalweg.diagnostics import Diagnostic, FailedError


@dataclass
class Script:
    """A transport that waits for its cues."""

    parts: list
    name: str = "script"
    stream: str = "script"
    live: bool = True

    def blocks(self, interrupt):
        for part in self.parts:
            if isinstance(part, threading.Event):
                assert part.wait(10)
            elif isinstance(part, Exception):
                raise part
            else:
                yield part


def test_one_transport_needs_no_thread():
    before = threading.active_count()
    found = arrivals([Script([b"a", b"b"])], Interrupt())
    assert next(found) == (0, b"a", None)
    assert threading.active_count() == before
    assert list(found) == [(0, b"b", None), (0, b"", None)]


def test_no_transport_brings_nothing():
    assert list(arrivals([], Interrupt())) == []


def test_blocks_come_in_the_order_of_arrival():
    first, second = threading.Event(), threading.Event()
    found = arrivals([Script([second, b"later"]), Script([b"now", first])], Interrupt())
    assert next(found) == (1, b"now", None)
    second.set()
    assert [next(found), next(found)] == [(0, b"later", None), (0, b"", None)]
    first.set()
    assert list(found) == [(1, b"", None)]


def test_a_failure_of_one_transport_is_a_failure():
    broken = Script([FailedError(Diagnostic("E404", "gone"))])
    with pytest.raises(FailedError, match="gone"):
        list(arrivals([broken, Script([])], Interrupt()))


def test_an_interrupt_ends_the_wait():
    cue, interrupt = threading.Event(), Interrupt()
    interrupt.asked = True
    assert list(arrivals([Script([cue]), Script([cue])], interrupt)) == []
    cue.set()
