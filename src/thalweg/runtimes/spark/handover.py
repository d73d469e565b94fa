"""A changed program takes over on Spark: what there was of the earlier one, as a new worker needs it.

    checkpoint ──▶ the earlier job, and the states of its buckets ──▶ BucketHandover ──file──▶ workers

Each bucket of a fragment that goes on for an earlier one makes a worker of the earlier job, brings it to where it was,
and takes from it what goes on. Other fragments begin with the watermark. What is new begins at the first tick of which
nothing had been read: of earlier ticks, buckets do not have what only the changed program reads.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.kinds.part import Part
from thalweg.kinds.plan_succession import Home, PlacedPlan, PlanSuccession, succession
from thalweg.kinds.units import ProgramChange, Units, changed, owners_of
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.predicate import Predicate
from thalweg.model.time import NEVER
from thalweg.runtimes.spark.inbox import Inbox
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.shipped_job import sealed, unsealed
from thalweg.runtimes.spark.wire import FACTS, unwrap

Address = tuple[int, int]
"""A fragment, and a bucket of it."""

_NO_STATE: Final = b""


@dataclass(frozen=True)
class KeptJob:
    """A job with what a changed program must know of it: its units, and which of them each operator is of."""

    job: Job
    units: Units
    owners: tuple[str | None, ...]

    @classmethod
    def of(cls, job: Job, part: Part, units: Units) -> "KeptJob":
        """A job that was made of a part."""
        return cls(job, units, owners_of(part, job.plan))

    def save(self) -> bytes:
        """It as bytes."""
        header = {"units": self.units.save(), "owners": list(self.owners)}
        return frame([encode(header, {}), sealed(self.job)])

    @classmethod
    def load(cls, data: bytes) -> "KeptJob":
        """What was saved."""
        about, job = unframe(data)
        header: dict[str, Any] = decode(about)[0]
        return cls(unsealed(job), Units.load(header["units"]), tuple(header["owners"]))

    @property
    def placed(self) -> PlacedPlan:
        """The plan, and where each operator works."""
        job = self.job
        fragments = (job.home[number] for number in job.plan.numbers)
        homes = tuple(Home(number, job.buckets(number), job.keeps_events(number)) for number in fragments)
        return PlacedPlan(job.plan, self.owners, homes, self.units.groups)


@dataclass(frozen=True, slots=True)
class BucketState:
    """What a store has of a bucket: what was saved, nothing at first, and the parcels of each batch since."""

    base: bytes = _NO_STATE
    journal: tuple[tuple[bytes, ...], ...] = ()

    @property
    def size(self) -> int:
        """The bytes that it has."""
        return len(self.base) + sum(len(payload) for payloads in self.journal for payload in payloads)


@dataclass(frozen=True)
class BucketHandover:
    """An earlier job, where its buckets were, and what goes on of it.

    What is new begins at the tick `first`. `watermark` and what belongs to it are those of all buckets.
    """

    earlier: Job
    succession: PlanSuccession
    states: Mapping[Address, BucketState]
    first: int
    watermark: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, earlier: KeptJob, new: KeptJob, states: Mapping[Address, BucketState]) -> "BucketHandover":
        """The handover from one job to another, with `states` of all buckets.

        `RejectedError` where a window counts the facts of all streams, and these are others now, or some go on and
        some begin with a budget of memory.
        """
        change = changed(earlier.units, new.units)
        following = succession(earlier.placed, new.placed, change)
        if new.job.settings.memory is not None and following.change.same and following.change.begun:
            raise RejectedError([_no_budget()])
        inbox = _inbox_of(earlier.job, states)
        header, _ = inbox.save()
        first = max(0, inbox.watermark.seen + 1, inbox.watermark.reached + 1)
        return cls(earlier.job, following, states, first, header)

    @property
    def decided(self) -> int | None:
        """The last tick that was decided before."""
        reached: int = self.watermark["watermark"]["reached"]
        return None if reached == NEVER else reached

    def predecessor(self, fragment: int) -> int | None:
        """The earlier fragment that one goes on for."""
        return next((before for before, after in self.succession.heirs.items() if after == fragment), None)

    @property
    def orphans(self) -> list[Address]:
        """The buckets of fragments that none goes on for."""
        return sorted(address for address in self.states if address[0] not in self.succession.heirs)

    def save(self) -> bytes:
        """It as bytes."""
        own = self.succession
        change = own.change
        header = {
            "change": [change.same, change.begun, change.gone],
            "origins": sorted(own.origins.items()),
            "heirs": sorted(own.heirs.items()),
            "fresh": sorted(own.fresh),
            "stay": sorted(map(str, own.stay)),
            "appear": sorted(map(str, own.appear)),
            "first": self.first,
            "watermark": dict(self.watermark),
        }
        return frame([encode(header, {}), sealed(self.earlier), save_states(self.states)])

    @classmethod
    def load(cls, data: bytes) -> "BucketHandover":
        """What was saved."""
        about, job, states = unframe(data)
        header: dict[str, Any] = decode(about)[0]
        stay, appear = (frozenset(map(Predicate.read, header[name])) for name in ("stay", "appear"))
        same, begun, gone = map(tuple, header["change"])
        own = PlanSuccession(
            ProgramChange(same, begun, gone),
            dict(header["origins"]),
            dict(header["heirs"]),
            frozenset(header["fresh"]),
            stay,
            appear,
        )
        return cls(unsealed(job), own, load_states(states), header["first"], header["watermark"])


def _no_budget() -> Diagnostic:
    message = "with a budget of memory, either all of a program goes on or all of it begins"
    return Diagnostic("E408", message, help="begin with a new checkpoint, or leave the program as it was")


def save_states(states: Mapping[Address, BucketState]) -> bytes:
    """The states of buckets as bytes.

    >>> load_states(save_states({(1, 7): BucketState(b"base", ((b"parcel",),))}))
    {(1, 7): BucketState(base=b'base', journal=((b'parcel',),))}
    """
    ordered = sorted(states.items())
    contents = (frame([state.base, *map(frame, state.journal)]) for _, state in ordered)
    return frame([encode({"states": [address for address, _ in ordered]}, {}), *contents])


def load_states(data: bytes) -> dict[Address, BucketState]:
    """What was saved."""
    about, *contents = unframe(data)
    addresses: list[Address] = decode(about)[0]["states"]
    return {
        (fragment, bucket): _state(content) for (fragment, bucket), content in zip(addresses, contents, strict=True)
    }


def _state(content: bytes) -> BucketState:
    base, *journal = unframe(content)
    return BucketState(bytes(base), tuple(tuple(map(bytes, unframe(entry))) for entry in journal))


def _inbox_of(job: Job, states: Mapping[Address, BucketState]) -> Inbox:
    """The inbox of a bucket as far as its watermark goes, which is that of all."""
    (fragment, bucket), state = min(states.items(), key=lambda item: (item[1].size, item[0]))
    inbox = Inbox(job, fragment, bucket, Dictionary(), lambda run: run.signature)
    if state.base:
        about, _, *runs = unframe(state.base)
        inbox.load(decode(about)[0], runs)
    for payloads in state.journal:
        inbox.take(content for content in map(unwrap, payloads) if content.kind == FACTS)
    return inbox
