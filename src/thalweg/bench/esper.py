"""Esper beside: the same pattern over the same events in a JVM. Its jars are fetched for measuring, and only for that.

Esper is free software under the GPL, version 2; nothing of it is part of Thalweg, and nothing here links to it.
"""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

from thalweg.bench.keyed_events import WITHIN, Matched, drawn

VERSION: Final = "8.9.0"
_SOURCE: Final = Path(__file__).with_name("EsperPatterns.java")
# A bound of Esper's excludes its end: half a tick more includes it, and nothing else.
_EPL: Final = (
    f"select a.id as begins, b.id as ends from pattern [every a=A -> (b=B(k=a.k) where timer:within({WITHIN}.5 sec))]"
)
_POM: Final = f"""<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>
<groupId>measured</groupId><artifactId>measured</artifactId><version>1</version><dependencies>
<dependency><groupId>com.espertech</groupId><artifactId>esper-compiler</artifactId><version>{VERSION}</version></dependency>
<dependency><groupId>com.espertech</groupId><artifactId>esper-runtime</artifactId><version>{VERSION}</version></dependency>
</dependencies></project>
"""


def cache() -> Path:
    """Where the jars are kept between two runs."""
    return Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "thalweg" / f"esper-{VERSION}"


def jars() -> Path | str:
    """The folder of the jars, which Maven fetches once; or why there is none."""
    if shutil.which("java") is None or shutil.which("javac") is None:
        return "there is no Java compiler"
    folder = cache()
    if folder.is_dir():
        return folder
    if shutil.which("mvn") is None:
        return "there is no Maven to fetch it with"
    with tempfile.TemporaryDirectory() as place:
        Path(place, "pom.xml").write_text(_POM)
        command = ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={place}/jars"]
        fetched = subprocess.run(command, cwd=place, capture_output=True, text=True, timeout=600)
        if fetched.returncode != 0:
            return "Maven could not fetch it"
        folder.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(Path(place, "jars"), folder)
    return folder


def _run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=900)


def by_esper(count: int) -> Matched | str:
    """Esper's matches and its rate; or why it could not be measured."""
    try:
        folder = jars()
        if isinstance(folder, str):
            return folder
        with tempfile.TemporaryDirectory() as place:
            stream = Path(place, "events.txt")
            with stream.open("w") as file:
                file.writelines(f"{tick} {kind} {key}\n" for tick, kind, key in drawn(count))
            ran = _run(["javac", "-cp", f"{folder}/*", "-d", place, str(_SOURCE)])
            if ran.returncode == 0:
                classes = f"{folder}/*{os.pathsep}{place}"
                ran = _run(["java", "-Xmx3g", "-cp", classes, _SOURCE.stem, str(stream), _EPL])
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"it could not be run: {error}"
    if ran.returncode != 0:
        errors = [line for line in ran.stderr.splitlines() if "xception" in line or "rror" in line]
        return f"it failed: {errors[0] if errors else ran.returncode}"
    matches, seconds = ran.stdout.split()
    return Matched(f"Esper {VERSION}", count, int(matches), count / float(seconds))
