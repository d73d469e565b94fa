"""The contract: what an operator takes, gives, and must be able to do.

    updates at a tick ──▶ Operator.advance ──▶ outputs: updates for other operators, and answers

An operator is taken through time, tick by tick, in one process or in one bucket of many. A runtime knows nothing of it
but this page. What an operator gives others is *held* (facts that begin, and hold until it says otherwise), *events*
(facts at a tick, on the stream with its name) or *records* (values of its kind, which `model.records` writes as JSON).
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from thalweg.dataflow.exchange import GATHER, Exchange
from thalweg.dataflow.state import StateFormat
from thalweg.diagnostics import Diagnostic
from thalweg.engine import Given
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.model.prefixes import Prefixes

if TYPE_CHECKING:
    from thalweg.dataflow.context import Context
    from thalweg.engine.engine import PlanEngine
    from thalweg.engine.proof import Proof
    from thalweg.explain.plan_stage import PlanStage

Words = NDArray[np.int64]
NO_WORDS: Final[Words] = np.zeros(0, dtype=np.int64)

HeldKey = tuple[Predicate, bool]
"""A predicate of held facts, and whether each of them has a tick of its own as a last argument."""

Doubt = tuple[HeldKey, int, tuple[Predicate, ...]]
"""Held facts that may be incomplete from a tick on, the bucket that gives them, and the predicates of which facts were
shed behind them; none where they are complete again.
"""


# These two are made at every tick, and a named tuple is made three times as fast as a frozen dataclass.
class Updates(NamedTuple):
    """What comes to an operator at a tick."""

    events: Sequence[Batch] = ()
    held: Sequence[Given] = ()
    records: Sequence[Any] = ()
    doubts: Sequence[Doubt] = ()


class Output(NamedTuple):
    """What an operator gives at a tick: an `answer` for users, and updates for other operators.

    The answer is a change of rules, which the emitter of the run makes answers of, or else an answer as it is.
    """

    tick: int
    answer: Any = None
    held: Sequence[Given] = ()
    events: Sequence[Batch] = ()
    records: Sequence[Any] = ()
    doubts: Sequence[Doubt] = ()


@dataclass(frozen=True, slots=True)
class FactRows:
    """Facts that begin (0), end (1) or become unknown (2) at a tick, to be shown to users: an answer in columns.

    Each has a predicate, what becomes of it, rows of words, and the tick until which these are guaranteed.
    """

    tick: int
    rows: tuple[tuple[str, int, Words, int], ...]


@dataclass(frozen=True, slots=True)
class Share:
    """Which of the buckets of a fragment an operator is opened for; in one process it is the only one."""

    bucket: int = 0
    buckets: range = range(1)


@dataclass(frozen=True, slots=True)
class Notes:
    """What is to be reported of a batch of ticks besides answers.

    `missing` has the predicates of which facts were shed, with their first and last ticks, and `unsure` the predicates
    that may lack facts by that; `guaranteed` has the last tick of facts that hold at the end.
    """

    warnings: tuple[Diagnostic, ...] = ()
    missing: tuple[tuple[str, int, int], ...] = ()
    unsure: tuple[str, ...] = ()
    guaranteed: dict[str, int] = field(default_factory=dict)


NO_NOTES: Final = Notes()


class Operator(ABC):
    """One operator at work. It shares the dictionary with all others of its fragment."""

    format: ClassVar[StateFormat]
    """The name and the version of its saved state."""

    first: int | None = None
    """The first tick of the run, where it is known: it is set before the first `advance`."""

    quiet = False
    """Set while a batch is repeated whose outputs are known: work that only outputs need may be left out."""

    shed: tuple[str, ...] = ()
    """The predicates of which facts were shed for want of memory."""

    unsure: tuple[str, ...] = ()
    """The predicates that may lack facts by that."""

    must_save = False
    """Whether the last batch cannot be repeated with the same outputs, so that the state after it must be saved."""

    @property
    def is_settled(self) -> bool:
        """Whether all has been given of the ticks so far, even if nothing more comes: then `finish` gives nothing."""
        return True

    @property
    def counts_facts(self) -> bool:
        """Whether the order matters in which facts of a predicate arrived."""
        return False

    @abstractmethod
    def advance(self, tick: int, updates: Updates) -> Iterable[Output]:
        """Takes what comes at a tick; gives everything up to that tick, in the order of time."""

    def finish(self) -> Iterator[Output]:
        """Nothing more will come: what is still to be given for the last tick."""
        return iter(())

    def looks(self, after: int, before: int) -> Iterable[int]:
        """The ticks between two others at which it looks at what it hears; in between only the ends matter."""
        return ()

    def notes(self, decided: int, over: bool) -> Notes:
        """What is to be reported now that the ticks up to one are decided; `over`: there will be no more."""
        return NO_NOTES

    def words_in_use(self) -> Words:
        """The words of the terms that are still needed; what was given may be spelled before they are collected."""
        return NO_WORDS

    @abstractmethod
    def save(self) -> bytes:
        """All that it must know to go on; it has begun."""

    @abstractmethod
    def load(self, data: bytes) -> None:
        """Brings one that has not begun to where another was saved."""

    # Where a run goes on with a changed program ----------------------------------------------------------------------

    def take_over(self, other: "Operator") -> None:
        """Brings one that has not begun to where another one is, of which it does the same or a part."""
        self.load(other.save())

    def holding(self) -> Iterable[Given]:
        """The held facts that it gives others now, as if all of them began."""
        return ()

    def showing(self) -> Iterable[tuple[Predicate, list[str]]]:
        """The facts that its answers say to hold, by their predicates."""
        return ()

    def close(self) -> None:
        """Nothing more will be asked."""
        return


@runtime_checkable
class TakesDefinitions(Protocol):
    """An operator to which definitions are added, and from which they are taken, between two ticks.

    What it gives by its other definitions, and what they remember, stays as it is.
    """

    def check_definition(self, definition: Any) -> None:
        """`RejectedError` where a definition cannot be added."""

    def add_definition(self, definition: Any, first: int | None) -> None:
        """Adds a definition that begins at a tick; None where nothing has been evaluated yet."""

    def remove_definition(self, name: str) -> None:
        """Takes a definition away that was added, and that no other uses."""


@runtime_checkable
class Concludes(Protocol):
    """An operator whose facts an engine of rules derives, which can be asked for derivations."""

    engine: "PlanEngine"


@runtime_checkable
class Explains(Protocol):
    """An operator that can be asked why it gives a fact."""

    def why(self, fact: Fact) -> "Proof | None":
        """Why it gives a fact; the facts that it read are put below by others. None where it does not."""

    def lacking(self, fact: Fact) -> str:
        """That a fact is not among what it gives, in words that go on behind `and`."""


@runtime_checkable
class ExplainsRows(Protocol):
    """An operator that can be asked why it gives a row."""

    def why_row(self, text: str, prefixes: Prefixes) -> Any:
        """Why a row is among those of the last evaluation; None where it is not."""


@runtime_checkable
class ExplainsEvents(Protocol):
    """An operator that can be asked of what events consist."""

    def event_behind(self, leaf: "Proof") -> "Proof | None":
        """A fact of a derivation with the events that it is; None where it is not an event."""

    def why_event(self, event: Fact) -> Any:
        """Why there is an event at the last tick, or how far its matches are; None where none has this name."""


class OpSpec(ABC):
    """An operator as a value: what every process must know to open it."""

    shares: ClassVar[bool] = True
    """Whether it may be in one fragment with others that are not split; else it has a fragment of its own."""

    keeps_events: ClassVar[bool] = False
    """Whether it matters which facts came together as one event, and the name of its graph."""

    whole_events: ClassVar[bool] = False
    """Whether an event must come with all its facts: a part of it would give another answer."""

    renames: ClassVar[bool] = False
    """Whether it takes in facts under names that say by which exchange they come."""

    by_event: ClassVar[bool] = False
    """Whether its buckets take whole events of streams in turn."""

    shows_facts: ClassVar[bool] = False
    """Whether its answers are about facts that begin and end, so that the emitter of the run makes answers of them."""

    reads_streams: bool = True
    counts_everything: bool = False
    """Whether it must see every fact of every stream, because a tuple window counts the whole input."""

    @property
    def takes_events(self) -> bool:
        """Whether events of other parts come to it, as those of streams do."""
        return self.reads_streams

    def width(self, partitions: int) -> int:
        """Into how many buckets it is split."""
        return 1

    def routes(self, signature: Predicate) -> Iterable[tuple[int, Exchange]]:
        """How facts of streams reach it: the number of each route, and the exchange that chooses buckets."""
        return ()

    def called(self, route: int, signature: Predicate) -> Predicate:
        """The predicate under which the operator takes in facts of a route."""
        return signature

    def held_routes(self, key: HeldKey) -> Iterable[tuple[Predicate, Exchange]]:
        """How held facts that other parts of a plan give reach it: what it calls them, and the exchange."""
        return ((key[0], GATHER),)

    def gives(self, key: HeldKey) -> bool:
        """Whether it gives held facts of a key to other parts of a plan."""
        return False

    def location(self, key: HeldKey) -> Exchange | None:
        """The exchange that would send each held fact of a key to the bucket that gives it; None where there is none.

        Operators of a loop through `before` share their buckets where all that they read of each other is where they
        look for it.
        """
        return None

    gives_events: ClassVar[bool] = False
    """Whether its events are those that other parts of a plan read."""

    def placement(self, partitions: int) -> "PlanStage | None":
        """How it is spread over partitions, for people to read; None where it is together with others."""
        return None

    @abstractmethod
    def open(self, context: "Context", dictionary: Dictionary, share: Share) -> Operator:
        """Makes the operator of a bucket; `RejectedError` where the settings have no meaning for it."""
