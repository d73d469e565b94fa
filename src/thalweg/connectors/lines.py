"""Formats whose lines stand for themselves: blocks of bytes become lines, and a wrong line costs only itself."""

from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, Final

from thalweg.connectors.batches import Gatherer, Item, Statement
from thalweg.diagnostics import Diagnostic, Source, Span
from thalweg.model.dictionary import Dictionary
from thalweg.model.time import Clock

LONGEST_LINE: Final = 1 << 26
"""Bytes of a line that are kept to wait for its end."""
_SHOWN: Final = 1_000
SKIP: Final = '`--on-error skip` (`on_error = "skip"` in a deployment)'
"""The option that lets a run skip malformed lines."""
_SHORTER: Final = "write shorter lines; is a line break or a quotation mark missing?"

State = dict[str, Any]
"""The state of a reader behind the blocks that it has read, as JSON; it resumes from there."""


class LineError(ValueError):
    """An error in a line, and its offset."""

    def __init__(self, message: str, at: int) -> None:
        super().__init__(message)
        self.at = at


class LineReader:
    """Reads blocks of lines in UTF-8; `scope` distinguishes its blank nodes from those of other streams.

    A format implements `_statements`, or `_read` where its lines are not statements, and counts the lines in `_line`.
    """

    def __init__(self, words: Dictionary, name: str, stream: str | None, clock: Clock, scope: str = "") -> None:
        self._name = name
        self._stream = stream
        self._clock = clock
        self._scope = scope
        self._gatherer = Gatherer(words)
        self._rest = b""
        self._skips = False
        self._line = 0

    def feed(self, block: bytes) -> Iterator[Item]:
        """The items of the lines that are complete; the rest of a line waits for the next block."""
        if self._skips:
            # The line break stays, so that lines are counted as they are written.
            block = block[block.find(b"\n") :] if b"\n" in block else b""
            self._skips = not block
        lines = self._rest + block
        end = lines.rfind(b"\n") + 1
        self._rest = lines[end:]
        items = self._decoded(lines[:end])
        return chain(items, self._overlong()) if len(self._rest) > LONGEST_LINE else items

    def finish(self) -> Iterator[Item]:
        """The items of a last line without a line break, and what is known only at the end."""
        yield from self._decoded(self._rest)
        yield from self._remaining()

    def save(self) -> State:
        """The state to resume from behind the last block, whose items have been taken."""
        return {"rest": self._rest.decode("latin-1"), "line": self._line, "skips": self._skips}

    def load(self, saved: State) -> None:
        """Goes on where another reader was saved."""
        self._rest, self._line, self._skips = saved["rest"].encode("latin-1"), saved["line"], saved["skips"]

    def _overlong(self) -> Iterator[Diagnostic]:
        """Gives up a line that is too long; what is left of it is skipped."""
        line, self._rest, self._skips = self._rest[:_SHOWN].decode(errors="replace"), b"", True
        wrong = LineError(f"this line has over {LONGEST_LINE >> 20} MiB, more than can be read", 0)
        yield wrong_line(self._name, self._lines_read() + 1, line, wrong, _SHORTER)

    def _lines_read(self) -> int:
        """The lines of the blocks whose items have been taken."""
        return self._line

    def _decoded(self, lines: bytes) -> Iterator[Item]:
        if self._line == 0:
            lines = lines.removeprefix(BOM_UTF8)
        while lines:
            try:
                text, lines = lines.decode(), b""
            except UnicodeDecodeError as error:
                start, end = lines.rfind(b"\n", 0, error.start) + 1, lines.find(b"\n", error.start)
                yield from self._read(lines[:start].decode())
                line = lines[start : end if end >= 0 else len(lines)].decode(errors="replace")
                wrong = undecodable(lines[start:], error, start)
                yield wrong_line(self._name, self._line + 1, line, wrong)
                # The line break stays, so that lines are counted as they are written.
                text, lines = "\n", lines[end + 1 :] if end >= 0 else b""
            yield from self._read(text)

    def _read(self, text: str) -> Iterator[Item]:
        """The items of whole lines; only the last line of all may have no end."""
        return self._gatherer.gather(self._statements(lines_of(text)))

    def _statements(self, lines: list[str]) -> Iterator[Statement | Diagnostic]:
        raise NotImplementedError

    def _remaining(self) -> Iterable[Item]:
        return ()


def undecodable(line: bytes, error: UnicodeDecodeError, before: int = 0) -> LineError:
    """The diagnostic for a line that is not in its encoding; it begins `before` bytes behind what was decoded.

    >>> try:
    ...     b"Z\\xfcrich".decode()
    ... except UnicodeDecodeError as error:
    ...     print(undecodable(b"Z\\xfcrich", error))
    this is not UTF-8: the byte 0xFC
    """
    at = error.start - before
    message = f"this is not {error.encoding.upper()}: the byte 0x{line[at]:02X}"
    return LineError(message, len(line[:at].decode(error.encoding, "replace")))


def lines_of(text: str) -> list[str]:
    """The lines of a text; a last line may have no end.

    >>> lines_of("a\\n\\nb"), lines_of("a\\n"), lines_of("")
    (['a', '', 'b'], ['a'], [])
    """
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def wrong_line(name: str, number: int, line: str, error: ValueError, help: str = "") -> Diagnostic:
    """The diagnostic for an error in a line of a stream."""
    at = error.at if isinstance(error, LineError) else 0
    return Diagnostic("E301", str(error), Span(Source(name, line.rstrip("\r"), number), at, at + 1), help)
