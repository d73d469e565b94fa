"""What every process of a run must know: the plan in its fragments, how many buckets each has, and how to run."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Final
from uuid import uuid4

from thalweg.dataflow.context import Context, Settings
from thalweg.dataflow.exchange import Exchange
from thalweg.dataflow.fragment import Fragment, fragments, levels
from thalweg.dataflow.operator import OpSpec
from thalweg.dataflow.plan import Edge, Plan
from thalweg.dataflow.state import StateFormat, other_version
from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.ir.annotate_terms import EDGES, SUPPLIED
from thalweg.kinds.part import Part, Watch
from thalweg.model.dictionary import Dictionary
from thalweg.model.predicate import Predicate
from thalweg.model.time import Clock
from thalweg.model.triples import TRIPLES
from thalweg.model.vocabulary import SAME_AS
from thalweg.runtimes.spark.checkpoint_format import FORMAT
from thalweg.runtimes.spark.wire import UNKNOWN, Parcel, Words, labels

_MOST_ROUTES: Final = 1 << 20
"""More routes than an operator has."""

Address = tuple[int, int, Exchange | None]
"""A fragment, the number of a route in it, and the exchange that chooses a bucket; None where all buckets get it."""


@dataclass(frozen=True)
class Job:
    """A plan made ready for many processes; what is split has `width` buckets, in however many partitions of Spark.

    `groups` is the number of groups of streams (see `watermark`); `sources` are the names of the tables that they are
    of, where late facts are to be counted by table.

    Of the `optional` groups, those that have brought nothing yet hold no other back; they are those of the values of a
    column, `by`.
    `name` tells runs apart whose operators meet in one process; `bounded`: all of the input is in one batch. A group
    that brings nothing for `idle` milliseconds rests, where a clock comes with the facts. A job that `closes` decides
    all ticks that it has seen when there is nothing more to read. One that `ends` is over then, and when its last tick
    is decided. `text` is the program as
    people read it, `identity` a fingerprint of it.
    """

    plan: Plan
    settings: Settings = field(default_factory=Settings)
    width: int = 2
    groups: int = 1
    sources: tuple[str, ...] = ()
    optional: frozenset[int] = frozenset()
    by: str | None = None
    bounded: bool = False
    name: str = ""
    idle: int | None = None
    closes: bool = False
    ends: bool = False
    clock: Clock = field(default_factory=Clock)
    streams: tuple[str, ...] = ()
    text: str = field(default="", repr=False)
    identity: str = ""

    @cached_property
    def fragments(self) -> tuple[Fragment, ...]:
        return fragments(self.plan, self.width)

    @cached_property
    def levels(self) -> tuple[tuple[Fragment, ...], ...]:
        """The fragments that work at the same time, each level after those that it needs."""
        return levels(self.plan, self.fragments)

    def specs(self, fragment: int) -> Iterator[OpSpec]:
        """The operators of a fragment."""
        return (self.plan.operators[number] for number in self.fragments[fragment].operators)

    def context(self, report: Callable[[Diagnostic], None], listen: Callable[[Any, Any], None]) -> Context:
        """The run as an operator in a bucket sees it."""
        options = {"saves": True, "streams": self.streams, "run": self.name, "in_columns": True}
        return Context(self.settings, self.clock, report, listen=listen, **options)  # type: ignore[arg-type]

    def __reduce__(self) -> tuple[()]:
        raise TypeError("a job travels as data: `shipped_job.ship` sends it")

    # Buckets --------------------------------------------------------------------------------------------------------

    def buckets(self, fragment: int) -> range:
        """The buckets of a fragment: all, or the one where it is together."""
        start = self._starts[fragment]
        return range(start, start + self.fragments[fragment].width)

    @cached_property
    def _starts(self) -> dict[int, int]:
        """The first bucket of each fragment; those that have but one and can run at the same time are in different
        ones.
        """
        single = ([fragment for fragment in level if fragment.width == 1] for level in self.levels)
        starts = {fragment.number: 0 for fragment in self.fragments}
        return starts | {
            fragment.number: place % self.width for level in single for place, fragment in enumerate(level)
        }

    @cached_property
    def labels(self) -> list[int]:
        """The key of each bucket in Spark, chosen so that buckets are spread evenly over partitions."""
        return labels(self.width)

    def bucket_of(self, label: int) -> int:
        """The bucket with a key."""
        return self._by_label[label]

    @cached_property
    def _by_label(self) -> dict[int, int]:
        return {label: bucket for bucket, label in enumerate(self.labels)}

    def labelled(self, parcels: Iterable[Parcel]) -> Iterator[Parcel]:
        """Parcels with the keys of their buckets in place of the numbers."""
        return (replace(parcel, bucket=self.labels[parcel.bucket]) for parcel in parcels)

    # Streams --------------------------------------------------------------------------------------------------------

    def is_shared(self, fragment: int) -> bool:
        """Whether the operators of a fragment get facts as they are, all in one bucket."""
        return all(spec.shares for spec in self.specs(fragment)) and self.fragments[fragment].width == 1

    def keeps_events(self, fragment: int) -> bool:
        """Whether it matters to a fragment which facts came together as one event, and the name of its graph."""
        return any(spec.keeps_events for spec in self.specs(fragment))

    def spreads_events(self, fragment: int) -> bool:
        """Whether the buckets of a fragment take whole events in turn."""
        return any(spec.by_event for spec in self.specs(fragment))

    def routes(self, signature: Predicate) -> Iterator[Address]:
        """Where facts of streams go that have a signature."""
        for fragment in self.fragments:
            yield from ((fragment.number, *route) for route in self.routes_into(fragment.number, signature))

    def routes_into(self, fragment: int, signature: Predicate) -> list[tuple[int, Exchange | None]]:
        """The routes of facts of a signature into a fragment; operators that share one all see what any of them reads.

        A window that counts the whole input counts what nothing reads, too.
        """
        specs = list(self.specs(fragment))
        if len(specs) == 1:
            taken = list(specs[0].routes(signature))
        elif self.fragments[fragment].width > 1:
            taken = self._routes_into_loop(specs, signature)
        else:
            taken = [route for spec in specs for route in spec.routes(signature)][:1]
        if taken or signature in self.supplied:
            return [*taken]
        return [(UNKNOWN, None)] if any(spec.counts_everything for spec in specs) else []

    @staticmethod
    def _routes_into_loop(specs: list[OpSpec], signature: Predicate) -> list[tuple[int, Exchange]]:
        """The routes of a loop that is split, numbered by operator; what two call the same comes once."""
        routes: dict[Predicate, tuple[int, Exchange]] = {}
        for place, spec in enumerate(specs):
            for route, exchange in spec.routes(signature):
                routes.setdefault(spec.called(route, signature), (place * _MOST_ROUTES + route, exchange))
        return list(routes.values())

    def called(self, fragment: int, route: int, signature: Predicate) -> Predicate:
        """What a fragment calls the facts of a route."""
        specs = list(self.specs(fragment))
        if route == UNKNOWN or (len(specs) > 1 and self.fragments[fragment].width == 1):
            return signature
        place, number = divmod(route, _MOST_ROUTES)
        return specs[place].called(number, signature)

    def where(self, fragment: int, exchange: Exchange | None, rows: Words, words: Dictionary) -> Words | None:
        """The bucket of each fact of a route; None where all get all of them."""
        return None if exchange is None else exchange.buckets_of(rows, words, self.buckets(fragment))

    def reports(self, signature: Predicate, fragment: int, route: int, bucket: int) -> bool:
        """Whether this bucket is the first to get facts of a signature, and reports those that are late."""
        first_route = next(self.routes(signature), None)
        if first_route is None:
            return fragment == 0 and bucket == self.buckets(0)[0]
        first, number, exchange = first_route
        if (first, number) != (fragment, route):
            return False
        is_exclusive = exchange is not None and exchange.is_exclusive
        return is_exclusive or bucket == self.buckets(fragment)[0]

    @cached_property
    def brings_triples(self) -> bool:
        """Whether rules read facts as triples."""
        return self._reads(TRIPLES)

    @cached_property
    def supplied(self) -> frozenset[Predicate]:
        """What the rules want to know about the terms of each fact; most want to know nothing."""
        return frozenset(name for name in SUPPLIED if self._reads(name)) - self.renamed.keys()

    @cached_property
    def renamed(self) -> dict[Predicate, Predicate]:
        """The signatures of what streams bring, by those that the rules know it by; most are the same."""
        return {EDGES: Predicate(SAME_AS, 2)} if self._reads(EDGES) else {}

    def _reads(self, name: Predicate) -> bool:
        specs = self.plan.operators
        return self._is_of_rules and any(True for spec in specs for _ in spec.routes(name))

    @property
    def _is_of_rules(self) -> bool:
        """Whether facts are made ready for rules before they are sent to buckets: an operator alone does it itself."""
        return bool(self.plan.program.rules)

    # Edges ----------------------------------------------------------------------------------------------------------

    @cached_property
    def home(self) -> dict[int, int]:
        """The fragment of each operator."""
        return {number: fragment.number for fragment in self.fragments for number in fragment.operators}

    def leaving(self, fragment: int) -> dict[int, Edge]:
        """The edges that lead from a fragment to others, by their numbers in the plan."""
        return {
            number: edge
            for number, edge in enumerate(self.plan.edges)
            if self.home[edge.source] == fragment != self.home[edge.target]
        }

    @cached_property
    def fingerprint(self) -> str:
        """What a checkpoint must agree with: the program, and how it is spread and run."""
        widths = [(fragment.operators, fragment.width) for fragment in self.fragments]
        groups = self.groups, sorted(self.optional), self.by
        what = self.identity, self.settings, self.width, groups, self.idle, self.closes, self.ends, widths
        return hashlib.sha256(repr(what).encode()).hexdigest()

    @property
    def owner(self) -> str:
        """Whose a saved state is: the number of the format, and the fingerprint."""
        return f"{FORMAT.number}:{self.fingerprint}"

    def owns(self, owner: str) -> bool:
        """Whether a state is of this job, whichever version has written it."""
        return owner.partition(":")[2] == self.fingerprint

    def check_owner(self, owner: str) -> None:
        """`RejectedError` where another program has left a state, or a version of Thalweg whose states are not read.

        >>> job = Job(Plan(()))
        >>> job.check_owner(f"{FORMAT.oldest}:{job.fingerprint}")
        >>> job.check_owner("1:ab")
        Traceback (most recent call last):
        thalweg.diagnostics.RejectedError: error[E421]: the checkpoint has version 1 of the state `bucket`, and ...
        """
        version = owner.partition(":")[0]
        if not FORMAT.reads(int(version)):
            raise other_version(StateFormat("bucket", FORMAT.number), "bucket", int(version))
        if not self.owns(owner):
            message = "the checkpoint belongs to another program, or to other settings"
            raise RejectedError([Diagnostic("E408", message)])


@dataclass(frozen=True, slots=True)
class SparkWork:
    """A part made ready for Spark, and what watches the run in the driver."""

    job: Job
    watch: Watch


def spread(part: Part, context: Context, buckets: int) -> SparkWork:
    """Makes a part ready for Spark, split into buckets; what a worker would refuse is refused here."""
    from thalweg.runtimes.local import LocalRun

    plan = part.plan(context, buckets)
    if not plan.program.rules:
        LocalRun(part, context).close()
    text, identity = part.identity(context)
    about = {"clock": context.clock, "streams": context.streams, "text": text, "identity": identity}
    job = Job(plan, context.settings, buckets, name=uuid4().hex, **about)  # type: ignore[arg-type]
    return SparkWork(job, part.watch(context, buckets))
