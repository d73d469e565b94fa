"""Answers whose checkpoint is looked at when their query is started.

The checkpoint is named at `writeStream`, which is Spark's. So a DataFrame of answers gives a writer that notes where
the checkpoint is, and looks at it before the query starts: a wrong one is an error of `start`, not of a query that
runs. A DataFrame made from the answers has the writer of Spark: there the claim is compared when the query begins.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

Check = Callable[[str], AbstractContextManager[None]]
"""Looks at the location of a checkpoint, perhaps none; raises where it cannot be used. The query starts inside."""

_CHECK: Final = "_thalweg_check"
_LOCATION: Final = "checkpointlocation"
_CONFIGURED: Final = "spark.sql.streaming.checkpointLocation"


def with_checked_start(answers: "DataFrame", check: Check) -> "DataFrame":
    """The same answers; `check` is called with the location of their checkpoint when a query of them starts."""
    frame: Any = type(answers)
    answers.__class__ = _checked_frame(frame)
    setattr(answers, _CHECK, check)
    return answers


@cache
def _checked_frame(frame: Any) -> Any:
    """The class of a DataFrame, of Spark itself or of Spark Connect, with a writer that checks."""

    class CheckedFrame(frame):  # type: ignore[misc]
        @property
        def writeStream(self) -> Any:  # noqa: N802
            writer: Any = super().writeStream
            kind: Any = type(writer)
            writer.__class__ = _checked_writer(kind)
            configured = self.sparkSession.conf.get(_CONFIGURED, "") or ""
            writer.__dict__.update(_check=getattr(self, _CHECK), _named="", _base=configured, _query="")
            return writer

    return CheckedFrame


@cache
def _checked_writer(writer: Any) -> Any:
    class CheckedWriter(writer):  # type: ignore[misc]
        def option(self, key: str, value: Any) -> Any:
            self._note({key: value})
            return super().option(key, value)

        def options(self, **options: Any) -> Any:
            self._note(options)
            return super().options(**options)

        def queryName(self, queryName: str) -> Any:  # noqa: N802, N803
            self._query = queryName
            return super().queryName(queryName)

        def start(self, *arguments: Any, **options: Any) -> Any:
            with self._check(self._location(options)):
                return super().start(*arguments, **options)

        def toTable(self, *arguments: Any, **options: Any) -> Any:  # noqa: N802
            with self._check(self._location(options)):
                return super().toTable(*arguments, **options)

        def _note(self, options: dict[str, Any]) -> None:
            for key, value in options.items():
                if key.lower() == _LOCATION and value is not None:
                    self._named = str(value)

        def _location(self, options: dict[str, Any]) -> str:
            self._note(options)
            query = options.get("queryName") or self._query
            return self._named or ("/".join((self._base, query)) if self._base and query else "")

    return CheckedWriter
