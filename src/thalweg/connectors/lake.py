"""Streams and tables that Spark reads and writes by itself: topics of Kafka, and tables of a catalog, Delta and Iceberg.

    kafka://localhost:9092/readings?by=partition    a topic, each partition of which has a watermark of its own
    table:city.traffic.readings                     a table of a catalog that the session has
    delta:s3a://lake/readings                       a table of Delta, by its folder
    iceberg:city.traffic.readings                   a table of Iceberg, by its name, or by its folder

A stream goes on as rows are added; with `?until=end` it ends behind what is there when it is opened. `?by=COLUMN` gives
the rows of each value of a column a watermark of their own.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import PurePath
from typing import Final
from urllib.parse import parse_qsl

from thalweg.connectors.broker import only_on_spark
from thalweg.connectors.interrupt import Interrupt
from thalweg.connectors.kafka import OPTIONS as KAFKA_OPTIONS
from thalweg.connectors.kafka import kafka_address
from thalweg.diagnostics import Diagnostic, RejectedError

KAFKA: Final = "kafka"
TABLE: Final = "table"
TABLES: Final = (TABLE, "delta", "iceberg")

_ADDRESS: Final = re.compile(rf"({'|'.join(TABLES)}):(?!//)([^\s?()]+)(?:\?([^\s()]*))?")
_PORT: Final = 9092
_OPTIONS: Final = ("by", "until")


@dataclass(slots=True)
class LakeStream:
    """A stream that tasks of Spark read: its format, where it is, and how it is read.

    Of Kafka, `place` are the brokers and `topic` is read from its beginning, or `from_now` on.
    """

    name: str
    stream: str
    format: str
    place: str
    topic: str = ""
    by: str | None = None
    ends: bool = False
    from_now: bool = False
    group: str | None = None
    live: bool = True

    def blocks(self, interrupt: Interrupt) -> Iterator[bytes]:
        """None of them pass through this process."""
        raise only_on_spark(self.name)

    def close(self) -> None:
        """Nothing was opened."""


def is_lake(name: object) -> bool:
    """Whether a name is that of a table which only Spark reads or writes.

    >>> [is_lake(name) for name in ("delta:/data/t", "table:city.t?until=end", "kafka://host/t", "table.csv", "delta: x")]
    [True, True, False, False, False]
    """
    return isinstance(name, str) and _ADDRESS.fullmatch(name) is not None


def lake_stream(name: str) -> LakeStream | None:
    """A stream that Spark reads by itself; None where it does not. `RejectedError` where its options are wrong.

    A topic that ends after some messages is counted by one process, and so read by that.

    >>> lake_stream("delta:/data/readings?until=end").stream
    'readings'
    >>> lake_stream("kafka://one,two:9093/readings?by=partition").place
    'one:9092,two:9093'
    """
    if name.startswith(f"{KAFKA}://"):
        return _topic(name)
    if not is_lake(name):
        return None
    format_, place, options = _taken_apart(name)
    if unknown := options.keys() - {*_OPTIONS}:
        raise _misfit(name, f"unknown option `{min(unknown)}`", f"the options are {', '.join(_OPTIONS)}")
    stream = PurePath(place).stem if "/" in place else place.rpartition(".")[2]
    return LakeStream(name, stream, format_, place, by=options.get("by"), ends=_ends(name, options))


def _topic(uri: str) -> LakeStream | None:
    address = kafka_address(uri, KAFKA_OPTIONS)
    if "messages" in address.options:
        if "by" in address.options:
            raise _misfit(address.name, "`messages` and `by` do not go together", "leave one of them out")
        return None
    by = address.choice("by", "partition")
    from_now = address.choice("from", "earliest", "latest") == "latest"
    place = ",".join(host if re.search(r":\d+$", host) else f"{host}:{_PORT}" for host in address.place.split(","))
    group, ends = address.options.get("group"), address.choice("until", "end") is not None
    return LakeStream(address.name, address.topic, KAFKA, place, address.topic, by, ends, from_now, group)


def table_place(name: str) -> tuple[str, str]:
    """The format and the place of a table that is written, or read as a whole; it has no options.

    >>> table_place("delta:s3a://lake/slow")
    ('delta', 's3a://lake/slow')
    """
    format_, place, options = _taken_apart(name)
    if options:
        raise _misfit(name, f"unknown option `{min(options)}`", "a table that is not a stream has none")
    return format_, place


def _taken_apart(name: str) -> tuple[str, str, dict[str, str]]:
    match = _ADDRESS.fullmatch(name)
    assert match is not None, "it is the name of a table"
    return match[1], match[2], dict(parse_qsl(match[3] or "", keep_blank_values=True))


def _ends(name: str, options: dict[str, str]) -> bool:
    if options.get("until", "end") != "end":
        raise _misfit(name, f"`until={options['until']}` is not valid", "write end")
    return "until" in options


def _misfit(name: str, message: str, help: str) -> RejectedError:
    return RejectedError([Diagnostic("E403", f"{message} in `{name}`", help=help)])
