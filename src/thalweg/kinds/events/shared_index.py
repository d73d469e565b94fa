"""The triples that clauses look up besides the graph of an event: one index for all buckets of a process."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any, Final

from thalweg.kinds.classes.classifier import OncePerRun
from thalweg.kinds.events.restrictions import TripleIndex, known_besides

if TYPE_CHECKING:
    from thalweg.kinds.events import EventCascade


@dataclass(frozen=True)
class SharedIndex:
    """An index, and the lock of the bucket that looks something up."""

    index: TripleIndex
    lock: Lock = field(default_factory=Lock)

    def looking(self) -> AbstractContextManager[Any]:
        """While an event is looked up: what follows of it is found by adding it to the background for a moment, which
        one bucket of a process does at a time.
        """
        return nullcontext() if self.index.entailed is None else self.lock


_INDEXES: Final = OncePerRun[SharedIndex]()


def shared_index(run: str, part: "EventCascade") -> SharedIndex:
    """The index of a run in this process; an empty one where there are no patterns."""
    if not part.patterns:
        return SharedIndex(TripleIndex(()))
    return _INDEXES.of(run, lambda: SharedIndex(known_besides(part.classifier().program)))
