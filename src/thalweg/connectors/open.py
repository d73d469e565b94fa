"""Which transport a name stands for: a file, a folder, `-`, or a URI."""

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from thalweg.connectors import chained_service, files, http, kafka, mqtt, replay, socket, tabular, websocket
from thalweg.connectors.broker import only_on_spark
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.lake import is_lake, is_parquet_uri, lake_stream
from thalweg.connectors.partitions import partitions_of
from thalweg.connectors.readers import ENDINGS, format_of
from thalweg.connectors.storage import SCHEMES, StoredFile, is_stored, open_storage
from thalweg.connectors.transport import Sink, Transport
from thalweg.diagnostics import Diagnostic, RejectedError, Source


def _web(uri: str) -> Transport:
    """What a server of the web sends; of a service, what holds by a program of it."""
    return chained_service.ChainedServiceTransport(uri) if chained_service.is_chained(uri) else http.HttpTransport(uri)


SOURCES: Final[Mapping[str, Callable[[str], Transport]]] = {
    "tcp": socket.SocketTransport,
    "mqtt": mqtt.MqttTransport,
    "mqtts": mqtt.MqttTransport,
    "kafka": kafka.KafkaTransport,
    "http": _web,
    "https": _web,
    "ws": websocket.WebSocketTransport,
    "wss": websocket.WebSocketTransport,
}
SINKS: Final[Mapping[str, Callable[[str], Sink]]] = {
    "tcp": socket.open_sink,
    "mqtt": mqtt.MqttSink,
    "mqtts": mqtt.MqttSink,
    "kafka": kafka.KafkaSink,
}

_KNOWN: Final = f"streams end in {' '.join(ENDINGS)}"


def open_stream(name: str | Path, wanted: Collection[str] = (), lakes: Collection[str] = ()) -> Transport:
    """Opens a stream to read from; a file must say by its ending what is in it, and a `Path` is always a file.

    Of a table with many columns those that are `wanted` are read, besides those that state facts by themselves. What
    Spark reads by itself, because it is of a format of `lakes`, is not opened here.
    """
    if isinstance(name, str):
        if is_lake(name) and not lakes:
            raise only_on_spark(name)
        if lakes and (lake := lake_stream(name)) is not None and lake.format in lakes:
            return lake
        if name == "-":
            return files.InputTransport()
        if name.startswith("replay://"):
            return replay.replayed(name, partial(open_stream, wanted=wanted))
        if is_stored(name):
            return _stored(name, wanted)
        if scheme := _scheme(name):
            return SOURCES[scheme](name)
    path = Path(name)
    if path.exists() and not path.is_file() and not path.is_dir():
        return files.InputTransport(os.open(path, os.O_RDONLY), str(path), path.name)
    return _folder(path, wanted) if path.is_dir() else _file(path, wanted)


def _stored(uri: str, wanted: Collection[str]) -> Transport:
    """What a URI of another file system names."""
    storage = open_storage(uri)
    names = storage.files()
    located = [StoredFile(storage, name) for name in names]
    if not storage.is_folder:
        return _file(located[0], wanted)
    return _files_of(StoredFile(storage, ""), names, located, wanted)


def _file(path: files.Location, wanted: Collection[str]) -> files.PartTransport:
    _check_ending(path)
    return tabular.ParquetTransport(path, wanted) if format_of(path.name) == "parquet" else files.FileTransport(path)


def _folder(path: Path, wanted: Collection[str]) -> Transport:
    names = files.names_in(path)
    return _files_of(path, names, [path / name for name in names], wanted)


def _files_of(
    folder: files.Location, names: Sequence[str], paths: Sequence[files.Location], wanted: Collection[str]
) -> Transport:
    if not paths:
        raise RejectedError([Diagnostic("E402", f"the folder `{folder}` is empty", help=_KNOWN)])
    for file in paths:
        _check_ending(file)
    return files.FolderTransport(folder, paths, partial(_file, wanted=wanted), partitions_of(names))


def _check_ending(path: files.Location) -> None:
    if format_of(path.name) is None:
        raise RejectedError([Diagnostic("E402", f"unknown file type: `{path}`", help=_KNOWN)])


@dataclass(slots=True)
class TextTransport:
    """All there is, at once.

    >>> list(TextTransport("p at 3.").blocks(Interrupt()))
    [b'p at 3.']
    """

    text: str
    name: str = "-"
    stream: str = "text"
    live: bool = False

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        # Half a surrogate pair is passed on as it is: the reader of the format reports its line.
        yield self.text.encode(errors="surrogatepass")

    def close(self) -> None:
        """Nothing was opened."""


def text_stream(source: Source) -> TextTransport:
    """A text as a stream; its format is that of its name, or else is recognised by how the text begins.

    >>> text_stream(Source("north.jsonl", "{}")).stream, text_stream(Source("<text>", "p at 3.")).stream
    ('north', 'text')
    """
    if format_of(source.name) is None:
        return TextTransport(source.text)
    return TextTransport(source.text, source.name, files.stream_of(Path(source.name)))


def open_output(name: str | None) -> Sink:
    """Opens where answers go; the standard output by default."""
    if name is None or name == "-":
        return files.standard_output()
    if is_lake(name) or is_parquet_uri(name):
        raise only_on_spark(name)
    scheme = _scheme(name)
    if scheme is not None and scheme not in SINKS:
        schemes = " ".join(f"`{sink}://`" for sink in SINKS)
        message = f"answers cannot be sent to `{scheme}://`"
        raise RejectedError([Diagnostic("E402", message, help=f"supported are {schemes}, `-` and files")])
    return SINKS[scheme](name) if scheme else files.open_sink(Path(name))


def is_remote(name: object) -> bool:
    """Whether a stream is one to connect to, and not a file, a text or the standard input.

    >>> [is_remote(name) for name in ("mqtt://broker/cars", "replay://cars.facts", "s3://lake/cars.facts", "-")]
    [True, False, False, False]
    """
    return isinstance(name, str) and "://" in name and not name.startswith("replay://") and not is_stored(name)


def _scheme(name: str) -> str | None:
    """The scheme of a URI; None for a path.

    >>> _scheme("tcp://localhost:9000"), _scheme("readings.facts")
    ('tcp', None)
    """
    scheme, separator, _ = name.partition("://")
    if not separator:
        return None
    if scheme not in SOURCES:
        schemes = " ".join(f"`{scheme}://`" for scheme in (*SOURCES, "replay", *SCHEMES))
        raise RejectedError(
            [Diagnostic("E402", f"unknown scheme: `{name}`", help=f"supported are {schemes}, `-` and files")]
        )
    return scheme
