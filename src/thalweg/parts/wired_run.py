"""Several kinds of program in one run: places of a plan, each taken through time as far as those before it have come.

At each tick the places are evaluated in their order. What one gives is, to its readers, derived at that tick or an
event of it. Time passes for a whole interval at once: what the first place says at the ticks of the interval is merged
into what the second one takes, and so on, so a place is called only at ticks at which something comes to it.

A stream that is too short for a window has one at its end all the same: until a first window has closed, what reads
its answers waits with the last tick (`MemberAtWork.is_settled`).
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from heapq import merge
from itertools import groupby, tee
from operator import itemgetter
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from thalweg.engine import Delta
from thalweg.engine.absence import Absence
from thalweg.engine.incomparable import Incomparable
from thalweg.engine.proof import Proof
from thalweg.ir.nodes import Rule, meant_by
from thalweg.model.arrow import decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.event import Batch
from thalweg.model.fact import Fact
from thalweg.model.predicate import Predicate
from thalweg.parts.member import MemberAtWork, Output
from thalweg.parts.passed_on import Arrivals, Heard, Union
from thalweg.parts.rule_layer import RuleLayer
from thalweg.planning.wire_parts import BEFORE, Link, Ports
from thalweg.runtimes.emit import AnswerBlock, Emitter, RowEmitter, TextDelta
from thalweg.runtimes.rule_engine import RuleEngine

if TYPE_CHECKING:
    from thalweg.parts.patterns.why_event import EventExplanation

_SHOWN: Final = 12
_BEFORE: Final = re.compile(rf"{BEFORE}(.+?) in \[([0-9]+)\]")


@dataclass(frozen=True, slots=True)
class Joined:
    """What all rules began and ended at one tick, as one change."""

    tick: int
    changes: tuple[Delta | TextDelta, ...]

    @property
    def begin_text(self) -> list[str]:
        return [fact for change in self.changes for fact in change.begin_text]

    @property
    def end_text(self) -> list[str]:
        return [fact for change in self.changes for fact in change.end_text]

    @property
    def unknown_text(self) -> list[str]:
        return []

    @property
    def until(self) -> dict[str, int]:
        return {fact: until for change in self.changes for fact, until in change.until.items()}

    @property
    def shed(self) -> tuple[str, ...]:
        return ()


@dataclass
class Place:
    """A layer of rules or a member at work, and what it takes from the places before it.

    `heard` are the places whose held facts come as events, with the names of their streams; by `delayed` links facts
    come a tick later. One whose work is done in buckets elsewhere is `fed` with what they send; it `reads_streams` if
    some of their facts come here all the same.
    """

    worker: RuleLayer | MemberAtWork
    links: tuple[Link, ...] = ()
    sources: tuple[int, ...] = ()
    events: tuple[int, ...] = ()
    heard: Mapping[int, str] = field(default_factory=dict)
    ports: Ports | None = None
    delayed: tuple[Link, ...] = ()
    fed: bool = False
    reads_streams: bool = True
    late: Arrivals = field(default_factory=Arrivals)
    """What held at the last tick, for the next one."""
    waiting: tuple[int, Arrivals] | None = None
    """The last tick, where what comes at it is not decided."""

    def __post_init__(self) -> None:
        self._routes: dict[tuple[int, Predicate, bool], list[Link]] = {}
        for link in self.links:
            self._routes.setdefault((link.source, *link.key), []).append(link)
        taken = [(link.name, link.key[1]) for link in (*self.links, *self.delayed) if link.stream is None]
        self.union = Union({key for key in taken if taken.count(key) > 1})
        self.presence = Heard() if self.heard or any(link.stream is not None for link in self.links) else None
        self.reached: int | None = None

    def gather(self, arrivals: Arrivals, source: int, output: Output) -> None:
        """Takes what another place says at a tick."""
        if source in self.events:
            arrivals.batches += output.events
        for each in output.given:
            for link in self._routes.get((source, each.signature, each.timed), ()):
                named = replace(each, signature=link.name)
                if link.stream is None:
                    arrivals.given.append(named)
                else:
                    arrivals.heard.append((link.stream, source, named))
            if source in self.heard:
                arrivals.heard.append((self.heard[source], source, each))

    def delay(self, source: int, output: Output) -> None:
        """Keeps what another place says at a tick for the next one."""
        for each in output.given:
            for link in self.delayed:
                if (link.source, *link.key) == (source, each.signature, each.timed):
                    self.late.given.append(replace(each, signature=link.name))

    def advance(self, tick: int, arrivals: Arrivals) -> Iterator[Output]:
        """Takes in what has come at a tick."""
        if self.presence is not None:
            yield from self._listen(self.presence, tick, arrivals)
        self.reached = tick
        yield from self.worker.advance(tick, arrivals.batches, self.union.turn(arrivals.given))

    def _listen(self, presence: Heard, tick: int, arrivals: Arrivals) -> Iterator[Output]:
        """What held since the last tick is an event wherever the reader looks, and where it held for the last time."""
        if self.reached is not None and (events := presence.events()):
            looks = {*self.worker.looks(self.reached, tick)}
            looks |= {tick - 1} if arrivals.heard and tick - 1 > self.reached else set()
            for look in sorted(looks):
                yield from self.worker.advance(look, events, ())
        presence.change(arrivals.heard)
        arrivals.batches += presence.events()

    def words(self) -> Iterator[Any]:
        yield self.worker.words_in_use()
        yield from self.union.words()
        if self.presence is not None:
            yield from self.presence.words()
        yield from self.late.words()
        if self.waiting is not None:
            yield from self.waiting[1].words()

    def save(self, words: Dictionary) -> bytes:
        waiting = b"" if self.waiting is None else self.waiting[1].save(self.waiting[0], words)
        presence = b"" if self.presence is None else self.presence.save(words)
        # One that has waited from the beginning has no state yet, but for what it was fed with.
        worker = b"" if self.reached is None and not self.fed else self.worker.snapshot()
        about = encode({"reached": self.reached}, {})
        return frame([about, worker, self.union.save(words), presence, waiting, self.late.save(0, words)])

    def load(self, data: bytes, words: Dictionary) -> None:
        about, worker, union, presence, waiting, late = unframe(data)
        self.reached = decode(about)[0]["reached"]
        if worker:
            self.worker.resume(worker)
        self.union.load(union, words)
        if self.presence is not None:
            self.presence.load(presence, words)
        self.waiting = Arrivals.load(waiting, words) if waiting else None
        self.late = Arrivals.load(late, words)[1]


class WiredRun(Emitter):
    """A plan of several parts at work; also its emitter, for it knows which answers are changes of rules."""

    shed: tuple[str, ...] = ()
    unsure: tuple[str, ...] = ()

    def __init__(
        self,
        places: Sequence[Place],
        dictionary: Dictionary,
        emitter: RowEmitter[Any],
        first: int | None = None,
    ) -> None:
        self.first = first
        self.now: int | None = None
        self.dictionary = dictionary
        self.places = places
        self._emitter = emitter
        self._shown: int | None = None
        self._held: list[Delta | TextDelta] = []
        """Changes at the last tick, while there may be more."""

    # Time -----------------------------------------------------------------------------------------------------------

    def advance(self, to: int, batches: Sequence[Batch]) -> Iterator[Any]:
        """Evaluates every tick up to `to`: changes of rules and answers of other parts, in the order of time."""
        if self.first is None:
            self.first = to
        for place in self.places:
            place.worker.first = self.first
        now, self.now = self.now, to
        return self._joined(self._steps(now, to, batches), to)

    def _steps(self, now: int | None, to: int, batches: Sequence[Batch]) -> Iterator[Output]:
        """All ticks at once; one by one where a place needs what later ones gave at the tick before."""
        if not any(place.delayed for place in self.places):
            yield from self._flow(to, batches)
            return
        assert self.first is not None
        for tick in range(self.first if now is None else now + 1, to + 1):
            # There is a next tick: what waited for it is said of the last one.
            yield from self._flow(tick - 1, None, over=False)
            yield from self._flow(tick, batches if tick == to else ())

    def _flow(self, to: int, batches: Sequence[Batch] | None, over: bool = True) -> Iterator[Output]:
        """What all places say up to a tick, in order; without batches, what was still open, perhaps as all is over."""
        copies: list[list[Iterator[Output]]] = []
        for number, place in enumerate(self.places):
            sources = [(one, copies[one].pop()) for one in place.sources]
            said = self._delayed(number, self._through(place, sources, to, batches, over))
            readers = sum(number in other.sources for other in self.places)
            copies.append(list(tee(said, readers + 1)))
        # Of one tick, answers of all places come before the changes of rules.
        return merge(*(some.pop() for some in copies), key=lambda output: output.tick)

    def _delayed(self, number: int, said: Iterator[Output]) -> Iterator[Output]:
        readers = [place for place in self.places if any(link.source == number for link in place.delayed)]
        for output in said:
            for place in readers:
                place.delay(number, output)
            yield output

    def _through(
        self,
        place: Place,
        sources: Sequence[tuple[int, Iterator[Output]]],
        to: int,
        batches: Sequence[Batch] | None,
        over: bool,
    ) -> Iterator[Output]:
        arrivals = Arrivals(list(batches or ()) if place.reads_streams else [])
        if batches is not None:
            late, place.late = place.late, Arrivals()
            arrivals.given += late.given
        inputs = merge(*(_tagged(source, said) for source, said in sources), key=itemgetter(0))
        stops = groupby(inputs, key=itemgetter(0))
        waiting, place.waiting = place.waiting, None
        for tick, said in stops:
            if waiting is not None and waiting[0] < tick:
                yield from place.advance(*waiting)
                waiting = None
            here = arrivals if tick == to and batches is not None else Arrivals()
            if waiting is not None and waiting[0] == tick:
                here, waiting = waiting[1], None
            for _, source, output in said:
                place.gather(here, source, output)
            if tick < to or batches is None:
                yield from place.advance(tick, here)
        if waiting is not None:
            yield from place.advance(*waiting)
        if batches is None:
            yield from place.worker.finish() if over else ()
        elif all(self._is_decided(self.places[source]) for source in place.sources):
            yield from place.advance(to, arrivals)
        else:
            # Only what comes at the last tick is open.
            if to > max(self.first or 0, -1 if place.reached is None else place.reached + 1):
                yield from place.advance(to - 1, Arrivals())
            place.waiting = to, arrivals

    @staticmethod
    def _is_decided(place: Place) -> bool:
        return place.waiting is None and place.worker.is_settled

    def _joined(self, said: Iterable[Output], to: int) -> Iterator[Any]:
        """Answers, and behind those of a tick the changes of all rules as one."""
        held, self._held = self._held, []
        tick = held[0].tick if held else None
        for output in said:
            if tick is not None and tick < output.tick and held:
                yield Joined(tick, tuple(held))
                held = []
            tick = output.tick
            if isinstance(output.answer, Delta | TextDelta):
                held.append(output.answer)
            elif output.answer is not None:
                yield output.answer
        if held:
            assert tick is not None
            if tick == to and not all(map(self._is_decided, self.places)):
                self._held = held
            else:
                yield Joined(tick, tuple(held))

    # Output ---------------------------------------------------------------------------------------------------------

    def step(self, deltas: Iterable[Any], first: int, last: int, shed: tuple[str, ...]) -> Iterator[AnswerBlock]:
        """Changes as the user asked to see them, with the answers of other parts between them, in the order of time."""
        self._shown = first - 1 if self._shown is None else self._shown
        yield from self._emit(deltas)
        if all(map(self._is_decided, self.places)):
            yield from self._emit_rules((), last)

    def _emit(self, deltas: Iterable[Any]) -> Iterator[AnswerBlock]:
        for delta in deltas:
            if isinstance(delta, Joined):
                yield from self._emit_rules((delta,), delta.tick)
            else:
                yield from self._emit_rules((), delta.t - 1)
                yield delta

    def _emit_rules(self, deltas: Sequence[Joined], last: int) -> Iterator[AnswerBlock]:
        assert self._shown is not None
        if deltas or last > self._shown:
            first, self._shown = self._shown + 1, max(last, self._shown)
            yield from self._emitter.step(deltas, first, last, ())

    def finish(self) -> Iterator[AnswerBlock]:
        """What waited is evaluated, with what others still say of the last tick."""
        if self.now is not None:
            self._shown = self.now - 1 if self._shown is None else self._shown
            yield from self._emit(self._joined(self._flow(self.now, None), self.now))
            yield from self._emit_rules((), self.now)
        yield from self._emitter.finish()

    # Derivations ----------------------------------------------------------------------------------------------------

    def why(self, fact: Fact) -> Proof | None:
        """A derivation of what rules conclude or others give, through all parts; None where it does not hold."""
        return self._concluded(fact, len(self.places)) or self._given(fact, len(self.places))

    def _imported(self, fact: Fact, before: int) -> Proof | None:
        if fact.predicate.startswith(BEFORE):
            return Proof(str(fact), self.now, "recorded")
        return self._given(fact, before) or self._concluded(fact, before)

    def _concluded(self, fact: Fact, before: int) -> Proof | None:
        for number, engine in self._engines(before):
            found = engine.why(fact, partial(self._imported, before=number))
            if found is not None:
                return self._with_events(_as_written(found))
        return None

    def _with_events(self, proof: Proof) -> Proof:
        """A derivation in which facts that are events say of what these consist, once beside each other."""
        if proof.kind != "stream":
            steps: list[Proof] = []
            for step in map(self._with_events, proof.because):
                before = [(one.rule, one.because) for one in steps if one.kind == "event"]
                repeated = step.kind == "event" and (step.rule, step.because) in before
                steps.append(replace(step, rule="", because=()) if repeated else step)
            return replace(proof, because=tuple(steps))
        asking = [place.worker.event_behind for place in self.places if hasattr(place.worker, "event_behind")]
        return next((found for ask in asking if (found := ask(proof)) is not None), proof)

    def _given(self, fact: Fact, before: int) -> Proof | None:
        """Why a member gives a fact, with what it read of the conclusions of rules that still hold."""
        for number, place in enumerate(self.places[:before]):
            found = None if isinstance(place.worker, RuleLayer) else place.worker.why(fact)
            if found is not None:
                return replace(found, because=(*found.because, *self._read_by(number)))
        return None

    def _read_by(self, number: int) -> Iterator[Proof]:
        read = {link.name for link in self.places[number].links}
        facts = [one for _, engine in self._engines(number) for one in engine.facts() if one.signature in read]
        return (proof for one in facts[:_SHOWN] if (proof := self._concluded(one, number)) is not None)

    def _engines(self, before: int) -> Iterator[tuple[int, RuleEngine]]:
        for number, place in enumerate(self.places[:before]):
            if isinstance(place.worker, RuleLayer):
                yield number, place.worker.engine

    def why_not(self, fact: Fact, came: Collection[Predicate] | None = None) -> Absence | None:
        """How far the rules got that could derive a fact, or which part would have to; None where the fact holds."""
        if self.now is not None and self.why(fact) is not None:
            return None
        for _, engine in self._engines(len(self.places)):
            if self.now is None or meant_by(engine.program, fact).signature in engine.program.derived:
                return engine.why_not(fact, came)
        assert self.now is not None
        others = [
            (place.ports, place.worker)
            for place in self.places
            if place.ports is not None and not isinstance(place.worker, RuleLayer)
        ]
        writers = [(ports, worker) for ports, worker in others if ports.writes(fact.signature)]
        derives = f"{writers[0][0].title} derives" if writers else "no rule derives"
        lacking = " and ".join(worker.lacking(fact) for _, worker in writers or others)
        return Absence(str(fact), self.now, f"{derives} `{fact.signature}`, and {lacking}")

    def why_event(self, asked: Fact) -> "EventExplanation | None":
        """Why there is an event at `now`, or how far its matches are; None where no part defines its name."""
        asking = [place.worker.why_event for place in self.places if hasattr(place.worker, "why_event")]
        return next((found for ask in asking if (found := ask(asked)) is not None), None)

    def facts(self) -> list[Fact]:
        """What rules conclude at `now`."""
        return [fact for _, engine in self._engines(len(self.places)) for fact in engine.facts()]

    @property
    def incomparable(self) -> list[Incomparable]:
        """The comparisons of rules that met terms of different kinds."""
        return [one for place in self.places for one in getattr(place.worker, "incomparable", ())]

    @property
    def future(self) -> list[tuple[Rule, int]]:
        """The rules with conclusions that were in the future for as long as they followed, and how many."""
        return [one for _, engine in self._engines(len(self.places)) for one in engine.future]

    # State ----------------------------------------------------------------------------------------------------------

    def collect(self, waiting: Iterable[Batch]) -> None:
        """Frees the terms that neither a part nor a batch that waits uses."""
        held = list(Arrivals(list(waiting)).words())
        for place in self.places:
            held += place.words()
        self.dictionary.collect(np.concatenate(held))

    def snapshot(self) -> bytes:
        """Where all places are, and what is held between them."""
        held: dict[str, list[str]] = {"begin": [], "end": []}
        for change in self._held:
            held["begin"] += change.begin_text
            held["end"] += change.end_text
        tick = self._held[0].tick if self._held else None
        header = {"first": self.first, "now": self.now, "shown": self._shown, "held": tick}
        emitter = encode({}, self._emitter.save())
        return frame([encode(header, held), emitter, *(place.save(self.dictionary) for place in self.places)])

    def resume(self, data: bytes) -> None:
        """Goes on where a snapshot was taken of a plan of the same parts; this one has not begun."""
        about, emitter, *places = unframe(data)
        header, held = decode(about)
        self.first, self.now, self._shown = header["first"], header["now"], header["shown"]
        self._emitter.load(decode(emitter)[1])
        if header["held"] is not None:
            self._held = [TextDelta(header["held"], held["begin"].to_pylist(), held["end"].to_pylist())]
        for place, saved in zip(self.places, places, strict=True):
            place.load(saved, self.dictionary)

    def close(self) -> None:
        for place in self.places:
            place.worker.close()


def _tagged(source: int, said: Iterable[Output]) -> Iterator[tuple[int, int, Output]]:
    return ((output.tick, source, output) for output in said)


def _as_written(proof: Proof) -> Proof:
    """A derivation in which what held a tick ago is called what rules call it."""
    claim = _BEFORE.sub(lambda found: f"{found[1]} before [{int(found[2]) + 1}]", proof.claim)
    return replace(proof, claim=claim, because=tuple(map(_as_written, proof.because)))
