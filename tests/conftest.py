"""How hard the property tests try: the same cases every time, a few of them in a quick run, and in a slow one
thousands of new ones.

`pytest -m slow` runs the property tests too, at length. A failure prints the line that repeats it.
"""

import gc
import os
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING

import pytest
import typer.testing
from hypothesis import HealthCheck, Phase, settings

from thalweg.solvers.dl import hermit

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytest_plugins = ["brokers"]

# Scripts, with what they need.
collect_ignore = ["counts.py", "golden_bytes.py", "golden_faults.py", "golden_plans.py", "walks.py"]

# Random programs are large as examples go; what is slow here is the naive interpreter, and it is meant to be.
_PATIENT = {
    "deadline": None,
    "print_blob": True,
    "suppress_health_check": list(HealthCheck),
    "phases": set(Phase) - {Phase.explain},
}
# What tests of Spark and of brokers share takes long to start: they stand together, where one process takes them. They
# begin first, so that at the end nobody waits for one. A process with nothing left to do takes over the end of what
# another one has to do, so those that share nothing stand behind the others.
_SHARED = ("session", "kafka", "mosquitto")

# For every Java that a test starts: it does not run for long enough to be worth optimising. One that serves all tests
# compiles more than fits into the small cache that comes with that, and would throw code away and compile it again.
os.environ.setdefault(
    "SPARK_SUBMIT_OPTS",
    "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:ReservedCodeCacheSize=240m -XX:MetaspaceSize=256m",
)

# The command is built once, and not again for every test that runs it.
typer.testing._get_command = cache(typer.testing._get_command)

settings.register_profile("quick", settings(max_examples=8, derandomize=True, **_PATIENT))
settings.register_profile("usual", settings(max_examples=15, derandomize=True, **_PATIENT))
settings.register_profile("slow", settings(max_examples=5_000, derandomize=False, **_PATIENT))


def pytest_configure(config: pytest.Config) -> None:
    # What is imported and collected stays: to search it for garbage again and again takes a sixth of a run.
    gc.disable()
    if not config.getoption("--hypothesis-profile"):
        settings.load_profile("slow" if config.getoption("markexpr") == "slow" else "usual")


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.set_threshold(10_000)
    gc.enable()


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """What tests have to say beyond whether they pass, such as how many inputs they tried and from which seed."""
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            for name, value in report.user_properties:
                if name == "summary":
                    terminalreporter.write_line(str(value))


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    for item in items:
        if config.getoption("markexpr") == "slow" and _is_property(item):
            item.add_marker(pytest.mark.slow)
        if "tests/spark/" in item.nodeid:
            item.add_marker(pytest.mark.spark)
        if {"kafka", "mosquitto"} & set(getattr(item, "fixturenames", ())):
            item.add_marker(pytest.mark.broker)
        if item.get_closest_marker("hermit") and not hermit.is_installed():
            item.add_marker(pytest.mark.skip(reason="needs HermiT"))
    items.sort(key=_place)


def _is_property(item: pytest.Item) -> bool:
    return "tests/properties" in item.nodeid or getattr(getattr(item, "obj", None), "is_hypothesis_test", False)


def _place(item: pytest.Item) -> int:
    if not any(item.get_closest_marker(name) for name in ("spark", "broker")):
        return len(_SHARED) + 1
    shared = [place for place, name in enumerate(_SHARED) if name in getattr(item, "fixturenames", ())]
    return min(shared, default=len(_SHARED))


@pytest.fixture(scope="session")
def session() -> "Iterator[SparkSession]":
    """A session of Spark for all tests of a process that need one."""
    pytest.importorskip("pyspark")
    from thalweg.runtimes.spark.session import open_session, stop_session

    opened = open_session("local[2]", 2)
    yield opened
    stop_session(opened)


@pytest.fixture
def in_session(session: "SparkSession") -> Iterator[None]:
    """Runs on Spark in this process take the session that is open, and leave it so."""
    from spark.commands import taken

    with taken(session):
        yield
