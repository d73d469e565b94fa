"""The options of `run` that only the command line has: where to run, and what becomes of answers."""

import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from thalweg.cli.errors import misfits, refuse, usage
from thalweg.cli.parameters import Values
from thalweg.languages.options import ChangeName

if TYPE_CHECKING:
    from thalweg.connectors.lake import LakeOutput
    from thalweg.runtimes.spark.early_session import EarlySession
    from thalweg.runtimes.spark.run import SparkTarget
    from thalweg.runtimes.stored_path import CheckpointPath


@dataclass(frozen=True, slots=True)
class RuntimeOptions:
    """Where to run."""

    runtime: str
    master: str | None
    partitions: int | None
    split: str | None
    checkpoint: "CheckpointPath | None"
    jars: tuple[str, ...]
    conf: Mapping[str, str]
    archive: str | None
    verbose: bool
    on_change: ChangeName = "refuse"

    @classmethod
    def of(cls, values: Values) -> "RuntimeOptions":
        """Those among the values of the options of `run`."""
        from thalweg.runtimes.spark.session_settings import read_settings
        from thalweg.runtimes.stored_path import checkpoint_path

        jars, folder = tuple(values["jars"] or ()), values["checkpoint"]
        checkpoint = None if folder is None else checkpoint_path(folder)
        place = values["runtime"], values["master"], values["partitions"], values["split"], checkpoint
        with usage():
            conf = read_settings(values["conf"] or ())
        return cls(*place, jars, conf, values["archive"], values["verbose"], _on_change(values, checkpoint is not None))

    @property
    def on_spark(self) -> bool:
        return self.runtime == "spark"

    @property
    def spark_only(self) -> Mapping[str, object]:
        """What has a meaning on Spark alone, by option."""
        options = {"--master": self.master, "--partitions": self.partitions, "--split": self.split}
        shipped = {"--jar": self.jars or None, "--conf": self.conf or None, "--archive": self.archive}
        return {**options, **shipped}

    def early_session(self, values: Values) -> "EarlySession | None":
        """The session of a run on Spark, which is being opened; None where it cannot be yet, or is not needed."""
        if not self.on_spark:
            return None
        from thalweg.runtimes.spark.early_session import EarlyOptions, EarlySession
        from thalweg.runtimes.spark.startup import is_small

        streams = values["stream"] or ()
        short = is_small(map(Path, streams))
        place = self.master, self.conf, self.jars, self.archive, self.verbose
        options = EarlyOptions(*place, short, self.partitions)
        sinks = [name for name in (values["out"], values["late"]) if name]
        return EarlySession(options) if options.suffice([*streams, *(values["background"] or ()), *sinks]) else None

    def target(self, streams: Sequence[object], early: "EarlySession | None" = None) -> "SparkTarget":
        """The same for a run on Spark over streams, perhaps in a session that is being opened."""
        from thalweg.api.sources import unnamed
        from thalweg.runtimes.spark.session import need_spark

        need_spark()
        from thalweg.runtimes.spark.run import SparkTarget
        from thalweg.runtimes.spark.startup import is_small

        short = is_small(unnamed(streams))
        place = self.master, self.checkpoint, self.jars, self.verbose
        return SparkTarget(*place, short, conf=self.conf, archive=self.archive, early=early)


def _on_change(values: Values, can_resume: bool) -> ChangeName:
    """What becomes of a checkpoint of another program."""
    chosen: ChangeName | None = values["on_change"]
    if chosen is not None and not can_resume:
        refuse("`--on-change` says what becomes of a checkpoint of another program: give `--checkpoint`")
    return chosen or "refuse"


@dataclass(frozen=True, slots=True)
class OutputOptions:
    """What becomes of answers and of late facts."""

    out: str | None
    late: str | None
    format: str
    elsewhere: "LakeOutput | None" = None
    """Where Spark writes answers by itself."""

    @classmethod
    def of(cls, values: Values) -> "OutputOptions":
        """With the format that the options say, that of the output's name, text for people, or lines of JSON.

        `ValueError` where a name says another format than the options do.
        """
        from thalweg.answers.answer_formats import format_of_output
        from thalweg.connectors.lake import KAFKA, is_lake, lake_output

        out, format = values["out"], values["answer_format"]
        elsewhere = lake_output(out) if values["runtime"] == "spark" else None
        if elsewhere is not None and (format is None or format == elsewhere.format):
            return cls(out, values["late"], "parquet", elsewhere)
        if elsewhere is not None and elsewhere.format != KAFKA:
            raise ValueError(f"`{out}` is written as `{elsewhere.format}`, not as `{format}`: leave `--format` out")
        named = None if out is None or is_lake(out) else format_of_output(out)
        if named is not None and format is not None and named != format:
            raise ValueError(f"`{out}` is written as `{named}`, not as `{format}`: leave `--format` out, or rename it")
        if format == "parquet" and (out is None or "://" in out or out == "-" or out.endswith(".gz")):
            raise ValueError("Parquet is written to a file: give `--out answers.parquet`")
        usual = "text" if out is None and sys.stdout.isatty() else "jsonl"
        return cls(out, values["late"], format or named or usual)

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
