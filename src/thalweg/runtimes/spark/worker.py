"""One bucket of one fragment: parcels come in, time goes on as far as it is decided, parcels go out.

    facts of streams ──▶ Inbox ──▶ Executor ──▶ Outbox ──▶ other fragments
    other fragments ───────────────▶              └──▶ answers

A worker knows nothing of Spark, and nothing of what its operators do. What it has taken in can be saved and loaded, and
it does the same again when the same comes again, so a process that dies is replaced by loading what was saved and
handing in what came since.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

from thalweg.answers.emit import TextDelta
from thalweg.dataflow.executor import Numbered, open_fragment
from thalweg.dataflow.operator import FactRows, Output, Share
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError
from thalweg.kinds.plan_succession import PlanSuccession
from thalweg.model.arrow import Lists, decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.predicate import Predicate
from thalweg.model.records import as_json
from thalweg.model.time import NEVER
from thalweg.runtimes.spark.bucket_answers import BucketAnswers
from thalweg.runtimes.spark.handover import Address, BucketHandover
from thalweg.runtimes.spark.inbox import FactRun, Inbox
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.outbox import Outbox, receive
from thalweg.runtimes.spark.wire import ANSWERS, FACTS, OUT, UNKNOWN, Parcel, failure, unwrap, warning_text, wrap

Error = FailedError | RejectedError


class Worker:
    """The operators of a bucket, what is still undecided, and what they give."""

    def __init__(self, job: Job, fragment: int, bucket: int, words: Dictionary | None = None) -> None:
        """The `words` are those of an earlier job that it goes on for."""
        self.job = job
        self.fragment = fragment
        self.bucket = bucket
        self._warnings: list[Diagnostic] = []
        self._noted: list[tuple[int, Any]] = []
        self._reached = -1
        context = job.context(self._warnings.append, self._listen)
        self.dictionary = words = words or Dictionary()
        self._context = context
        self._open_operators({})
        self.inbox = Inbox(job, fragment, bucket, words, self._called)
        self.outbox = Outbox(job, fragment, bucket, words, context)
        self.answers = BucketAnswers(job.settings.emit, words, job.settings.with_until)
        self._blocks: list[tuple[int, int, Any]] = []
        self._finished = False
        self._shown: int | None = None
        """The last tick whose facts were sent as answers."""
        self._across = any(spec.counts_everything for spec in job.specs(fragment))
        self._changed: TextDelta | None = None
        """What begins and ends because the program has changed, until its tick is decided."""
        self._is_new = False
        """Whether it has taken over from an earlier job, and was not saved since."""

    def _open_operators(self, begins: Mapping[int, int]) -> None:
        """Opens the operators; `begins` has the first ticks of those that began later than the run."""
        job, share = self.job, Share(self.bucket, self.job.buckets(self.fragment))
        numbers = job.fragments[self.fragment].operators
        self._begins = {number: tick for number, tick in begins.items() if number in numbers}
        self.executor = open_fragment(job.plan, numbers, self._context, self.dictionary, share, self._begins)
        self._silenced = [node.operator for node in self.executor.nodes if not self._is_read_here(node.number)]

    def _is_read_here(self, number: int) -> bool:
        """Whether another operator of the fragment reads what one gives: then it is needed when a batch is repeated."""
        return any(edge.target in self.executor.numbers for edge in self.job.plan.outgoing[number])

    def _called(self, run: FactRun) -> Predicate:
        return self.job.called(self.fragment, run.route, run.signature)

    def _listen(self, solution: Any, answered: Any) -> None:
        self._noted.append((max(0, self._reached), (solution, answered)))

    @property
    def must_save(self) -> bool:
        """Whether the last batch cannot be repeated, so that what is known after it must be saved."""
        return self._is_new or any(node.operator.must_save for node in self.executor.nodes)

    # Taking in ------------------------------------------------------------------------------------------------------

    def process(self, payloads: Iterable[bytes]) -> list[Parcel]:
        """Takes in a batch's parcels, and lets time pass as far as it is decided.

        Where an operator gives up, the parcels are those of the ticks before, and the last one holds the diagnostic.
        """
        out, error = self._process(payloads)
        return out if error is None else [*out, failure(self.bucket, error, self._reached)]

    def replay(self, payloads: Iterable[bytes]) -> None:
        """Processes parcels of an earlier batch again without sending: what follows from them has been answered."""
        for operator in self._silenced:
            operator.quiet = True
        try:
            _, error = self._process(payloads)
        finally:
            for operator in self._silenced:
                operator.quiet = False
        if error is not None:
            raise error

    def _process(self, payloads: Iterable[bytes]) -> tuple[list[Parcel], Error | None]:
        contents = [unwrap(payload) for payload in payloads]
        out = self.inbox.take(content for content in contents if content.kind == FACTS)
        for content in contents:
            if content.kind != FACTS:
                receive(content, self.job, self.executor)
        error = self._advance(out)
        if error is None and self.dictionary.wants_collection:
            self.executor.collect(self.inbox.waiting())
        return out, error

    # Going on -------------------------------------------------------------------------------------------------------

    def _advance(self, out: list[Parcel]) -> Error | None:
        time, executor = self.inbox.watermark, self.executor
        if time.decided is None or time.start is None:
            # Streams that end without an event have answers too: none.
            if time.is_over and self._reports_progress:
                out += self._answered(0, NEVER, self.answers.batch(0, NEVER, over=True), over=True)
            return None
        begin = time.start if executor.now is None else executor.now + 1
        executor.first = time.start
        self._reached = begin - 1 - self._is_open
        error: Error | None = None
        over = False
        try:
            if time.decided >= begin:
                self._end_earlier()
                self._go_through(begin, time.decided)
            over = time.is_over and not self._finished
            if over:
                self._finished = True
                # Something may still be given for the last tick.
                self._reached -= not executor.is_decided and not self._is_open
                self._take(list(executor.finish()))
        except (FailedError, RejectedError) as exception:
            error = exception
        reached = time.decided if error is None else self._reached
        first = time.start if self._shown is None else self._shown + 1
        last = reached - (self._is_open and error is None)
        lists = self.answers.batch(first, last, over and error is None)
        self._shown = max(first - 1, last)
        out += self._answered(time.start, reached, lists, over and error is None)
        out += self.outbox.parcels(executor.nodes)
        return error

    def _end_earlier(self) -> None:
        """Answers what a changed program ends, now that a tick comes after the change."""
        if self._changed is not None:
            self.answers.take_text(self._changed)
            self._changed = None

    def _go_through(self, first: int, last: int) -> None:
        in_order = any(node.operator.counts_facts for node in self.executor.nodes)
        batches = self.inbox.up_to(last, in_order=in_order, across=self._across)
        # What was sent for an earlier tick joins what waits for it.
        for tick in sorted({*batches, *(tick for tick in self.executor.ticks() if first <= tick < last), last}):
            # Taken at once: the next tick may bring another plan, in which relations have other numbers.
            if outputs := list(self.executor.advance(tick, batches.get(tick, ()))):
                self._take(outputs)
            self._reached = tick - self._is_open

    def _take(self, outputs: Sequence[Numbered]) -> None:
        for number, output in outputs:
            if output.answer is not None:
                self._answer(number, output)
            if not self.outbox.is_idle:
                self.outbox.take(number, output)

    def _answer(self, number: int, output: Output) -> None:
        match output.answer:
            case FactRows(tick, rows):
                for predicate, what, table, until in rows:
                    self.answers.take(tick, what, predicate, table, until)
            case TextDelta() as delta:
                self.answers.take_text(delta)
            case answer:
                self._blocks.append((output.tick, number, answer))

    @property
    def _is_open(self) -> bool:
        """Whether more may begin and end at the last tick."""
        return any(node.waiting is not None for node in self.executor.nodes)

    @property
    def _reports_progress(self) -> bool:
        """Whether it sends how far all have come: one bucket must, and all decide alike."""
        return self.fragment == len(self.job.fragments) - 1 and self.bucket == self.job.buckets(self.fragment)[0]

    def _answered(self, first: int, decided: int, lists: Lists, over: bool) -> list[Parcel]:
        """The parcel of answers and of what is to be reported, if there is something to send."""
        import numpy as np

        notes = [node.operator.notes(decided, over) for node in self.executor.nodes]
        warnings = [*self._warnings, *(warning for note in notes for warning in note.warnings)]
        blocks = [(tick, number << 32 | place, block) for place, (tick, number, block) in enumerate(self._blocks)]
        noted = [json.dumps(as_json(note), ensure_ascii=False) for _, note in self._noted]
        missing = [span for note in notes for span in note.missing]
        self._warnings.clear()
        self._blocks, self._noted = [], []
        is_open = self._is_open
        if not (
            self._reports_progress or is_open or any(map(len, [*lists.values(), blocks, noted, missing, warnings]))
        ):
            return []
        header: dict[str, Any] = {
            "kind": ANSWERS,
            "first": first,
            "decided": decided,
            "over": self.inbox.watermark.is_over,
        }
        if is_open:
            # More may begin and end at the last tick.
            header["open"] = True
        if missing:
            header |= {"missing": missing, "unsure": sorted({name for note in notes for name in note.unsure})}
        if warnings:
            header["warnings"] = [*map(warning_text, warnings)]
        if guaranteed := {fact: until for note in notes for fact, until in note.guaranteed.items()}:
            header["guaranteed"] = guaranteed
        if noted:
            header["notes"] = noted
        if blocks:
            lists = {
                **lists,
                "block_ticks": np.array([tick for tick, _, _ in blocks], dtype=np.int64),
                "block_places": np.array([place for _, place, _ in blocks], dtype=np.int64),
                "blocks": [json.dumps(as_json(block), ensure_ascii=False) for _, _, block in blocks],
            }
        return [wrap(OUT, self.bucket, header, lists)]

    # A changed program ---------------------------------------------------------------------------------------------

    @classmethod
    def of_handover(cls, job: Job, address: Address, handover: BucketHandover) -> "Worker":
        """The worker of a job at the place of an earlier one; it gives what goes on to what begins."""
        fragment, bucket = address
        before = handover.predecessor(fragment)
        earlier = None if before is None else handover_worker(handover, (before, bucket))
        worker = cls(job, fragment, bucket, None if earlier is None else earlier.dictionary)
        worker._take_over(handover, earlier)
        return worker

    def _take_over(self, handover: BucketHandover, earlier: "Worker | None") -> None:
        own = handover.succession
        numbers = self.job.fragments[self.fragment].operators
        origins = {number: own.origins[number] for number in numbers if number in own.origins}
        begins = dict.fromkeys((number for number in numbers if number not in origins), handover.first)
        if earlier is None:
            self._open_operators(begins)
            self.inbox.load(dict(handover.watermark), ())
            self.executor.begin(self.inbox.watermark.start, self.inbox.watermark.decided)
            self._shown = self.executor.now
        else:
            since = ((number, earlier._begins.get(origin)) for number, origin in origins.items())
            self._open_operators(begins | {number: tick for number, tick in since if tick is not None})
            # What operators of other fragments have given is known by their numbers, too.
            self.executor.take_over(earlier.executor, own.origins)
            self.inbox.take_over(earlier.inbox, lambda run: self._route_of(earlier, run))
            self.answers.emitter.load(decode(encode({}, earlier.answers.emitter.save()))[1])
            self._finished, self._shown = earlier._finished, earlier._shown
            self._give_to_new(own.fresh)
        self._change(handover, origins, earlier)
        self._is_new = True

    def _route_of(self, earlier: "Worker", run: FactRun) -> int | None:
        """The route by which facts come that came by another one to an earlier worker; None where none is the same."""
        job, before = self.job, earlier.job
        old = dict(before.routes_into(earlier.fragment, run.signature))
        called = before.called(earlier.fragment, run.route, run.signature)
        for number, exchange in job.routes_into(self.fragment, run.signature):
            is_same = exchange == old.get(run.route) and job.called(self.fragment, number, run.signature) == called
            if is_same and (number == UNKNOWN) == (run.route == UNKNOWN):
                return number
        return None

    def _give_to_new(self, fresh: Collection[int]) -> None:
        """Gives what operators hold to those of other fragments that begin."""
        now = self.executor.now
        for node in self.executor.nodes if now is not None else ():
            edges = [number for number in sorted(fresh) if self.outbox.leads(number, node.number)]
            for given in node.operator.holding() if edges and node.reached is not None else ():
                for number in edges:
                    assert now is not None
                    self.outbox.give(number, now + 1, given)

    def _change(self, handover: BucketHandover, origins: Collection[int], earlier: "Worker | None") -> None:
        """Notes what begins and ends because the program has changed."""
        own = handover.succession
        before = [] if earlier is None else [earlier]
        for address in handover.orphans if self._reports_progress else ():
            before.append(orphan := handover_worker(handover, address))
            self.answers.emitter.join(decode(encode({}, orphan.answers.emitter.save()))[1])
        now = self.executor.now
        for worker in before if now is not None else ():
            if worker._is_open:
                self.answers.take_text(worker._close_last_tick(own))
                self._shown = worker._shown if earlier is None else self._shown
        ended = [fact for worker in before for fact in worker._shown_besides(own.stay)]
        begun = [fact for name, facts in self._showing(origins) if name in own.appear for fact in facts]
        for changed in (worker._changed for worker in before):
            if changed is not None:
                begun, ended = [*changed.begin_text, *begun], [*changed.end_text, *ended]
        if now is not None and (begun or ended):
            self._changed = TextDelta(now + 1, begun, ended)

    def _close_last_tick(self, succession: PlanSuccession) -> TextDelta:
        """Evaluates what waits for a first window that it will not see close; what begins and ends at the last tick.

        What goes on waits further.
        """
        executor, operators = self.executor, self.job.plan.operators
        assert executor.now is not None
        before = self._shown_besides(succession.stay)
        going_on = executor.numbers & frozenset(succession.origins.values())
        executor.close_last_tick([number for number in going_on if not operators[number].shows_facts])
        after = self._shown_besides(succession.stay)
        begun, ended = (
            [fact for fact in facts if fact not in others] for facts, others in ((after, before), (before, after))
        )
        return TextDelta(executor.now, begun, ended)

    def _shown_besides(self, stay: Collection[Predicate]) -> dict[str, None]:
        """The facts that operators say to hold, but for those of some predicates."""
        return dict.fromkeys(fact for name, facts in self._showing() if name not in stay for fact in facts)

    def _showing(self, numbers: Collection[int] | None = None) -> Iterator[tuple[Predicate, list[str]]]:
        """What operators say to hold, those with some numbers or all."""
        for node in self.executor.nodes:
            if node.reached is not None and (numbers is None or node.number in numbers):
                yield from node.operator.showing()

    # Saving ---------------------------------------------------------------------------------------------------------

    def save(self) -> bytes:
        """All that has been taken in and still matters."""
        about, runs = self.inbox.save()
        header = about | {"finished": self._finished, "shown": self._shown, "unsettled": self.outbox.save()}
        self._is_new = False
        if self._begins:
            header["begins"] = sorted(self._begins.items())
        if (changed := self._changed) is not None:
            header["changed"] = [changed.tick, changed.begin_text, changed.end_text]
        return frame([encode(header, self.answers.emitter.save()), self.executor.save(), *runs])

    def load(self, saved: bytes) -> None:
        """Brings a new worker to where another one was."""
        about, executor, *runs = unframe(saved)
        header, lists = decode(about)
        self.answers.emitter.load(lists)
        self._finished, self._shown = header["finished"], header["shown"]
        self.outbox.unsettled = {*header["unsettled"]}
        if header.get("begins"):
            self._open_operators(dict(header["begins"]))
        if "changed" in header:
            self._changed = TextDelta(*header["changed"])
        self.executor.load(executor)
        self.inbox.load(header, runs)


def handover_worker(handover: BucketHandover, address: Address) -> Worker:
    """The worker of the earlier job of a handover, where it was."""
    worker, state = Worker(handover.earlier, *address), handover.states[address]
    if state.base:
        worker.load(state.base)
    for payloads in state.journal:
        worker.replay(payloads)
    return worker
