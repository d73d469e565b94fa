"""What Spark reads and writes by itself: topics of Kafka, and tables of a catalog, of Delta and of Iceberg.

    kafka://localhost:9092/readings?by=partition    a topic, each partition of which has a watermark of its own
    table:city.traffic.readings                     a table of a catalog that the session has
    delta:s3a://lake/readings                       a table of Delta, by its folder
    iceberg:city.traffic.readings                   a table of Iceberg, by its name; to be read, also by its folder

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
_LIVE: Final = ("tcp", "mqtt", "mqtts", KAFKA, "http", "https", "ws", "wss")
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

    >>> [is_lake(name) for name in ("delta:/data/t", "table:city.t?until=end", "kafka://host/t", "table.csv")]
    [True, True, False, False]
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
    return LakeStream(name, table_name(place), format_, place, by=options.get("by"), ends=_ends(name, options))


def _topic(uri: str) -> LakeStream | None:
    address = kafka_address(uri, KAFKA_OPTIONS)
    if "messages" in address.options:
        if "by" in address.options:
            raise _misfit(address.name, "`messages` and `by` do not go together", "leave one of them out")
        return None
    by = address.choice("by", "partition")
    from_now = address.choice("from", "earliest", "latest") == "latest"
    group, ends = address.options.get("group"), address.choice("until", "end") is not None
    return LakeStream(
        address.name, address.topic, KAFKA, with_ports(address.place), address.topic, by, ends, from_now, group
    )


def table_name(place: str) -> str:
    """What a table is called in rules and mappings: the last part of its name, or of the way to its folder.

    >>> table_name("city.traffic.readings"), table_name("s3a://lake/readings/")
    ('readings', 'readings')
    """
    return PurePath(place).stem if "/" in place else place.rpartition(".")[2]


def table_place(name: str) -> tuple[str, str]:
    """The format and the place of a table that is written, or read as a whole; it has no options.

    >>> table_place("delta:s3a://lake/slow")
    ('delta', 's3a://lake/slow')
    """
    format_, place, options = _taken_apart(name)
    if options:
        raise _misfit(name, f"unknown option `{min(options)}`", "a table that is not a stream has none")
    return format_, place


@dataclass(frozen=True, slots=True)
class LakeOutput:
    """Where Spark itself writes answers: a format, a place, of Kafka a topic, and perhaps the key of all messages."""

    name: str
    format: str
    place: str
    topic: str = ""
    key: str | None = None


def lake_output(name: str | None) -> LakeOutput | None:
    """Where Spark writes answers by itself: to a table, a topic or a folder of Parquet that a URI names; else None.

    >>> lake_output("delta:/data/slow").format, lake_output("s3a://data/slow.parquet").format
    ('delta', 'parquet')
    >>> lake_output("slow.parquet")
    """
    if name is None:
        return None
    if is_lake(name):
        format_, place = table_place(name)
        if format_ == "iceberg" and "/" in place:
            message = (
                f"cannot write to `{name}`: a table of Iceberg is written by its name in a catalog, not by its folder"
            )
            raise RejectedError([Diagnostic("E402", message, help="write `iceberg:catalog.schema.table`")])
        return LakeOutput(name, format_, place)
    if name.startswith(f"{KAFKA}://"):
        address = kafka_address(name, ("key",))
        return LakeOutput(address.name, KAFKA, with_ports(address.place), address.topic, address.options.get("key"))
    return LakeOutput(name, "parquet", name) if is_parquet_uri(name) else None


def is_parquet_uri(name: str) -> bool:
    """Whether a name is a URI of Parquet, which only Spark writes to.

    >>> is_parquet_uri("s3a://lake/slow.parquet"), is_parquet_uri("slow.parquet"), is_parquet_uri("tcp://a:1/b.parquet")
    (True, False, False)
    """
    return "://" in name and name.endswith(".parquet") and name.partition("://")[0] not in _LIVE


def with_ports(brokers: str) -> str:
    """Brokers with the usual port where none is stated."""
    return ",".join(host if re.search(r":\d+$", host) else f"{host}:{_PORT}" for host in brokers.split(","))


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
