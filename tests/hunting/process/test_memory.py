"""The memory that a process takes, and its limits."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gradlife.hunting.process.memory_limits import (
    VERSION_2,
    GroupMemory,
    Memory,
    fullest,
    group_limits,
    groups_of_process,
    limits_up,
    system_limit,
    total_memory,
    usage,
)


def test_this_process_takes_some_memory_and_a_gone_one_takes_none() -> None:
    resident, address_space = usage(os.getpid())
    assert 0 < resident <= address_space
    assert usage(2**22 + 1) == (0, 0)


def test_the_limit_is_the_machine_or_less() -> None:
    assert 0 < system_limit() <= total_memory()


def test_the_limits_of_a_group_and_of_all_above_it_count(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "memory.max").write_text("max\n")
    (tmp_path / "a" / "memory.max").write_text("4096\n")
    assert [one.limit for one in limits_up(str(tmp_path), "/a/b", *VERSION_2)] == [4096]


def groups(folder: Path, table: str, **limits: str) -> list[int]:
    """Return the limit that is read on a system with these groups and these files below their mount."""
    (folder / "cgroup").write_text(table)
    for path, text in limits.items():
        file = folder / path.replace("__", "/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.with_name(file.name.replace("_dot_", ".")).write_text(text)
    return list(group_limits(str(folder / "cgroup"), str(folder)))


def test_a_group_of_the_second_version_is_limited_by_itself_and_by_those_above(tmp_path: Path) -> None:
    limits = {"job__step__memory_dot_max": "4096\n", "job__memory_dot_max": "8192\n"}
    assert groups(tmp_path, "0::/job/step\n", **limits) == [4096, 8192]


def test_a_group_of_the_first_version_is_read_under_its_controller(tmp_path: Path) -> None:
    table = "7:cpu,cpuacct:/other\n5:memory,hugetlb:/docker/abc\n0::/\n"
    limits = {"memory__docker__abc__memory_dot_limit_in_bytes": "4096\n", "other__memory_dot_max": "1\n"}
    assert groups(tmp_path, table, **limits) == [4096]


def test_a_container_that_sees_its_own_group_as_the_top_is_limited_by_that(tmp_path: Path) -> None:
    assert groups(tmp_path, "5:memory:/docker/abc\n", memory__memory_dot_limit_in_bytes="4096\n") == [4096]


def test_no_limit_is_read_where_there_is_none_or_no_groups(tmp_path: Path) -> None:
    assert groups(tmp_path, "0::/job\nnonsense\n", job__memory_dot_max="max\n") == []
    assert list(group_limits(str(tmp_path / "none"), str(tmp_path))) == []


def test_a_report_is_due_near_the_limit_and_again_for_each_tenth_more(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = iter([80, 90, 95, 98, 100, 108, 121])
    monkeypatch.setattr("gradlife.hunting.process.memory_limits.usage", lambda pid: (next(taken), 0))
    memory = Memory(limit=100, share=0.9)
    assert [memory.is_time(1) for _ in range(7)] == [False, True, False, False, True, False, True]


def test_a_report_is_due_whenever_memory_has_doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = iter(number << 20 for number in (200, 256, 500, 512, 600))
    monkeypatch.setattr("gradlife.hunting.process.memory_limits.usage", lambda pid: (next(taken), 0))
    memory = Memory(limit=2 << 30)
    assert [memory.is_time(1) for _ in range(5)] == [False, True, False, True, False]


def test_the_import_of_torch_on_a_large_machine_is_no_reason_for_a_report(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = iter(number << 20 for number in (330, 1000, 1024, 2047, 2048))
    monkeypatch.setattr("gradlife.hunting.process.memory_limits.usage", lambda pid: (next(taken), 0))
    memory = Memory(limit=24 << 30)
    assert [memory.is_time(1) for _ in range(5)] == [False, False, True, False, True]


@pytest.mark.parametrize(
    ("table", "limit", "taken", "prefix"),
    [
        ("0::/job\n", "job/memory.max", "job/memory.current", ""),
        ("4:memory:/job\n", "memory/job/memory.limit_in_bytes", "memory/job/memory.usage_in_bytes", "total_"),
    ],
)
def test_the_memory_of_a_group_is_that_of_all_its_processes_without_cached_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, table: str, limit: str, taken: str, prefix: str
) -> None:
    """The limit of the group was compared with one process, although its workers fill the group, too."""
    (tmp_path / "cgroup").write_text(table)
    stat = Path(limit).with_name("memory.stat")
    (tmp_path / stat).parent.mkdir(parents=True)
    for path, text in ((limit, 8 << 30), (taken, 9 << 30), (stat, f"{prefix}inactive_file {1 << 30}\nanon 1\n")):
        (tmp_path / path).write_text(str(text))
    groups = list(groups_of_process(str(tmp_path / "cgroup"), str(tmp_path)))
    assert fullest(groups) == GroupMemory(8 << 30, 8 << 30)
    monkeypatch.setattr("gradlife.hunting.process.memory_limits.groups_of_process", lambda: groups)
    monkeypatch.setattr("gradlife.hunting.process.memory_limits.system_limit", lambda: 8 << 30)
    monkeypatch.setattr("gradlife.hunting.process.memory_limits.usage", lambda pid: (1 << 20, 0))
    memory = Memory()
    assert (memory.is_time(1), memory.words) == (True, "8.0 of 8.0 GiB of its control group")
    assert Memory(limit=8 << 30).is_time(1) is False  # the limit is not the group's


def test_a_group_that_cannot_be_read_takes_nothing(tmp_path: Path) -> None:
    (tmp_path / "memory.max").write_text("4096")
    assert fullest(list(limits_up(str(tmp_path), "/", *VERSION_2))) == GroupMemory()
    assert fullest([]) == GroupMemory()
