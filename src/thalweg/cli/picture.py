"""The picture of a run, drawn at its end: also when it was interrupted."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from thalweg.model.event import Batch
    from thalweg.runtimes.answer_formats import AnswerFormat
    from thalweg.runtimes.emit import AnswerBlock
    from thalweg.runtimes.timeline_recorder import TimelineRecorder


class Pencil:
    """Follows a run for its picture, where one was asked for; `engine` is what reasons, if that is in this process."""

    def __init__(self, recorder: "TimelineRecorder | None", written: "AnswerFormat") -> None:
        self._recorder = recorder
        self._times = written.times
        self.engine: Any = None

    @property
    def is_used(self) -> bool:
        return self._recorder is not None

    def observe(self, tick: int, batch: "Batch") -> None:
        """Sees what comes."""
        if self._recorder is not None and self.engine is not None:
            self._recorder.observe(tick, batch, self.engine.dictionary)

    def see(self, block: "AnswerBlock") -> None:
        """Sees what is answered, and asks why while it can be asked."""
        if self._recorder is not None:
            from thalweg.runtimes.timeline_recorder import explaining

            self._recorder.see(block, explaining(self.engine, self._times))

    @property
    def guaranteed(self) -> dict[str, int]:
        """Until when what holds at the end is guaranteed."""
        return self.engine.guaranteed() if hasattr(self.engine, "guaranteed") else {}


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
    pencil = Pencil(recorder, written)
    try:
        yield pencil
    except StoppedError:
        write_picture(recorder.chart(), picture, brief=written.brief)
        raise
    write_picture(recorder.chart(pencil.guaranteed), picture, brief=written.brief)
