"""Every case page and random plans of several kinds, from recordings of each format that tasks read: as in one process.

They are cut into partitions, files, batches and blocks in several ways (`recorded_pages.CUTS`).
"""

import os
import subprocess
import sys
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from case_pages import PAGES, cases_of
from properties.test_several_kinds import INPUTS, LAST, cases, options, sources
from recorded_formats import FORMATS, write_recordings
from recorded_pages import CUTS, Cut, answered
from thalweg import api
from thalweg.answers.jsonl import lines
from thalweg.ir.nodes import Program
from thalweg.kinds.part import Part
from thalweg.model.event import Event

# Pages and random programs show what is warned about, too.
pytestmark = pytest.mark.filterwarnings("ignore::thalweg.ThalwegWarning")


def in_one_process(program: Program | Part, streams: list[Path], first: int, last: int, emit: str) -> list[str]:
    part = api.load_part([program], []) if isinstance(program, Program) else program
    how = api.RunOptions(api.Timing(first=first, last=last), emit)
    with api.start(part, streams, how, api.Observer(lambda _: None)) as job:
        return [line for answer in job.pieces() if answer is not None for line in lines(answer)]


def check(
    folder: Path,
    program: Program | Part,
    events: tuple[Event, ...],
    suffix: str,
    cut: Cut,
    first: int,
    last: int,
    emit: str = "changes",
) -> None:
    folder.mkdir()
    streams = write_recordings(folder, suffix, events, cut.files)
    timing: dict[str, Any] = {"first": first, "last": last, "emit": emit}
    assert answered(folder, program, streams, cut, **timing) == in_one_process(program, streams, **timing)


@pytest.mark.parametrize(("page", "suffix", "cut"), [*zip(PAGES, cycle(FORMATS), cycle(CUTS), strict=False)])
def test_a_case_of_each_page(page: str, suffix: str, cut: Cut, tmp_path: Path) -> None:
    case = cases_of(page)[-1]
    check(tmp_path / "case", case.program, case.events, suffix, cut, case.first, case.last)


@pytest.mark.slow
@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize("page", PAGES)
def test_every_case(page: str, suffix: str, tmp_path: Path) -> None:
    for number, case in enumerate(cases_of(page)):
        for cut in CUTS:
            folder = tmp_path / f"{number} {cut.partitions}"
            check(folder, case.program, case.events, suffix, cut, case.first, case.last)


@given(cases(), st.sampled_from(FORMATS), st.sampled_from(CUTS))
def test_random_plans_of_several_kinds(tmp_path_factory, case, suffix, cut):
    part = api.load_part(sources(case), solving=options(case), inputs=INPUTS, report=lambda _: None)
    check(tmp_path_factory.mktemp("kinds") / "case", part, case.events, suffix, cut, 0, LAST, case.emit)


def test_what_tasks_send_is_the_same_in_every_process() -> None:
    """A batch that is tried again, by another process, packs the same bytes: nothing goes by the order of a set."""
    script = "from recorded_pages import packed_bytes; print(packed_bytes())"
    digests = [
        subprocess.run(
            [sys.executable, "-W", "ignore", "-c", script],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    ]
    assert len({*digests}) == 1
