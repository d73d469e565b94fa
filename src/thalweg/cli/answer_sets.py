"""The verb `run` for answer set programs: a line for each window."""

import sys
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from thalweg.cli.asked import Delivery, Solving, Spread
from thalweg.cli.deliver import Channel, deliver
from thalweg.cli.ending import complain, misfits, refuse, signatures_of, usage

if TYPE_CHECKING:
    from thalweg.api import Timing
    from thalweg.languages.asp import AspProgram
    from thalweg.model.fact import Fact
    from thalweg.runtimes.asking import Asking
    from thalweg.runtimes.solving import Solvers


def run_answer_sets(
    programs: Sequence[str],
    stream: Sequence[str],
    background: Sequence[str],
    window: str | None,
    timing: "Timing",
    solving: Solving,
    delivery: Delivery,
    spread: Spread,
) -> None:
    """Runs programs for `clingo` over the windows of streams."""
    from thalweg import api

    _fitting(solving, delivery, spread)
    with usage():
        asking = solving.asking(window, spread)
        first, last, _ = timing.ticks()
        asking.check(timing.clock)
        names = signatures_of(solving.inputs, programs)
    if not stream and (first is None or last is None):
        refuse("there is nothing to run on: give a `--stream`, or both `--from` and `--to`")
    asked, facts = api.load_answer_sets(programs, background, names, complain)
    _ask(asked, facts, stream, timing, asking, delivery, solving.report, _executors(spread))


def _fitting(solving: Solving, delivery: Delivery, spread: Spread) -> None:
    if spread.on_spark:
        in_process = {"--workers": solving.workers, "--solver engine": solving.solver == "engine"}
        misfits(in_process, "does not go with `--runtime spark`")
    else:
        misfits(spread.spark_only, "goes with `--runtime spark`")
    if delivery.is_parquet:
        refuse("answer sets are not written as Parquet; write `--out answers.jsonl`")
    if solving.models == "all" and delivery.format != "jsonl":
        form = delivery.format
        refuse(f"several answer sets are written as `--format jsonl`; `{form}` goes with `--models first`")


def _executors(spread: Spread) -> "Callable[[], Solvers] | None":
    if not spread.on_spark:
        return None
    from thalweg.runtimes.spark.crew import SparkCrew

    return partial(SparkCrew, spread.master, spread.buckets, verbose=spread.verbose, jars=spread.jars)


def _ask(
    program: "AspProgram",
    facts: "list[Fact]",
    stream: Sequence[str],
    timing: "Timing",
    asking: "Asking",
    delivery: Delivery,
    report: str | None,
    executors: "Callable[[], Solvers] | None",
) -> None:
    from thalweg import api
    from thalweg.connectors.interrupt import Interrupt
    from thalweg.connectors.open import open_output
    from thalweg.runtimes.emit import spelling
    from thalweg.runtimes.report import Report

    interrupt = Interrupt()
    with interrupt.listen(), Channel(delivery.late) as channel, Channel(report) as told:
        # What goes to the standard output is answers.
        account = Report(told.write if report != "-" else lambda line: print(line, end="", file=sys.stderr))
        with api.ask(
            program,
            stream,
            timing,
            asking,
            facts,
            delivery.on_error,
            channel.write if delivery.late else None,
            complain,
            interrupt,
            account.take if report else lambda solution, shares: None,
            executors,
        ) as job:
            channel.open()
            if report != "-":
                told.open()
            deliver(job, open_output(delivery.out), spelling(delivery.format, timing.clock))
        if report:
            account.finish()
