"""Spark's home without zipped sources, and the archive of Java's classes."""

import os
from pathlib import Path
from time import monotonic, sleep

import pytest

pytest.importorskip("pyspark")

from thalweg.runtimes.spark import startup
from thalweg.runtimes.spark.java import Java
from thalweg.runtimes.spark.startup import ClassArchive, is_small, linked_home


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    home = tmp_path / "pyspark"
    for part in ("bin", "jars", "python/lib"):
        (home / part).mkdir(parents=True)
    (home / "__init__.py").touch()
    (home / "jars" / "spark.jar").touch()
    monkeypatch.setattr(startup, "cache_directory", lambda: tmp_path)
    linked_home.cache_clear()
    return home


def test_all_that_java_needs_is_there_and_the_zip_is_not(installed: Path) -> None:
    home = linked_home(installed)
    assert home != installed
    assert (home / "jars" / "spark.jar").exists()
    assert sorted(part.name for part in home.iterdir()) == ["bin", "jars"]
    linked_home.cache_clear()
    assert linked_home(installed) == home


def test_where_no_links_can_be_made_the_home_is_used_as_it_is(
    installed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(startup, "cache_directory", lambda: tmp_path / "nowhere")
    assert linked_home(installed) == installed


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClassArchive:
    """The archive of a script that writes its arguments in place of an archive."""
    java = tmp_path / "jdk" / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text(
        '#!/bin/sh\nfor each do case $each in -XX:SharedArchiveFile=*) echo "$@" >"${each#*=}";; esac; done\n'
    )
    java.chmod(0o755)
    monkeypatch.setattr(startup, "kept_directory", lambda: tmp_path)
    return archive_of(tmp_path, "17.0.1+1")


def archive_of(folder: Path, build: str) -> ClassArchive:
    found = ClassArchive.of(Java(folder / "jdk", 17, build, True), folder / "pyspark")
    assert found is not None
    return found


def ran(archive: ClassArchive, classes: str) -> None:
    """Writes the list that Java would write."""
    name, _, file = archive.options.partition("=")
    assert name == "-XX:DumpLoadedClassList"
    Path(file).write_text(classes)


def test_the_first_run_lists_its_classes_and_later_ones_have_an_archive(archive: ClassArchive) -> None:
    ran(archive, "java/lang/Object\norg/apache/spark/TransformWithStateInPySparkStateServer\n")
    archive.make("a.jar:b.jar")
    until = monotonic() + 60
    while not archive.file.exists() and monotonic() < until:
        sleep(0.02)
    assert archive.file.read_text().startswith("-Xshare:dump -XX:SharedClassListFile=")
    assert archive.file.read_text().endswith(" -cp a.jar:b.jar\n")
    assert archive.options == f"-XX:SharedArchiveFile={archive.file} -Xlog:cds=off"
    assert not list(archive.stem.parent.glob("*.draft"))


def test_a_list_without_the_classes_of_a_query_is_not_used(archive: ClassArchive) -> None:
    ran(archive, "java/lang/Object\n")
    archive.make("a.jar")
    assert not list(archive.stem.parent.glob("classes-*"))
    assert archive.options.startswith("-XX:DumpLoadedClassList=")


def test_what_could_not_be_made_is_tried_again_another_day(archive: ClassArchive) -> None:
    archive.java.write_text("#!/bin/sh\nexit 1\n")
    ran(archive, "TransformWithStateInPySparkStateServer")
    archive.make("a.jar")
    assert archive.options == ""
    os.utime(archive.stem.with_suffix(".list"), (1, 1))
    assert archive.options.startswith("-XX:DumpLoadedClassList=")


def test_archives_of_versions_that_nobody_uses_any_more_are_dropped(archive: ClassArchive) -> None:
    for age in range(4):
        old = archive.stem.with_name(f"classes-{age}.jsa")
        old.touch()
        os.utime(old, (age, age))
    ran(archive, "TransformWithStateInPySparkStateServer")
    archive.make("a.jar")
    kept = {path.name for path in archive.stem.parent.glob("classes-?.jsa")}
    assert kept <= {"classes-2.jsa", "classes-3.jsa"}


def test_another_build_of_java_has_another_archive(archive: ClassArchive, tmp_path: Path) -> None:
    assert archive_of(tmp_path, "17.0.2+8").file != archive.file


def test_where_nothing_is_kept_there_is_no_archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(startup, "kept_directory", lambda: None)
    assert ClassArchive.of(Java(tmp_path / "jdk", 17, "17.0.1+1", True), tmp_path / "pyspark") is None


def test_only_files_are_small(tmp_path: Path) -> None:
    little, much = tmp_path / "little.facts", tmp_path / "much.facts"
    little.write_bytes(b"p at 1.")
    with much.open("wb") as file:
        file.truncate(startup._SMALL)
    assert is_small([])
    assert is_small([little])
    assert is_small([much])
    assert not is_small([little, much])
    assert not is_small([tmp_path])
    assert not is_small(["-"])
