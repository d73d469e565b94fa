"""The picture of a run, drawn at its end: also when it was interrupted."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.model.time import FOREVER, Notation

if TYPE_CHECKING:
    from thalweg.answers.answer_formats import AnswerFormat
    from thalweg.answers.emit import AnswerBlock
    from thalweg.api import Part, Timing
    from thalweg.model.dictionary import Dictionary
    from thalweg.model.event import Batch
    from thalweg.runtimes.first_facts import KeptBeginning
    from thalweg.runtimes.timeline_recorder import TimelineRecorder


class Pencil:
    """Follows a run for its picture, where one was asked for; `engine` is that of rules alone in this process.

    Of a run elsewhere, `ends` says until when what holds at the end is guaranteed; on a page (`with_proofs`) proofs are
    found by evaluating its beginning again.
    """

    def __init__(self, recorder: "TimelineRecorder | None", written: "AnswerFormat", with_proofs: bool = False) -> None:
        self._recorder = recorder
        self._columns = written.columns
        self._times = written.times
        self._with_proofs = with_proofs
        self._beginning: KeptBeginning | None = None
        self.engine: Any = None
        self.ends: dict[str, int] = {}

    @property
    def is_used(self) -> bool:
        return self._recorder is not None

    def observe(self, tick: int, batch: "Batch", words: "Dictionary") -> None:
        """Sees what comes."""
        if self._recorder is not None:
            self._recorder.observe(tick, batch, words)

    def observe_elsewhere(self, tick: int, batch: "Batch", words: "Dictionary") -> None:
        """Sees what comes to a run elsewhere, and keeps the beginning of it."""
        from thalweg.runtimes.first_facts import KeptBeginning

        self.observe(tick, batch, words)
        if self._with_proofs:
            self._beginning = self._beginning or KeptBeginning()
            self._beginning.add(tick, batch, words)

    def see(self, block: "AnswerBlock") -> None:
        """Sees what is answered, and asks why while it can be asked."""
        if self._recorder is not None:
            from thalweg.runtimes.timeline_recorder import explaining

            self._recorder.see(block, explaining(self.engine, self._times))

    @property
    def guaranteed(self) -> dict[str, int]:
        """Until when what holds at the end is guaranteed."""
        if self.engine is None:
            return self.ends
        from thalweg.answers.emit import Lasting
        from thalweg.planning.revocable import guaranteed

        return Lasting(guaranteed(self.engine.program)).chosen(self.engine.guaranteed())

    def prove(self, part: "Part", timing: "Timing") -> None:
        """Evaluates the beginning of a run elsewhere again, and keeps the proofs of what it concludes."""
        from thalweg import api
        from thalweg.answers.answer_columns import FactColumns
        from thalweg.answers.emit import Change
        from thalweg.runtimes.timeline_recorder import TimelineRecorder, explaining

        if self._recorder is None or self._beginning is None or type(self._columns) is not FactColumns:
            return
        first, last, delay = timing.ticks()
        decided = self._beginning.decided(delay)
        # What was kept has ticks, whatever the streams had.
        timing = replace(timing, first=first, last=last, notation=Notation())
        proofs = TimelineRecorder(self._times)
        options, silent = api.RunOptions(timing), api.Observer(report=lambda warning: None)
        with api.start(part, self._beginning.events, options, silent, explains=True) as job:
            why = explaining(job.run.derivations.engine, self._times)
            for block in job.pieces():
                if proofs.has_enough_proofs or (isinstance(block, Change) and block.t > decided):
                    break
                if block is not None:
                    proofs.see(block, why)
        remark = "" if decided >= FOREVER else f"There are proofs up to {self._times.text(decided)}."
        self._recorder.adopt_proofs(proofs, remark)


@contextmanager
def drawn(picture: Path | None, written: "AnswerFormat") -> Iterator[Pencil]:
    """Around a run whose picture is drawn when it has ended, or was stopped."""
    from thalweg.connectors.interrupt import StoppedError

    if picture is None:
        yield Pencil(None, written)
        return
    from thalweg.runtimes.picture_files import write_picture
    from thalweg.runtimes.timeline_recorder import TimelineRecorder

    recorder = TimelineRecorder(written.times)
    pencil = Pencil(recorder, written, picture.suffix.lower() == ".html")
    try:
        yield pencil
    except StoppedError:
        write_picture(recorder.chart(), picture, brief=written.brief)
        raise
    write_picture(recorder.chart(pencil.guaranteed), picture, brief=written.brief)
