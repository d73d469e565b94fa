"""What complex events are called where they are facts: the same in every run, and in every process that reads them."""

from hashlib import sha256
from typing import Final

from thalweg.ir.pattern_semantics import Instance
from thalweg.model.rdf import OWN

_DIGITS: Final = 24


def event_id(event: Instance) -> str:
    """The id of a complex event, an IRI.

    >>> high = Instance("<High>", 5, 5, "<obs1>", "<g1>")
    >>> event_id(Instance("<Jam>", 5, 12, events=(high,)))
    '<urn:thalweg:event:1ddf61cfb93ef690e6523cfb>'
    """
    return f"{OWN}event:{sha256(_described(event).encode()).hexdigest()[:_DIGITS]}>"


def _described(event: Instance) -> str:
    """All that tells an event from others; matches of the same events are one, whatever places these fill."""
    inside = sorted({_described(part) for part in event.events})
    return repr((event.event, event.start, event.end, event.individual, event.graph, inside))


def binding_name(event: str, variable: str) -> str:
    """The name of the predicate that has what an event binds a variable to.

    >>> binding_name("<http://ex.org/Jam>", "loc")
    '<http://ex.org/Jam_loc>'
    """
    return f"{event[:-1]}_{variable}>"
