"""Hunts in workers of a DataLoader and of pools: a leak in a worker is found there, and named."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = [
    pytest.mark.whole,
    pytest.mark.skipif(not sys.platform.startswith("linux"), reason="workers are hunted in copies of themselves"),
]

HERE = Path(__file__).parent


def hunted(folder: Path, name: str, *words: str) -> tuple[int, str, dict[str, Any]]:
    """Exit status, standard error, report."""
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "gradlife",
            "hunt",
            "--fail-on",
            "leak",
            "--json",
            "report.json",
            str(HERE / name),
            *words,
        ],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=900,
    )
    return done.returncode, done.stderr, json.loads((folder / "report.json").read_text())


def rows(report: dict[str, Any]) -> list[tuple[str, str, str]]:
    return [(row["workers"], row["verdict"], row["start_method"]) for row in report["workers"]]


@pytest.mark.torch
@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_a_leak_in_a_dataset_is_found_in_the_worker_that_has_it(tmp_path: Path, method: str) -> None:
    status, errors, report = hunted(tmp_path, "loader_program.py", method, "leaks", "160")
    assert (status, report["format"]) == (1, "gradlife.hunt/2")
    assert rows(report) == [("0", "leak", method), ("1", "clean", method)]
    [finding] = [one for one in report["findings"] if one["in_workers"]]
    who = finding["in_workers"]
    assert (who["kind"], who["ranks"], who["world_size"], who["step"]) == ("DataLoader worker", "0", 2, "batch")
    assert any(step["via"].startswith(".seen") for step in finding["trace"]["steps"])
    assert "DataLoader worker 0 of 2 only" in errors


KEEPING = """
import torch
from torch.utils.data import DataLoader

model = torch.nn.Linear(32, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
order = []
for x in DataLoader(torch.randn(1600, 32), batch_size=8, num_workers=1):
    optimizer.zero_grad()
    model(x).square().mean().backward()
    optimizer.step()
    order.append(x)
"""


@pytest.mark.torch
def test_a_report_to_which_workers_add_nothing_is_shown_once(tmp_path: Path) -> None:
    """It was shown when it was known and again when the worker had ended."""
    (tmp_path / "keeping.py").write_text(KEEPING)
    status, errors, report = hunted(tmp_path, str(tmp_path / "keeping.py"))
    assert (status, errors.count("LEAK"), rows(report)) == (1, 1, [("0", "clean", "fork")])


@pytest.mark.torch
def test_persistent_workers_are_hunted_over_epochs(tmp_path: Path) -> None:
    status, _, report = hunted(tmp_path, "loader_program.py", "fork", "leaks", "80", "persistent")
    assert (status, rows(report)[0]) == (1, ("0", "leak", "fork"))


@pytest.mark.torch
def test_memory_that_workers_copy_by_reading_is_explained_and_no_leak(tmp_path: Path) -> None:
    status, errors, report = hunted(tmp_path, "loader_program.py", "fork", "reads", "160")
    assert (status, report["verdict"], rows(report)) == (0, "clean", [("0-1", "clean", "fork")])
    copied = report["workers"][0]["copied"]
    assert (copied["holder"], copied["items"]) == ("dataset.names", 400_000)
    assert copied["bytes"] > 5_000_000
    assert "each read writes a reference count" in " ".join(errors.split())


@pytest.mark.parametrize("kind", ["pool", "executor"])
@pytest.mark.parametrize("what", ["leaks", "clean"])
def test_workers_of_pools_are_hunted_by_their_tasks(tmp_path: Path, kind: str, what: str) -> None:
    status, _, report = hunted(tmp_path, "pool_program.py", kind, what)
    assert (status, report["verdict"]) == ((1, "leak") if what == "leaks" else (0, "clean"))
    found = [one["in_workers"] for one in report["findings"] if one["in_workers"]]
    assert [(one["kind"], one["step"]) for one in found] == ([(f"{kind} worker", "task")] if what == "leaks" else [])


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver", "subprocess", "terminated"])
def test_a_leak_in_a_process_of_its_own_is_found_there(tmp_path: Path, method: str) -> None:
    status, _, report = hunted(tmp_path, "processes_program.py", method, "leaks")
    started = {"subprocess": "exec", "terminated": "fork"}.get(method, method)
    assert (status, rows(report)) == (1, [("0", "leak", started)])
    [finding] = report["findings"]
    kind = "subprocess" if method == "subprocess" else "process"
    assert (finding["in_workers"]["kind"], finding["in_workers"]["step"]) == (kind, "step")
    assert finding["stored_at"]["source"] == "kept.append(found)"


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_a_process_that_keeps_nothing_is_clean(tmp_path: Path, method: str) -> None:
    status, _, report = hunted(tmp_path, "processes_program.py", method, "clean")
    assert (status, report["verdict"], rows(report)) == (0, "clean", [("0", "clean", method)])
