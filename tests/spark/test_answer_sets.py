"""Answer sets on Spark: the same answers, and failures that can be read."""

from typing import TYPE_CHECKING

import pytest

from thalweg.api import Timing, ask
from thalweg.diagnostics import Failed, Source
from thalweg.runtimes.answer_sets import Inputs, Windowed
from thalweg.runtimes.asking import Asking
from thalweg.runtimes.embedded import Embedded, Settings
from thalweg.runtimes.inputs import Values
from thalweg.runtimes.solving import Solving
from thalweg.runtimes.spark.crew import SparkCrew
from thalweg.runtimes.windows import Frame
from thalweg.solvers.clingo import Task
from thalweg.solvers.programs import read_program

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PROGRAM = """
jam(R) :- slow(R), many(R), not light(R).
fire(R) :- smoke(C), at(C,R).
1 { send(C) : crew(C) } 1.
"""
EVENTS = [
    (tick, [f"slow(r{tick})", f"many(r{tick})", f"light(r{tick % 3})", "smoke(c1)", f"at(c1,r{tick})", "crew(x)"])
    for tick in range(8)
]


@pytest.fixture
def crew(session: "SparkSession") -> SparkCrew:
    found = SparkCrew("local[2]", 2)
    found._session = session
    return found


def test_the_answers_are_those_of_this_machine(crew: SparkCrew) -> None:
    program, _ = read_program(Source("city.lp", PROGRAM))
    windowed = Windowed(Solving(program, crew, "all", buckets=2, spread_from=0), Inputs(program), Frame(3, 2))
    there = [str(piece) for piece in Embedded(windowed, Settings(), emitter=windowed).answers(
        Values(EVENTS, windowed.dictionary)
    ) if piece is not None]  # fmt: skip
    with ask(program, EVENTS, Timing(), Asking("all", 3, 2, workers=0)) as job:
        assert there == [str(piece) for piece in job.pieces() if piece is not None]
    assert len(there) == 3


def test_a_limit_holds_on_executors_and_what_clingo_says_comes_back(crew: SparkCrew) -> None:
    endless, quick = crew.solve([Task("n(0). n(X+1) :- n(X).", limit=0.3), Task("a.", limit=9.0)])
    assert (endless.complete, quick.answers) == (False, (("a",),))
    with pytest.raises(Failed, match="unsafe"):
        crew.solve([Task("a(X).")])
