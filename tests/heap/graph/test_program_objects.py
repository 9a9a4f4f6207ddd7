"""What a program's own variables hold is told apart from what libraries and Python hold."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from gradlife.heap import Snapshot, open_snapshot, program_modules
from gradlife.heap.program_paths import PYTHON
from gradlife.heap.views.overview import program_view
from gradlife.heap.views.program_objects import ProgramObjects
from gradlife.model.heap import HeldVariable
from gradlife.model.trace import Lifetime
from leftovers import run_script

TAKE = "gradlife.snapshot().save('heap.glheap')"
TRAIN = """
import collections, functools, linecache
import gradlife
import gradlife.engine as torch

class Model:
    def __init__(self):
        self.weight = torch.zeros(1000, requires_grad=True)

class Optimizer:
    def __init__(self, weights):
        self.weights = weights

class Trainer:
    kept = []
    def __init__(self):
        self.losses = []
        self.history = {"activations": [], "step": 0}

@functools.lru_cache(None)
def table(size):
    return torch.zeros(3000 + size)

model = Model()
optimizer = Optimizer([model.weight])
trainer = Trainer()
total = torch.zeros(1)
for step in range(50):
    loss = (model.weight * model.weight).sum()
    trainer.losses.append(loss)
    total = total + loss
    trainer.history["activations"].append(torch.zeros(200))
table(1)
Trainer.kept.append(torch.zeros(2000))
"""


@pytest.fixture(scope="module")
def heap(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """The heap of a training script with several holders."""
    return taken(TRAIN + TAKE, tmp_path_factory.mktemp("program"))


def taken(script: str, folder: Path) -> Snapshot:
    run_script(f"import os; os.chdir({str(folder)!r})\n{script}")
    return open_snapshot(folder / "heap.glheap")


def named(snapshot: Snapshot) -> dict[str, HeldVariable]:
    return {row.name: row for row in ProgramObjects(snapshot).rows(20)}


def test_each_row_is_the_part_of_a_variable_that_is_most_of_it(heap: Snapshot) -> None:
    assert {"trainer.losses", "trainer.history['activations']", "Trainer.kept", "table.cache"} <= named(heap).keys()
    assert not {"trainer", "torch", "linecache", "collections"} & named(heap).keys()


def test_what_retains_most_comes_first(heap: Snapshot) -> None:
    rows = ProgramObjects(heap).rows(20)
    assert rows[0].name == "trainer.history['activations']"
    assert [row.object.retained for row in rows] == sorted((row.object.retained for row in rows), reverse=True)


def test_a_row_counts_the_tensors_and_grad_nodes_that_would_go_with_it(heap: Snapshot) -> None:
    row = named(heap)["trainer.history['activations']"]
    assert (row.tensors, row.grad_nodes, row.storages, row.storage_bytes >= 50 * 800) == (50, 0, 50, True)


def test_weights_that_a_model_and_its_optimizer_share_have_a_row_of_their_own(heap: Snapshot) -> None:
    names = named(heap)
    holders = [name for name in ("model", "optimizer", "model.weight", "optimizer.weights") if name in names]
    assert not any(names[name].storage_bytes >= 4000 for name in holders)
    row = names["shared by model, optimizer, trainer and 2 more"]
    assert (row.tensors, row.storages, 4000 <= row.storage_bytes < 5000) == (1, 1, True)


def test_libraries_have_a_line_each_and_the_interpreter_one(heap: Snapshot) -> None:
    rows = {row.name: row for row in ProgramObjects(heap).libraries()}
    assert PYTHON in rows
    assert rows["gradlife"].objects > 1_000
    assert "__main__" not in rows
    assert sum(row.bytes for row in rows.values()) < heap.bytes


def test_a_local_variable_of_a_function_that_runs_is_the_programs(tmp_path: Path) -> None:
    script = "def work():\n    rows = [bytearray(9000) for _ in range(9)]\n    " + TAKE + "\nimport gradlife\nwork()\n"
    assert named(taken(script, tmp_path))["rows in work()"].object.retained >= 81_000


def test_modules_and_classes_are_no_cyclic_part(heap: Snapshot) -> None:
    assert all(step.object != "module" for cycle in heap.cycles(1000) for step in cycle.steps)


def test_cycles_that_look_the_same_are_counted(tmp_path: Path) -> None:
    script = (
        "import gc, gradlife\ngc.disable()\nclass Pair: pass\nfor _ in range(7):\n    one = Pair(); one.itself = one\n"
    )
    view = program_view(taken(f"{script}del one\n{TAKE}", tmp_path), "heap.glheap")
    (row,) = [cycle for cycle in view.cycles if cycle.steps[0].object == "Pair"]
    assert (row.alike, row.lifetime) == (7, Lifetime.GC)


def test_a_file_without_names_says_nothing_of_the_program(heap: Snapshot, tmp_path: Path) -> None:
    heap.save(tmp_path / "x.glheap", labels=False)
    nameless = open_snapshot(tmp_path / "x.glheap")
    assert ("program", "__main__") in heap.notes
    assert ("program", "__main__") not in nameless.notes
    assert ProgramObjects(nameless).rows(8) == ()


def test_packages_of_an_environment_that_this_one_borrows_from_are_not_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As with --system-site-packages: torch's own sources were searched for the line that stores."""
    caches = (program_modules.package_folders_on, program_modules.foreign_folders)
    with monkeypatch.context() as changed:
        changed.setattr("sys.path", [*sys.path, "/opt/base/lib/python3/dist-packages"])
        for cache in caches:
            cache.cache_clear()
        assert not program_modules.is_program("/opt/base/lib/python3/dist-packages/torch/nn/modules/module.py")
        assert program_modules.is_program("/opt/base/lib/python3/train.py")
    for cache in caches:
        cache.cache_clear()


DOCUMENTS = """
import xml.dom.minidom
import gradlife

documents = [xml.dom.minidom.Document()]
documents[0].payload = bytearray(5000)
"""


def test_class_of_a_library_does_not_count_for_the_variable_with_its_first_instance(tmp_path: Path) -> None:
    (row,) = ProgramObjects(taken(DOCUMENTS + TAKE, tmp_path)).rows(20)
    assert (row.name, row.objects) == ("documents[0].payload", 1)
    assert 5000 <= row.object.retained < 6000
