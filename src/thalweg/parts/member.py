"""A part that stands in a plan beside others: what it must offer so that rules can be wired around it.

A new kind of part is added by implementing `Member` and `MemberAtWork`; nothing else of the wiring knows kinds. What a
member gives others is either *held* (`Output.given`): it holds until the member says otherwise; or *streamed*
(`Output.events`): an event at its tick.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.parts.part import Context
from thalweg.planning.wire_parts import Ports

if TYPE_CHECKING:
    from thalweg.engine import Given
    from thalweg.engine.proof import Proof
    from thalweg.explain.wired_parts import ExplainedMember
    from thalweg.ir.nodes import Program
    from thalweg.parts.split_place import SplitPlace
    from thalweg.runtimes.answer_columns import AnswerColumns

Words = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Output:
    """What a part says at one tick: its own `answer`, held facts that begin and end, and events.

    The answer is a change of rules, which the emitter of the run makes answers of, or else an answer as it is.
    """

    tick: int
    answer: Any = None
    given: "tuple[Given, ...]" = ()
    events: tuple[Batch, ...] = ()


@dataclass(frozen=True, slots=True)
class Beside:
    """What the others of a plan are to a member.

    They derive some of what it reads; they read the `wanted` predicates of what it holds, all where that is None; and
    they make the streams that it hears.
    """

    derived: tuple[Predicate, ...] = ()
    wanted: frozenset[Predicate] | None = frozenset()
    streams: tuple[str, ...] = ()


class MemberAtWork(Protocol):
    """A member in a run; it shares the dictionary with all others of the plan."""

    first: int | None
    """The first tick of the run, where it is known: it is set before the first `advance`."""

    @property
    def is_settled(self) -> bool:
        """Whether all has been said of the ticks so far, even if nothing more comes: then `finish` says nothing."""

    def advance(self, tick: int, batches: Sequence[Batch], given: "Sequence[Given]") -> Iterator[Output]:
        """Everything up to a tick, in the order of time.

        `batches` are the events of that tick, of streams and of other parts, each with the name of its stream; `given`
        is what begins and ends at that tick of the facts that it reads and others derive.
        """

    def finish(self) -> Iterator[Output]:
        """Nothing more will come: what is still to be said of the last tick."""

    def looks(self, after: int, before: int) -> Iterable[int]:
        """The ticks between two others at which it looks at what it hears; in between only the ends matter."""

    def words_in_use(self) -> Words:
        """The words of the terms that are still needed."""

    def why(self, fact: Fact) -> "Proof | None":
        """Why a fact holds that it gives; the facts that it read are put below by others."""

    def lacking(self, fact: Fact) -> str:
        """That a fact is not among what it gives, in words that go on behind `and`."""

    def snapshot(self) -> bytes:
        """All that it must know to go on; it has begun."""

    def resume(self, data: bytes) -> None:
        """Brings one that has not begun to where a snapshot was taken."""

    def close(self) -> None:
        """Nothing more will be asked."""


class Member(Protocol):
    """A part that is more than rules, as a value."""

    @property
    def size(self) -> str:
        """How large it is, in words."""

    @property
    def rules(self) -> "Program":
        """The rules that it stands for; `RejectedError` where it is more than rules."""

    @property
    def ports(self) -> Ports:
        """What it reads and gives."""

    def readers(self) -> "Program":
        """Rules that read what it reads, to tell whether that ever came."""

    def identity(self, context: Context) -> tuple[str, str]:
        """What a saved state of it must agree with: the program as people read it, and a fingerprint."""

    def answer_columns(self, emit: str) -> "AnswerColumns":
        """The columns of its own answers as a table."""

    def join(self, context: Context, dictionary: Dictionary, beside: Beside) -> MemberAtWork:
        """Makes what reasons in a plan; `RejectedError` where the settings have no meaning for it."""

    def split(self, context: Context, partitions: int, is_alone: bool) -> "SplitPlace | None":
        """How its work is split over buckets of Spark, where that is so; `is_alone`: it reads nothing but streams."""

    def explain_member(self) -> "ExplainedMember":
        """How it is evaluated, as one part of a plan."""
