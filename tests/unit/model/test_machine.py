"""The limits of a process are found wherever the system keeps them."""

from pathlib import Path

import pytest

from thalweg.model import machine


def test_the_limits_of_groups_are_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = tmp_path / "mount" / "city" / "sensors"
    group.mkdir(parents=True)
    (tmp_path / "cgroup").write_text("0::/city/sensors\n")
    (group / "memory.max").write_text("max\n")
    (group.parent / "memory.max").write_text("123456\n")
    monkeypatch.setattr(machine, "_GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(machine, "_MOUNT", tmp_path / "mount")
    machine.allowed.cache_clear()
    try:
        assert machine.allowed() == 123456
    finally:
        machine.allowed.cache_clear()


def test_groups_of_the_first_version(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    group = tmp_path / "memory" / "city"
    group.mkdir(parents=True)
    (tmp_path / "cgroup").write_text("3:cpu,cpuacct:/\n2:memory:/city\n")
    (group / "memory.limit_in_bytes").write_text("654321\n")
    monkeypatch.setattr(machine, "_GROUPS", tmp_path / "cgroup")
    monkeypatch.setattr(machine, "_MOUNT", tmp_path)
    machine.allowed.cache_clear()
    try:
        assert machine.allowed() == 654321
    finally:
        machine.allowed.cache_clear()
