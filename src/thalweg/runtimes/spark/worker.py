"""One bucket of one fragment: parcels come in, time goes on as far as it is decided, parcels go out.

    facts of streams ──▶ Inbox ──▶ Executor ──▶ Outbox ──▶ other fragments
    other fragments ───────────────▶              └──▶ answers

A worker knows nothing of Spark, and nothing of what its operators do. What it has taken in can be saved and loaded, and
it does the same again when the same comes again, so a process that dies is replaced by loading what was saved and
handing in what came since.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from thalweg.answers.emit import TextDelta
from thalweg.dataflow.executor import Numbered, open_fragment
from thalweg.dataflow.operator import FactRows, Output, Share
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError
from thalweg.model.arrow import Lists, decode, encode, frame, unframe
from thalweg.model.dictionary import Dictionary
from thalweg.model.predicate import Predicate
from thalweg.model.records import as_json
from thalweg.model.time import NEVER
from thalweg.runtimes.spark.bucket_answers import BucketAnswers
from thalweg.runtimes.spark.inbox import FactRun, Inbox
from thalweg.runtimes.spark.job import Job
from thalweg.runtimes.spark.outbox import Outbox, receive
from thalweg.runtimes.spark.wire import ANSWERS, FACTS, OUT, Parcel, failure, unwrap, warning_text, wrap

Error = FailedError | RejectedError


class Worker:
    """The operators of a bucket, what is still undecided, and what they give."""

    def __init__(self, job: Job, fragment: int, bucket: int) -> None:
        self.job = job
        self.fragment = fragment
        self.bucket = bucket
        self._warnings: list[Diagnostic] = []
        self._noted: list[tuple[int, Any]] = []
        self._reached = -1
        context = job.context(self._warnings.append, self._listen)
        self.dictionary = words = Dictionary()
        share = Share(bucket, job.buckets(fragment))
        self.executor = open_fragment(job.plan, job.fragments[fragment].operators, context, words, share)
        self.inbox = Inbox(job, fragment, bucket, words, self._called)
        self.outbox = Outbox(job, fragment, bucket, words, context)
        self.answers = BucketAnswers(job.settings.emit, words, job.settings.with_until)
        self._blocks: list[tuple[int, int, Any]] = []
        self._finished = False
        self._shown: int | None = None
        """The last tick whose facts were sent as answers."""
        self._across = any(spec.counts_everything for spec in job.specs(fragment))
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
        return any(node.operator.must_save for node in self.executor.nodes)

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

    # Saving ---------------------------------------------------------------------------------------------------------

    def save(self) -> bytes:
        """All that has been taken in and still matters."""
        about, runs = self.inbox.save()
        header = about | {"finished": self._finished, "shown": self._shown, "unsettled": self.outbox.save()}
        return frame([encode(header, self.answers.emitter.save()), self.executor.save(), *runs])

    def load(self, saved: bytes) -> None:
        """Brings a new worker to where another one was."""
        about, executor, *runs = unframe(saved)
        header, lists = decode(about)
        self.answers.emitter.load(lists)
        self._finished, self._shown = header["finished"], header["shown"]
        self.outbox.unsettled = {*header["unsettled"]}
        self.executor.load(executor)
        self.inbox.load(header, runs)
