"""The verb `run` for answer set programs: a line for each window."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from thalweg.cli.asked import Delivery, Solving, Spread
from thalweg.cli.deliver import Channel, LateLines, deliver
from thalweg.cli.ending import complain, misfits, need_something, refuse, signatures_of, usage

if TYPE_CHECKING:
    from thalweg.api import Job, Text, Timing
    from thalweg.connectors.interrupt import Interrupt
    from thalweg.languages.asp import AspProgram
    from thalweg.model.fact import Fact
    from thalweg.runtimes.answer_sets import Listener
    from thalweg.runtimes.asking import Asking


def run_answer_sets(
    programs: Sequence[Path],
    streams: "list[Text]",
    background: Sequence[Path],
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
        asking = solving.asking(window)
        first, last, _ = timing.ticks()
        asking.check(timing.clock)
        names = signatures_of(solving.inputs, programs)
    need_something(streams, first, last)
    asked, facts = api.load_answer_sets(programs, background, names, complain)
    _ask(asked, facts, streams, timing, asking, delivery, solving.report, spread)


def _fitting(solving: Solving, delivery: Delivery, spread: Spread) -> None:
    if spread.on_spark:
        misfits({"--workers": solving.workers}, "`--runtime spark`", only=False)
    delivery.fit(spread)
    if delivery.is_parquet:
        refuse("answer sets are not written as Parquet; write `--out answers.jsonl`")
    if solving.models == "all" and delivery.format != "jsonl":
        form = delivery.format
        refuse(f"several answer sets are written as `--format jsonl`; `{form}` goes with `--models first`")


def _ask(
    program: "AspProgram",
    facts: "list[Fact]",
    streams: "list[Text]",
    timing: "Timing",
    asking: "Asking",
    delivery: Delivery,
    report: str | None,
    spread: Spread,
) -> None:
    from thalweg import api
    from thalweg.connectors.interrupt import GRACE, Interrupt
    from thalweg.runtimes.report import Report
    from thalweg.runtimes.spark.shutdown import leaving_in_time

    interrupt = Interrupt()
    with interrupt.listen(None if spread.on_spark else GRACE), Channel(report) as told:
        # What goes to the standard output is answers.
        account = Report(told.write if report != "-" else lambda line: print(line, end="", file=sys.stderr))
        listen = account.take if report else lambda solution, answered: None
        open_report = told.open if report != "-" else lambda: None
        if spread.on_spark:
            with leaving_in_time(interrupt):
                api.ask_on_spark(
                    program,
                    streams,
                    timing,
                    spread.place(),
                    spread.buckets,
                    asking=asking,
                    background=facts,
                    on_error=delivery.on_error,
                    out=delivery.out,
                    late=delivery.late,
                    format=delivery.format,
                    report=complain,
                    interrupt=interrupt,
                    listen=listen,
                    ready=open_report,
                )
        else:
            _ask_here(program, facts, streams, timing, asking, delivery, interrupt, listen, open_report)
        if report:
            account.finish()


def _ask_here(
    program: "AspProgram",
    facts: "list[Fact]",
    streams: "list[Text]",
    timing: "Timing",
    asking: "Asking",
    delivery: Delivery,
    interrupt: "Interrupt",
    listen: "Listener",
    ready: Callable[[], None],
) -> None:
    from thalweg import api

    def asked(late: LateLines) -> "Job[Any]":
        return api.ask(program, streams, timing, asking, facts, delivery.on_error, late, complain, interrupt, listen)

    deliver(asked, delivery, timing.clock, interrupt, ready)
