"""What the checkpoint of a query belongs to: a claim, which travels with the query as one more source.

    tables ──▶ parcels ┐
    claim  ──▶ no rows ┴ union ──▶ …        the offsets of all sources are in Spark's checkpoint, the claim among them

`reason` does not know the checkpoint: it is named where the answers are written. So the claim is the offset of a source
without rows. Spark writes it into the checkpoint with the first batch, and gives it back to the source when a query is
started on the checkpoint, before it looks for data: another program, or another number of buckets, is refused then.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakSet

from thalweg.diagnostics import Diagnostic, RejectedError
from thalweg.runtimes.spark.checkpoint_format import FORMAT
from thalweg.runtimes.spark.job import Job

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

KEY: Final = "thalweg"
_REGISTERED: Final["WeakSet[SparkSession]"] = WeakSet()
_AS_BEFORE: Final = "go on with the program and options that it was made with"
_ANEW: Final = "name a new checkpoint location"


@dataclass(frozen=True, slots=True)
class QueryClaim:
    """What must not change while a query goes on: how it is called, and its value."""

    program: str
    buckets: int
    tables: tuple[str, ...]
    options: Mapping[str, object]
    fingerprint: str
    format: int = FORMAT.number

    @classmethod
    def of(cls, job: Job, tables: Sequence[str]) -> "QueryClaim":
        """The claim of a job over some tables."""
        settings = job.settings
        options = {
            "emit": settings.emit,
            "delay": settings.delay,
            "idle": job.idle,
            "by": job.by,
            "start": settings.first,
            "end": settings.last,
            "memory": settings.memory,
            "until": "available" if job.closes else None,
        }
        return cls(job.identity, job.width, tuple(tables), options, job.fingerprint)

    @classmethod
    def read(cls, offset: Mapping[str, Any]) -> "QueryClaim":
        """The claim that an offset is."""
        fields = dict(offset[KEY])
        return cls(**fields | {"tables": tuple(fields["tables"])})

    def as_text(self) -> str:
        """The claim as a line of JSON, the same for equal claims."""
        return json.dumps({KEY: asdict(self)}, sort_keys=True)

    def is_of(self, checkpoint: Mapping[str, Any]) -> bool:
        """Whether a claim that a checkpoint has is this one, whichever version has written it."""
        return bool(checkpoint.get(KEY, {}).get("fingerprint") == self.fingerprint)

    def check_but_program(self, checkpoint: Mapping[str, Any], name: str) -> None:
        """`RejectedError` where the claim that a checkpoint has differs from this one in more than the program."""
        before = checkpoint.get(KEY, {})
        own = {"program": self.program, "fingerprint": self.fingerprint}
        self.check({KEY: {**before, **own}} if FORMAT.reads(before.get("format", 0)) else checkpoint, name)

    def check(self, checkpoint: Mapping[str, Any], name: str = "") -> None:
        """`RejectedError` where this is not the claim that a checkpoint has.

        >>> old = QueryClaim("a1", 2, ("p",), {"emit": "changes"}, "f1")
        >>> new = QueryClaim("a1", 4, ("p",), {"emit": "changes"}, "f2")
        >>> new.check(json.loads(old.as_text()))
        Traceback (most recent call last):
        thalweg.diagnostics.RejectedError: error[E408]: the checkpoint belongs to a query with `buckets=2`, not 4
          help: add `buckets=2`, or name a new checkpoint location
        """
        before = checkpoint.get(KEY, {})
        if (change := self._change(before)) is not None:
            message = f"the checkpoint{f' `{name}`' if name else ''} {change}"
            raise RejectedError([Diagnostic("E408", message, help=f"{self._way_back(before)}, or {_ANEW}")])

    def _way_back(self, before: Mapping[str, Any]) -> str:
        is_same = FORMAT.reads(before.get("format", 0)) and before["program"] == self.program
        return f"add `buckets={before['buckets']}`" if is_same and before["buckets"] != self.buckets else _AS_BEFORE

    def _change(self, before: Mapping[str, Any]) -> str | None:
        if not FORMAT.reads(before.get("format", 0)):
            return "was made by another version of Thalweg"
        mine = json.loads(self.as_text())[KEY]
        if {**before, "format": self.format} == mine:
            return None
        if before["program"] != self.program:
            return "belongs to another program"
        if before["buckets"] != self.buckets:
            return f"belongs to a query with `buckets={before['buckets']}`, not {self.buckets}"
        if before["tables"] != [*self.tables]:
            return f"belongs to a query over other tables: {', '.join(before['tables'])}"
        for option, value in mine["options"].items():
            if before["options"].get(option) != value:
                return f"belongs to a query with `{option}={before['options'].get(option)!r}`, not {value!r}"
        return "belongs to the same program with other settings"


def claim_rows(claim: QueryClaim, session: "SparkSession", permit: str = "") -> "DataFrame | None":
    """A stream of parcels without a row, whose offset is the claim; None where Spark has no such sources (4.1).

    It may follow the claim that is written in the file `permit`.
    """
    if find_spec("pyspark.sql.streaming.datasource") is None:
        return None
    from thalweg.runtimes.spark.claim_source import ClaimSource

    if session not in _REGISTERED:
        session.dataSource.register(ClaimSource)
        _REGISTERED.add(session)
    return (
        session.readStream.format(ClaimSource.name()).option("claim", claim.as_text()).option("permit", permit).load()
    )


def claims_in(offsets: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The claims among the lines of a checkpoint's log of offsets; those of a topic with the same name are none.

    >>> claim = QueryClaim("a1", 2, ("p",), {"emit": "changes"}, "f1")
    >>> [*claims_in(["v1", '{"thalweg":{"0":5}}', claim.as_text()])] == [json.loads(claim.as_text())]
    True
    """
    for line in offsets:
        if line.startswith("{") and _is_claim(offset := json.loads(line)):
            yield offset


def _is_claim(offset: Mapping[str, Any]) -> bool:
    """Whether an offset has what only a claim has: Kafka's has the numbers of partitions under the name of a topic."""
    fields = offset.get(KEY)
    return isinstance(fields, dict) and "fingerprint" in fields
