"""The cause of a failure, out of all that Spark says about it: exceptions in exceptions, of Python and of Java.

    Job aborted due to stage failure: Task 0 in stage 3.0 failed 4 times, … (TID 8): org.apache.spark.SparkException: …
        at org.apache.spark.sql.errors.QueryExecutionErrors$.…
    Caused by: java.io.FileNotFoundException: File file:/data/a.parquet does not exist        ◀── this one

Java writes the cause behind its consequences, and so does Python within an exception of Java; so the last exception
that says something is the cause. A diagnostic of a worker is passed on as it is, without its lines of help.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_NAME: Final = r"(?:[A-Za-z_$][\w$]*\.)*[A-Z][\w$]*"
# What Java raised in a call of Python stands behind a colon.
_CAUSED: Final = re.compile(rf"(?:Caused by|): (?P<name>{_NAME})(?:: (?P<message>.*))?")
_RAISED: Final = re.compile(rf"(?P<name>{_NAME})(?:: (?P<message>.*))?")
# A task and its host stand before the exception that it failed with.
_LOST: Final = re.compile(rf".*\(TID \d+\)[^:]*: (?P<name>{_NAME})(?:: (?P<message>.*))?")
_FRAME: Final = re.compile(
    r"\s+(?:at |\.\.\. \d+ )|(?:Driver|JVM) stacktrace:|Suppressed: |SQLSTATE: |=== Streaming Query"
)
_TRACEBACK: Final = "Traceback (most recent call last)"
_CLASS: Final = re.compile(r"^\[[A-Z0-9_.]+\] ")
_STATE: Final = re.compile(r"(?:,? ?SQLSTATE: \w+)+$")
_DIAGNOSTIC: Final = re.compile(r"error\[E\d+\]: .*")


@dataclass(frozen=True, slots=True)
class Raised:
    """An exception: the name of its class, without that of a package, and all lines of its message."""

    name: str
    message: str

    def __str__(self) -> str:
        return f"{self.name}: {self.message}"


def cause_of(text: str) -> str:
    r"""The cause that a text about a failure names, on one line.

    >>> cause_of('''Lost task 0.3 (TID 8) (host): org.x.PythonException: Traceback (most recent call last):
    ...   File "worker.py", line 3, in main
    ...     process()
    ... ValueError: 3 is too many
    ... \tat org.apache.spark.api.python.BasePythonRunner.read(PythonRunner.scala:5)
    ... Driver stacktrace:''')
    'ValueError: 3 is too many'
    >>> cause_of("the connection is closed")
    'the connection is closed'

    Java may notice that a worker is gone only when it sends it something:

    >>> cause_of("Caused by: java.net.SocketException: Connection reset")
    'Python worker exited unexpectedly (Connection reset)'
    """
    if diagnostic := _DIAGNOSTIC.search(text):
        return _plain(diagnostic[0])
    causes = [raised for raised in _exceptions(text) if raised.message]
    if causes and causes[-1].name == "SocketException":
        return f"Python worker exited unexpectedly ({causes[-1].message})"
    if causes:
        return _plain(str(causes[-1]))
    lines = [line.strip() for line in text.splitlines() if line.strip() and not _FRAME.match(line)]
    return _plain(lines[0]) if lines else ""


def _exceptions(text: str) -> Iterator[Raised]:
    """The exceptions of a text in the order in which they are written, without those that only carry others."""
    name, lines, in_traceback = "", list[str](), False
    for line in [*text.splitlines(), ""]:
        start = _start(line, in_traceback)
        if name and (start or not line.strip() or _FRAME.match(line) or _TRACEBACK in line):
            yield Raised(name.rpartition(".")[2], " ".join(lines).strip())
            name = ""
        if _TRACEBACK in line:
            in_traceback = True
        elif start is not None:
            name, lines, in_traceback = start["name"], [start["message"] or ""], False
        elif name:
            lines.append(line.strip())


def _start(line: str, in_traceback: bool) -> "re.Match[str] | None":
    """The beginning of an exception; frames of Python are indented, and the first line that is not raises it."""
    if _TRACEBACK in line:
        return None
    return (in_traceback and _RAISED.fullmatch(line)) or _CAUSED.fullmatch(line) or _LOST.fullmatch(line) or None


def _plain(sentence: str) -> str:
    """A sentence without the marks that Spark puts around it."""
    name, colon, message = sentence.partition(": ")
    marked = _CLASS.sub("", message) if colon else _CLASS.sub("", name)
    return _STATE.sub("", f"{name}{colon}{marked}" if colon else marked).strip()
