"""How much memory a process takes and may take."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gradlife.hunting.memory import Memory, limits_up, system_limit, total_memory, usage


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
    assert list(limits_up(str(tmp_path), "/a/b", "memory.max")) == [4096]


def test_stock_is_taken_near_the_limit_and_again_for_each_tenth_more(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = iter([80, 90, 95, 98, 100, 108, 121])
    monkeypatch.setattr("gradlife.hunting.memory.usage", lambda pid: (next(taken), 0))
    memory = Memory(limit=100, share=0.9)
    assert [memory.is_time(1) for _ in range(7)] == [False, True, False, False, True, False, True]


def test_stock_is_taken_whenever_memory_has_doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = iter(number << 20 for number in (200, 256, 500, 512, 600))
    monkeypatch.setattr("gradlife.hunting.memory.usage", lambda pid: (next(taken), 0))
    memory = Memory(limit=1 << 40)
    assert [memory.is_time(1) for _ in range(5)] == [False, True, False, True, False]
