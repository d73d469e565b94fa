"""Takes the operators of a fragment through time, each as far as those before it have come.

At each tick the operators are evaluated in their order. What one gives is, to its readers, held at that tick or an
event of it. Time passes for a whole interval at once: what the first operator gives at the ticks of the interval is
merged into what the second one takes, and so on, so an operator is called only at ticks at which something comes to it.

A stream that is too short for a window has one at its end all the same: until a first window has closed, what reads
its answers waits with the last tick (`Operator.is_settled`).

Where a run goes on with a changed program, operators that are new begin at the next tick. What others hold then begins
for them: it is netted with what these give at that tick.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from heapq import heapify, heappop, heappush, merge
from itertools import filterfalse, groupby, tee
from operator import itemgetter
from typing import Final

import numpy as np

from thalweg.dataflow.context import Context
from thalweg.dataflow.operator import HeldKey, Operator, Output, Share, Updates, Words
from thalweg.dataflow.operator_arrivals import Arrivals, Heard, Union, netted, since
from thalweg.dataflow.plan import Edge, Plan
from thalweg.dataflow.state import StateFormat, sealed, unsealed
from thalweg.engine import Given
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch

_OUTSIDE: Final = -1
"""In place of an operator: what another fragment has sent."""

FORMAT: Final = StateFormat("executor")


class Node:
    """An operator at work in its place: what it takes from others, and what waits for it.

    Edges whose source is in the same fragment are `inside`; by the others, updates are handed in (`receive`).
    """

    def __init__(
        self,
        number: int,
        operator: Operator,
        edges: Sequence[Edge],
        inside: Collection[int],
        reads: bool,
        begins: int | None = None,
    ) -> None:
        """`begins` is the first tick of an operator that began later than the run."""
        self.number = number
        self.operator = operator
        self.begins = begins
        self.reads_streams = reads
        self.edges = tuple(edges)
        near = [edge for edge in edges if edge.source in inside]
        self.sources = tuple(sorted({edge.source for edge in near if not edge.delayed}))
        self.late = Arrivals()
        """Facts that held at the last tick, which delayed edges bring to the next one."""
        self.waiting: tuple[int, Arrivals] | None = None
        """The last tick, where what comes at it is not decided."""
        self.received: dict[int, Arrivals] = {}
        """What other fragments have sent, by tick."""
        self._ticks: list[int] = []
        """A heap of the ticks of what was received, and perhaps of some that have been taken."""
        self.unsettled: set[tuple[int, int]] = set()
        """The operators of other fragments, each with a bucket, that may still give something for the last tick."""
        self.reached: int | None = None
        self._held: dict[tuple[int, HeldKey | None], list[Edge]] = {}
        for edge in near:
            if edge.what == "held" and not edge.delayed:
                self._held.setdefault((edge.source, edge.key), []).append(edge)
        self._events = frozenset(edge.source for edge in near if edge.what == "events")
        self._records = frozenset(edge.source for edge in near if edge.what == "records")
        self.delayed = tuple(edge for edge in near if edge.delayed)
        taken = [(edge.called, edge.key[1]) for edge in edges if edge.what == "held" and edge.key and not edge.stream]
        self.union = Union({(name, timed) for name, timed in taken if name and taken.count((name, timed)) > 1})
        self.presence = Heard() if any(edge.stream is not None for edge in edges) else None

    def receive(self, tick: int, arrivals: Arrivals) -> None:
        """Keeps what another fragment has sent until its tick is evaluated."""
        if tick in self.received:
            self.received[tick].add(arrivals)
        else:
            self.received[tick] = arrivals
            heappush(self._ticks, tick)

    def is_behind(self, tick: int) -> bool:
        """Whether something was received for an earlier tick, and waits."""
        ticks = self._ticks
        while ticks and ticks[0] not in self.received:
            heappop(ticks)
        return bool(ticks) and ticks[0] < tick

    def is_new(self, now: int | None) -> bool:
        """Whether it has not come past its first ticks, where that began later than the run."""
        return self.begins is not None and (now is None or now <= self.begins)

    def received_up_to(self, tick: int) -> Iterator[tuple[int, Arrivals]]:
        """Takes out what was received for the ticks up to one, in the order of time."""
        while self.is_behind(tick + 1):
            yield self._ticks[0], self.received.pop(self._ticks[0])

    def gather(self, arrivals: Arrivals, source: int, output: Output) -> None:
        """Takes what another operator of the fragment gives at a tick."""
        if source in self._events:
            arrivals.events += output.events
        if source in self._records:
            arrivals.records += output.records
        for doubted, sender, names in output.doubts:
            for edge in self._held.get((source, doubted), ()):
                arrivals.doubts.append(((edge.called or doubted[0], doubted[1]), sender, names))
        for change in output.held:
            for key in ((change.signature, change.timed), None):
                for edge in self._held.get((source, key), ()):
                    if edge.lasting != change.lasting:
                        continue
                    named = replace(change, signature=edge.called or change.signature)
                    if edge.stream is None and not self.union.counts((named.signature, named.timed)):
                        arrivals.give(source, named)
                    else:
                        self.take(arrivals, edge, named)

    @staticmethod
    def take(arrivals: Arrivals, edge: Edge, change: Given) -> None:
        """Takes held facts that came by an edge, as this operator calls them."""
        if edge.stream is None:
            arrivals.held.append(change)
        else:
            arrivals.heard.append((edge.stream, edge.source, change))

    def delay(self, source: int, output: Output) -> None:
        """Keeps what another operator gives at a tick for the next one."""
        for change in output.held:
            for edge in self.delayed:
                same = (edge.source, edge.key) == (source, (change.signature, change.timed))
                if same and edge.lasting == change.lasting:
                    self.late.held.append(replace(change, signature=edge.called or change.signature))

    def advance(self, tick: int, arrivals: Arrivals) -> Iterator[Output]:
        """Takes in what has come at a tick; what has come before the operator begins holds when it does."""
        if self.begins is not None:
            if tick < self.begins:
                self._expect(arrivals)
                return
            # What was expected while this flow was on its way is not among what it found received.
            if (expected := self.received.pop(self.begins, None)) is not None:
                if tick == self.begins:
                    arrivals.add(expected)
                else:
                    yield from self.advance(self.begins, expected)
            held = self._net(arrivals.held) if tick <= self.begins + 1 else arrivals.held
            arrivals.held = [since(self.begins, change) for change in held]
        if self.presence is not None:
            yield from self._listen(self.presence, tick, arrivals)
        self.reached = tick
        yield from self.operator.advance(tick, arrivals.updates(self.union.turn(arrivals.held)))

    def _listen(self, presence: Heard, tick: int, arrivals: Arrivals) -> Iterator[Output]:
        """What held since the last tick is an event wherever the reader looks, and where it held for the last time."""
        if self.reached is not None and (events := presence.events()):
            looks = {*self.operator.looks(self.reached, tick)}
            looks |= {tick - 1} if arrivals.heard and tick - 1 > self.reached else set()
            for look in sorted(looks):
                yield from self.operator.advance(look, Updates(events))
        presence.change(arrivals.heard)
        arrivals.events += presence.events()

    def _net(self, held: Sequence[Given]) -> list[Given]:
        """Changes of a tick, each predicate once, apart from those that are counted anyway."""
        # What is lasting is never said to end.
        stays = lambda change: change.lasting or self.union.counts((change.signature, change.timed))  # noqa: E731
        return [*filter(stays, held), *netted([*filterfalse(stays, held)])]

    def _expect(self, arrivals: Arrivals) -> None:
        """Keeps what holds from before the first tick."""
        assert self.begins is not None
        if self.presence is not None:
            self.presence.change(arrivals.heard)
        if arrivals.held:
            self.receive(self.begins, Arrivals(held=arrivals.held))

    def expect(self, first: int, source: int, holding: Sequence[Given], edges: Iterable[Edge]) -> None:
        """Takes what another operator holds before a first tick; what comes a tick later begins a tick later."""
        now, later = Arrivals(), Arrivals()
        for given in holding:
            for edge in edges:
                if edge.what == "held" and edge.source == source and edge.key in (None, (given.signature, given.timed)):
                    change = replace(given, signature=edge.called or given.signature)
                    self.take(later if edge.delayed else now, edge, change)
        if self.presence is not None:
            self.presence.change(now.heard)
        for tick, arrivals in ((first, now), (first + 1, later)):
            if arrivals.held:
                self.receive(tick, Arrivals(held=arrivals.held))

    def take_over(self, other: "Node", numbers: Mapping[int, int]) -> None:
        """Brings one that has not begun to where another one is; `numbers` are the operators here by those there."""
        self.begins, self.reached = other.begins, other.reached
        if other.reached is not None:
            self.operator.take_over(other.operator)
        self.union.take_over(other.union)
        if self.presence is not None and other.presence is not None:
            self.presence.take_over(other.presence, numbers)
        keys = {(edge.called or edge.key[0], edge.key[1]) for edge in self.edges if edge.what == "held" and edge.key}
        self.late = other.late.read_here(keys, numbers)
        self.waiting = other.waiting and (other.waiting[0], other.waiting[1].read_here(keys, numbers))
        for tick, arrivals in other.received.items():
            self.receive(tick, arrivals.read_here(keys, numbers))
        self.unsettled = {(numbers[source], bucket) for source, bucket in other.unsettled if source in numbers}

    @property
    def is_decided(self) -> bool:
        """Whether what it gives for the last tick is complete."""
        return self.waiting is None and self.operator.is_settled

    def words(self) -> Iterator[Words]:
        """The words that the operator and what waits for it need."""
        yield self.operator.words_in_use()
        yield from self.union.words()
        if self.presence is not None:
            yield from self.presence.words()
        for arrivals in (self.late, *self.received.values(), *(() if self.waiting is None else (self.waiting[1],))):
            yield from arrivals.words()

    def save(self, words: Dictionary) -> bytes:
        """The operator's state, and what waits for it."""
        waiting = b"" if self.waiting is None else self.waiting[1].save(self.waiting[0], words)
        presence = b"" if self.presence is None else self.presence.save(words)
        # An operator that has waited from the beginning has no state yet.
        state = b"" if self.reached is None else sealed(self.operator.format, self.operator.save())
        about = encode({"reached": self.reached, "unsettled": sorted(self.unsettled)}, {})
        received = frame(arrivals.save(tick, words) for tick, arrivals in sorted(self.received.items()))
        return frame([about, state, self.union.save(words), presence, waiting, self.late.save(0, words), received])

    def load(self, data: bytes, words: Dictionary) -> None:
        """Brings one that has not begun to where another was saved."""
        about, state, union, presence, waiting, late, received = unframe(data)
        header, _ = decode(about)
        self.reached, self.unsettled = header["reached"], {(source, bucket) for source, bucket in header["unsettled"]}
        if state:
            self.operator.load(unsealed(self.operator.format, state))
        self.union.load(union, words)
        if self.presence is not None:
            self.presence.load(presence, words)
        self.waiting = Arrivals.load(waiting, words) if waiting else None
        self.late = Arrivals.load(late, words)[1]
        self.received = dict(Arrivals.load(saved, words) for saved in unframe(received))
        self._ticks = list(self.received)
        heapify(self._ticks)


Numbered = tuple[int, Output]
"""What an operator gives, with its number in the plan."""

Incoming = tuple[int, int, Output | Arrivals]
"""What comes to an operator: the tick, the number of the operator that gives it, and what it is."""


class Executor:
    """The operators of a fragment at work; those of a whole plan, in one process."""

    def __init__(self, nodes: Sequence[Node], dictionary: Dictionary) -> None:
        self.nodes = tuple(nodes)
        self.dictionary = dictionary
        self.first: int | None = None
        self.now: int | None = None
        self._by_number = {node.number: node for node in self.nodes}
        self.numbers = self._by_number.keys()
        self._readers = {
            node.number: [other for other in self.nodes if node.number in other.sources] for node in self.nodes
        }
        self._back = {
            node.number: [other for other in self.nodes if any(node.number == edge.source for edge in other.delayed)]
            for node in self.nodes
        }
        self._loops = any(node.delayed for node in self.nodes)
        only = self.nodes[0] if len(self.nodes) == 1 else None
        self._single = only if only is not None and not only.delayed and only.presence is None else None

    def advance(self, to: int, batches: Sequence[Batch]) -> Iterable[Numbered]:
        """Evaluates every tick up to `to`; what operators give, in the order of time."""
        single = self._single
        if single is None or single.unsettled or single.waiting or single.is_behind(to):
            now = self.now
            self._reach(to)
            return self._steps(now, to, batches)
        return [(single.number, output) for output in self.advance_single(single, to, batches)]

    def _reach(self, to: int) -> None:
        """Goes to a tick; operators know the first one before they are called."""
        if self.now is None:
            self.first = to if self.first is None else self.first
            for node in self.nodes:
                node.operator.first = self.first if node.begins is None else node.begins
        self.now = to

    def advance_single(self, node: Node, to: int, batches: Sequence[Batch]) -> Iterable[Output]:
        """The same for the only operator, where it waits for nothing."""
        now = self.now
        self._reach(to)
        if node.is_new(now):
            return (output for _, output in self._steps(now, to, batches))
        node.reached = to
        if to not in node.received:
            return node.operator.advance(to, Updates(batches))
        arrivals = node.received.pop(to)
        arrivals.events[:0] = batches
        return node.operator.advance(to, arrivals.updates(node.union.turn(arrivals.held)))

    def ticks(self) -> set[int]:
        """The ticks of what other fragments have sent and no operator has taken."""
        return {tick for node in self.nodes for tick in node.received}

    def _steps(self, now: int | None, to: int, batches: Sequence[Batch]) -> Iterator[Numbered]:
        """All ticks at once; one by one where an operator needs what later ones gave at the tick before."""
        if not self._loops:
            # What has come before an operator begins is known when it does.
            for tick in self._before_begins(now, to):
                yield from self._flow(tick, ())
            yield from self._flow(to, batches)
            return
        assert self.first is not None
        for tick in range(self.first if now is None else now + 1, to + 1):
            # There is a next tick: what waited for it is given for the last one.
            yield from self._flow(tick - 1, None, over=False)
            yield from self._flow(tick, batches if tick == to else ())

    def _before_begins(self, now: int | None, to: int) -> list[int]:
        """The ticks before an operator begins, among those that come before another one."""
        after = (self.first or 0) - 1 if now is None else now
        ticks = (node.begins - 1 for node in self.nodes if node.begins is not None)
        return sorted({tick for tick in ticks if after < tick < to})

    def _flow(self, to: int, batches: Sequence[Batch] | None, over: bool = True) -> Iterator[Numbered]:
        """What all operators give up to a tick; without batches, what was still open, perhaps as all is over."""
        copies: dict[int, list[Iterator[Numbered]]] = {}
        for node in self.nodes:
            sources = [copies[source].pop() for source in node.sources]
            outputs = self._delayed(node.number, self._through(node, sources, to, batches, over))
            copies[node.number] = list(tee(outputs, len(self._readers[node.number]) + 1))
        return merge(*(copies[node.number].pop() for node in self.nodes), key=_tick)

    def _delayed(self, number: int, outputs: Iterator[Output]) -> Iterator[Numbered]:
        readers = self._back[number]
        for output in outputs:
            for node in readers:
                node.delay(number, output)
            yield number, output

    def _through(
        self, node: Node, sources: Sequence[Iterator[Numbered]], to: int, batches: Sequence[Batch] | None, over: bool
    ) -> Iterator[Output]:
        """Takes one operator up to a tick, with what its sources give on the way."""
        arrivals = Arrivals(list(batches or ()) if node.reads_streams else [])
        if batches is not None:
            late, node.late = node.late, Arrivals()
            arrivals.held += late.held
        outside: list[Incoming] = [(tick, _OUTSIDE, sent) for tick, sent in node.received_up_to(to)]
        inputs: Iterator[Incoming] = merge(*map(_tagged, sources), outside, key=itemgetter(0))
        waiting, node.waiting = node.waiting, None
        for tick, incoming in groupby(inputs, key=itemgetter(0)):
            if waiting is not None and waiting[0] < tick:
                yield from node.advance(*waiting)
                waiting = None
            here = arrivals if tick == to and batches is not None else Arrivals()
            if waiting is not None and waiting[0] == tick:
                here, waiting = waiting[1], None
            for _, source, output in incoming:
                if isinstance(output, Arrivals):
                    here.add(output)
                else:
                    node.gather(here, source, output)
            if tick < to or batches is None:
                yield from node.advance(tick, here)
        if waiting is not None:
            yield from node.advance(*waiting)
        if batches is None:
            yield from node.operator.finish() if over else ()
        elif not node.unsettled and all(self._by_number[source].is_decided for source in node.sources):
            yield from node.advance(to, arrivals)
        else:
            # Only what comes at the last tick is open.
            if to > max(self.first or 0, -1 if node.reached is None else node.reached + 1):
                yield from node.advance(to - 1, Arrivals())
            node.waiting = to, arrivals

    def finish(self) -> Iterator[Numbered]:
        """Nothing more will come: what waited is evaluated, with what others still give for the last tick."""
        return iter(()) if self.now is None else self._flow(self.now, None)

    @property
    def is_decided(self) -> bool:
        """Whether nothing more will be given for the ticks so far."""
        return all(node.is_decided for node in self.nodes)

    # What other fragments send --------------------------------------------------------------------------------------

    def receive(self, target: int, tick: int, arrivals: Arrivals) -> None:
        """Keeps what another fragment has sent to an operator until its tick is evaluated."""
        self._by_number[target].receive(tick, arrivals)

    def settle(self, source: int, bucket: int, settled: bool, targets: Iterable[int]) -> None:
        """A bucket of another fragment may give something more for the last tick, or not."""
        for target in targets:
            node = self._by_number[target]
            (node.unsettled.discard if settled else node.unsettled.add)((source, bucket))

    # State ----------------------------------------------------------------------------------------------------------

    def collect(self, waiting: Iterable[Batch]) -> None:
        """Frees the terms that neither an operator nor a batch that waits uses."""
        words = list(Arrivals(list(waiting)).words())
        for node in self.nodes:
            words += node.words()
        self.dictionary.collect(np.concatenate(words))

    def save(self) -> bytes:
        """The states of all operators, and the arrivals that wait between them."""
        about = encode({"first": self.first, "now": self.now}, {})
        return sealed(FORMAT, frame([about, *(node.save(self.dictionary) for node in self.nodes)]))

    def load(self, data: bytes) -> None:
        """Brings operators that have not begun to where those of the same fragment were saved."""
        about, *nodes = unframe(unsealed(FORMAT, data))
        header, _ = decode(about)
        self.first, self.now = header["first"], header["now"]
        for node, saved in zip(self.nodes, nodes, strict=True):
            node.operator.first = self.first if node.begins is None else node.begins
            node.load(saved, self.dictionary)

    def begin(self, first: int | None, now: int | None) -> None:
        """Begins behind a tick to which others have come; all operators begin later than that."""
        self.first, self.now = first, now
        for node in self.nodes:
            node.operator.first = node.begins

    def take_over(self, other: "Executor", origins: Mapping[int, int]) -> None:
        """Goes on where another one is; `origins` has, for operators that do so, their numbers there.

        All others begin later, and what operators hold that they read begins for them.
        """
        assert other.now is not None
        self.first, self.now = other.first, other.now
        numbers = {there: here for here, there in origins.items()}
        new_edges: dict[int, Sequence[Edge]] = {}
        for node in self.nodes:
            new_edges[node.number] = node.edges
            if node.number in origins:
                earlier = other._by_number[origins[node.number]]
                node.operator.first = self.first if node.begins is None else node.begins
                node.take_over(earlier, numbers)
                known = {edge.reading for edge in earlier.edges}
                new_edges[node.number] = [edge for edge in node.edges if edge.reading not in known]
            else:
                node.operator.first = node.begins
        for source in (node for node in self.nodes if node.number in origins and node.reached is not None):
            readers = [
                node for node in self.nodes if any(edge.source == source.number for edge in new_edges[node.number])
            ]
            holding = tuple(source.operator.holding()) if readers else ()
            for node in readers:
                begins = None if node.number in origins else node.begins
                first = self.now + 1 if begins is None else begins
                node.expect(first, source.number, holding, new_edges[node.number])

    def close_last_tick(self, waiting: Collection[int]) -> None:
        """Evaluates what waits at the last tick, now that another one comes; some operators go on `waiting`."""
        assert self.now is not None
        for number in waiting:
            self._by_number[number].waiting = None
        for _ in self._flow(self.now, None, over=False):
            pass

    def close(self) -> None:
        """Nothing more will be asked."""
        for node in self.nodes:
            node.operator.close()


def saved_tick(data: bytes) -> int | None:
    """The last tick of an executor that was saved."""
    about, *_ = unframe(unsealed(FORMAT, data))
    now: int | None = decode(about)[0]["now"]
    return now


def open_fragment(
    plan: Plan,
    numbers: Sequence[int],
    context: Context,
    dictionary: Dictionary,
    share: Share = Share(),
    begins: Mapping[int, int] = {},
) -> Executor:
    """Opens the operators of a fragment, by their numbers in the plan; all of them, in one process.

    `begins` has the first tick of operators that began later than the run.
    """
    return Executor(
        [
            Node(
                number,
                plan.operators[number].open(_beginning(context, begins.get(number)), dictionary, share),
                plan.incoming[number],
                numbers,
                plan.operators[number].reads_streams,
                begins.get(number),
            )
            for number in numbers
        ],
        dictionary,
    )


def _beginning(context: Context, first: int | None) -> Context:
    """The context of an operator whose first tick is another one than that of the run."""
    return context if first is None else replace(context, settings=replace(context.settings, first=first))


def _tick(numbered: Numbered) -> int:
    return numbered[1].tick


def _tagged(outputs: Iterable[Numbered]) -> Iterator[Incoming]:
    return ((output.tick, number, output) for number, output in outputs)
