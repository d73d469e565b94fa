"""MQTT as a source and a sink of Spark, for jobs of one's own.

    spark.readStream.format("mqtt").load("mqtt://localhost/city/+/speed")      value, topic: a row for each message
    answers.writeStream.format("mqtt").start("mqtt://localhost/slow")          sends what is in the column `value`

A broker does not send a message again that it knows to be received, and Spark may ask for a batch again. So messages
are written to a folder before the broker hears that they have come, and stay there until Spark has done with them. The
option `keep` names a folder that outlives the process: with it a query goes on after a crash with nothing lost.
"""

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from queue import Queue
from tempfile import mkdtemp
from threading import Lock, Thread
from typing import Any, Final

from pyspark.sql.datasource import (
    DataSource,
    DataSourceStreamWriter,
    SimpleDataSourceStreamReader,
    WriterCommitMessage,
)
from pyspark.sql.types import BinaryType, Row, StringType, StructField, StructType

from thalweg.connectors.broker import Address, read_address
from thalweg.connectors.mqtt import HELD, BrokerLink, Message, MqttSink, checked_pattern
from thalweg.diagnostics import Diagnostic, FailedError, RejectedError
from thalweg.model.arrow import frame, unframe

OPTIONS: Final = ("session", "ca")
MESSAGES: Final = StructType([StructField("value", BinaryType()), StructField("topic", StringType())])
_ENDING: Final = ".messages"

Sent = tuple[bytes, str]


class MqttSource(DataSource):
    """`format("mqtt")`; the path is an address such as `mqtt://localhost/readings`."""

    @classmethod
    def name(cls) -> str:
        return "mqtt"

    def schema(self) -> StructType:
        return MESSAGES

    def simpleStreamReader(self, schema: StructType) -> "MqttReader":  # noqa: N802
        return MqttReader(self._address, self.options.get("keep"))

    def streamWriter(self, schema: StructType, overwrite: bool) -> "MqttWriter":  # noqa: N802
        if "value" not in schema.fieldNames():
            raise RejectedError([Diagnostic("E402", "messages for a broker need a column `value`, which is missing")])
        return MqttWriter(self._address)

    @property
    def _address(self) -> str:
        address = self.options.get("path")
        if not address:
            way_out = 'write `.load("mqtt://localhost/readings")`'
            raise RejectedError([Diagnostic("E402", "no broker and topic are given", help=way_out)])
        return address


class MqttReader(SimpleDataSourceStreamReader):
    """Listens where Spark plans batches; an offset is the number of the first file that has not been read."""

    def __init__(self, uri: str, keep: str | None) -> None:
        self._address = checked_pattern(read_address(uri, OPTIONS))
        self._keep = keep
        self._listener: Listener | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802
        return {"file": 0}

    def read(self, start: dict[str, int]) -> tuple[Iterator[Sent], dict[str, int]]:
        if self._listener is None:
            folder = self._keep or mkdtemp(prefix="thalweg-mqtt-")
            self._listener = Listener(self._address, KeptMessages(Path(folder), start["file"]))
        end = self._listener.cut()
        return self._listener.kept.between(start["file"], end), {"file": end}

    def readBetweenOffsets(self, start: dict[str, int], end: dict[str, int]) -> Iterator[Sent]:  # noqa: N802
        if self._keep is None:
            raise _gone("this process has not received them")
        return KeptMessages(Path(self._keep), end["file"]).between(start["file"], end["file"])

    def commit(self, end: dict[str, int]) -> None:
        if self._listener is not None:
            self._listener.kept.forget(end["file"])


class Listener:
    """Writes messages down as they come, and then tells the broker, which sends only a few more before that."""

    def __init__(self, address: Address, kept: "KeptMessages") -> None:
        self.kept = kept
        self._arrived: Queue[Message] = Queue(HELD)
        self._writing = Lock()
        self._wrong: OSError | None = None
        self._link = BrokerLink(address, self._arrived.put, acknowledging=False)
        Thread(target=self._write, name="mqtt", daemon=True).start()

    def cut(self) -> int:
        """Begins a new file, where the last one has something; gives its number."""
        self._link.check()
        if self._wrong is not None:
            raise FailedError(Diagnostic("E401", f"messages cannot be kept: {self._wrong.strerror}"))
        with self._writing:
            return self.kept.cut()

    def _write(self) -> None:
        while self._wrong is None:
            taken = [self._arrived.get()]
            taken += [self._arrived.get() for _ in range(self._arrived.qsize())]
            try:
                with self._writing:
                    self.kept.add((message.payload, message.topic) for message in taken)
            except OSError as error:
                self._wrong = error
                return
            for message in taken:
                if message.receipt is not None:
                    self._link.acknowledge(message.receipt)


class KeptMessages:
    """Messages in numbered files, of which the last is written to; numbers below `least` are not used again.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     kept = KeptMessages(Path(folder), least=0)
    ...     kept.add([(b"p at 3.", "readings")])
    ...     end = kept.cut()
    ...     kept.add([(b"p at 4.", "readings")])
    ...     end, list(kept.between(0, end))
    (1, [(b'p at 3.', 'readings')])
    """

    def __init__(self, folder: Path, least: int) -> None:
        self._folder = folder
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise RejectedError([Diagnostic("E401", f"cannot keep messages in `{folder}`: {error.strerror}")]) from None
        # What a process that died had written stays as it is.
        self._current = max([least, *(number + 1 for number in self._numbers())])

    def add(self, messages: Iterable[Sent]) -> None:
        """Appends messages; they are on disk when this returns."""
        with self._path(self._current).open("ab") as file:
            file.write(frame(frame((value, topic.encode())) for value, topic in messages))
            file.flush()
            os.fsync(file.fileno())

    def cut(self) -> int:
        """The number after the last file that will not change any more; what has been added so far is before it."""
        self._current += self._path(self._current).exists()
        return self._current

    def between(self, first: int, end: int) -> Iterator[Sent]:
        # Spark copies what it is given, which a generator does not bear.
        return iter([message for number in range(first, end) for message in self._read(number)])

    def forget(self, number: int) -> None:
        """Drops the files before a number."""
        for old in self._numbers():
            if old < number:
                self._path(old).unlink(missing_ok=True)

    def _numbers(self) -> list[int]:
        return [int(path.stem) for path in self._folder.glob(f"*{_ENDING}")]

    def _read(self, number: int) -> Iterator[Sent]:
        try:
            data = self._path(number).read_bytes()
        except FileNotFoundError:
            raise _gone(f"they are not in `{self._folder}`") from None
        for record in _complete(data):
            value, topic = unframe(record)
            yield value, topic.decode()

    def _path(self, number: int) -> Path:
        return self._folder / f"{number:010}{_ENDING}"


def _gone(why: str) -> FailedError:
    way_out = "give the source the option `keep` with a folder that outlives the process"
    return FailedError(Diagnostic("E404", f"messages that a batch must read again are gone: {why}", help=way_out))


def _complete(data: bytes) -> Iterator[bytes]:
    """The records of a file; where a process died while it wrote, the last is not whole, and the broker sends it again.

    >>> [list(_complete(frame([b"ab", b"cd"])[:length])) for length in (20, 19, 11, 10)]
    [[b'ab', b'cd'], [b'ab'], [b'ab'], [b'ab']]
    """
    place = 0
    while (start := place + 8) <= len(data):
        place = start + int.from_bytes(data[place:start], "little")
        if place <= len(data):
            yield data[start:place]


class MqttWriter(DataSourceStreamWriter):
    """Each task sends its rows, and is done when the broker has them; a task that is tried again sends them again."""

    def __init__(self, uri: str) -> None:
        self._uri = uri

    def write(self, iterator: Iterator[Row]) -> WriterCommitMessage:
        sink = MqttSink(self._uri)
        try:
            sink.publish(_bytes(row["value"]) for row in iterator)
        finally:
            sink.close()
        return WriterCommitMessage()


def _bytes(value: Any) -> bytes:
    return bytes(value) if isinstance(value, bytes | bytearray) else str(value).encode()
