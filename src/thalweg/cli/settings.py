"""What was asked of `run`, in parts: where to run, and what becomes of answers."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from thalweg.cli.errors import misfits, refuse

if TYPE_CHECKING:
    from thalweg.runtimes.spark.run import SparkTarget


@dataclass(frozen=True, slots=True)
class RuntimeOptions:
    """Where to run."""

    runtime: str
    master: str | None
    partitions: int | None
    checkpoint: Path | None
    jars: tuple[str, ...]
    verbose: bool

    @property
    def on_spark(self) -> bool:
        return self.runtime == "spark"

    @property
    def buckets(self) -> int:
        return self.partitions or 2

    @property
    def spark_only(self) -> Mapping[str, object]:
        """What has a meaning on Spark alone, by option."""
        return {
            "--master": self.master,
            "--partitions": self.partitions,
            "--jar": self.jars or None,
        }

    def target(self, streams: Sequence[object]) -> "SparkTarget":
        """The same for a run on Spark over streams."""
        from thalweg.api.sources import unnamed
        from thalweg.runtimes.spark.session import need_spark

        need_spark()
        from thalweg.runtimes.spark.run import SparkTarget
        from thalweg.runtimes.spark.startup import is_small

        return SparkTarget(self.master, self.checkpoint, self.jars, self.verbose, short=is_small(unnamed(streams)))


@dataclass(frozen=True, slots=True)
class Delivery:
    """What becomes of answers, of late facts and of malformed lines."""

    out: str | None
    late: str | None
    format: str
    on_error: Literal["stop", "skip"]

    @classmethod
    def of(cls, out: str | None, late: str | None, format: str | None, on_error: Literal["stop", "skip"]) -> "Delivery":
        """With the format that was asked for, that of the output's name, text for people, or lines of JSON.

        `ValueError` where a name says another format than the one that was asked for.
        """
        from thalweg.runtimes.answer_formats import format_of_output

        named = None if out is None else format_of_output(out)
        if named is not None and format is not None and named != format:
            raise ValueError(f"`{out}` is written as `{named}`, not as `{format}`: leave `--format` out, or rename it")
        if format == "parquet" and (out is None or "://" in out or out == "-" or out.endswith(".gz")):
            raise ValueError("Parquet is written to a file: give `--out answers.parquet`")
        usual = "text" if out is None and sys.stdout.isatty() else "jsonl"
        return cls(out, late, format or named or usual, on_error)

    def fit(self, runtime: RuntimeOptions) -> None:
        """Refuses what has no meaning at a place to run, and what cannot be resumed there."""
        if not runtime.on_spark:
            misfits(runtime.spark_only, "`--runtime spark`")
        packed = [name for name in (self.out, self.late) if name and name.endswith(".gz")]
        if runtime.checkpoint is not None and packed:
            refuse(f"`{packed[0]}` cannot be continued after a crash: with `--checkpoint` give a name without `.gz`")

    @property
    def is_table(self) -> bool:
        return self.format in ("csv", "parquet")

    @property
    def is_coloured(self) -> bool:
        """Whether text is coloured: on a terminal, unless `NO_COLOR` says otherwise."""
        return self.out is None and sys.stdout.isatty() and not os.environ.get("NO_COLOR")
