"""`gradlife why FILE NAME`, `open` and `diff` of a program whose work is in functions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import gradlife
from gradlife.heap import open_snapshot

Gradlife = Callable[..., tuple[int, str, str]]

PROGRAM = """
import sys

class Row:
    def __init__(self, number):
        self.text = str(number) * 30

class Trainer:
    def __init__(self, steps):
        self.steps = steps
        self.losses = []
    def fit(self):
        history = ["x" * 50 for _ in range(40)]
        for number in range(self.steps):
            step(self, number)
        self.check()
    def check(self):
        gradlife.snapshot().save(sys.argv[2])

def step(trainer, number):
    trainer.losses.append(Row(number))

def main():
    history = {number: Row(number) for number in range(60)}
    both = [bytearray(3000)]
    trainer = Trainer(int(sys.argv[1]))
    trainer.both = both
    keeper = {"both": both}
    del both
    unused = lambda: history
    trainer.fit()

import gradlife
main()
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Snapshots of the program after 30 and 90 steps."""
    made: Path = tmp_path_factory.mktemp("names")
    (made / "train.py").write_text(PROGRAM, encoding="utf-8")
    for steps in ("30", "90"):
        ran = subprocess.run(
            [sys.executable, "train.py", steps, f"{steps}.glheap"], cwd=made, timeout=900, env={**os.environ}
        )
        assert ran.returncode == 0
    for steps in ("30", "90"):
        command = [
            "snapshot",
            "-o",
            f"steps{steps}.glheap",
            "--step-on",
            "__main__:step",
            "train.py",
            steps,
            "x.glheap",
        ]
        assert subprocess.run([sys.executable, "-m", "gradlife", *command], cwd=made, timeout=900).returncode == 0
    return made


@pytest.mark.parametrize(
    ("name", "object_", "step"),
    [
        ("history", "dict len 60", "local variable 'history'"),  # the outermost function's first
        ("main.history", "dict len 60", "local variable 'history'"),
        ("Trainer.fit.history", "list len 40", "local variable 'history'"),
        ("fit.history", "list len 40", "local variable 'history'"),
        ("history in Trainer.fit()", "list len 40", "local variable 'history'"),
        ("trainer.losses", "list len 90", ".losses"),
        ("main.trainer.losses[3]", "Row", "[3]"),
        ("history[7].text", "str", ".text"),
        ("losses", "list len 90", ".losses"),
        ("Trainer", "Trainer", "argument 'self'"),
        ("__main__.Trainer", "Trainer", "argument 'self'"),
    ],
)
def test_a_name_is_a_variable_or_what_it_leads_to(folder: Path, name: str, object_: str, step: str) -> None:
    trace = open_snapshot(folder / "90.glheap").why(name)
    assert f"{trace.object} {trace.detail}".strip().startswith(object_)
    assert trace.steps[-2].via == step


def test_a_name_that_is_several_things_says_which_ones(gradlife: Gradlife, folder: Path) -> None:
    file = str(folder / "90.glheap")
    status, output, errors = gradlife("why", file, "history")
    assert (status, errors) == (0, "")
    assert "'history' is here: dict len 60, local variable of main()" in output
    words = " ".join(output.split())
    assert f"also list len 40, local variable of Trainer.fit(): gradlife why {file} Trainer.fit.history" in words
    assert "is here" not in gradlife("why", file, "fit.history")[1]


def test_objects_of_a_type_come_before_its_class(gradlife: Gradlife, folder: Path) -> None:
    output = gradlife("why", str(folder / "90.glheap"), "Row")[1]
    assert output.startswith("Row is held: a root reaches it\n")
    assert "'Row' is here: Row, one of 150 objects of this type" in output
    assert "also type __main__.Row, global variable of __main__" in " ".join(output.split())


def test_what_is_gradlifes_own_is_no_name_of_the_program(gradlife: Gradlife, folder: Path) -> None:
    status, _, errors = gradlife("why", str(folder / "90.glheap"), "OWN_FOLDER")
    assert (status, errors.startswith("gradlife: error: unknown type 'OWN_FOLDER'")) == (2, True)


def test_what_several_variables_hold_has_a_row_of_its_own(gradlife: Gradlife, folder: Path) -> None:
    document = json.loads(gradlife("open", str(folder / "90.glheap"), "--json", "-")[1])
    rows = {row["name"]: row["object"] for row in document["program"]}
    (shared,) = [name for name in rows if name.startswith("shared by ")]
    assert sorted(shared.removeprefix("shared by ").removesuffix(" in main()").split(" and ")) == ["keeper", "trainer"]
    assert rows[shared]["retained"] >= 3000
    assert "trainer.losses in main()" in rows
    assert "history in main()" in rows
    assert rows["trainer.losses in main()"]["retained"] > rows["history in main()"]["retained"]


def test_diff_begins_with_what_each_variable_gained(gradlife: Gradlife, folder: Path) -> None:
    status, output, errors = gradlife("diff", str(folder / "30.glheap"), str(folder / "90.glheap"))
    assert (status, errors) == (0, "")
    assert output.index("What the program's variables gained") < output.index("Held by the program")
    assert "Held by libraries and Python" not in output


def test_diff_has_a_row_for_each_variable_that_changed(folder: Path) -> None:
    before, after = (open_snapshot(folder / f"{steps}.glheap") for steps in ("30", "90"))
    for found in (before.diff(after), gradlife.diff(before, after)):
        (row,) = found.variables
        assert (row.name, row.detail) == ("trainer.losses in main()", "len 90")
        assert row.bytes_before == before.retained(node_of(before, "trainer.losses"))
        assert row.bytes_after == after.retained(node_of(after, "trainer.losses"))
    (back,) = after.diff(before).variables
    assert back.bytes == -row.bytes


def node_of(snapshot: gradlife.heap.Snapshot, name: str) -> int:
    (first, *_) = snapshot.named(name)
    address: int = snapshot._graph.describe(first.node).address
    return address


def test_diff_says_what_a_step_adds(gradlife: Gradlife, folder: Path) -> None:
    files = [str(folder / f"steps{steps}.glheap") for steps in ("30", "90")]
    document = json.loads(gradlife("diff", *files, "--json", "-")[1])
    assert (document["format"], document["steps"]) == ("gradlife.diff/1", [30, 90])
    assert document["moments"][1] == "main() returned, after 90 steps (call of step)"
    assert "a step" in gradlife("diff", *files)[1]


def test_an_object_is_found_in_a_snapshot_just_taken() -> None:
    rows = [bytearray(100)]
    keeper = {"rows": rows}
    found = gradlife.snapshot().find(rows)
    assert (found.object.type, found.object.detail, found.object.address) == ("list", "len 1", id(rows))
    assert {(one.object.type, one.via) for one in found.holders} >= {("dict", "['rows']")}
    assert str(found).startswith("list len 1, retains ")
    assert keeper


def test_an_object_that_is_younger_than_the_snapshot_is_not_found() -> None:
    taken = gradlife.snapshot()

    class Young:
        pass

    with pytest.raises(gradlife.UsageError, match="the Young is not in this snapshot"):
        taken.find(Young())


def test_no_object_is_found_in_the_snapshot_of_another_process(folder: Path) -> None:
    with pytest.raises(gradlife.UsageError, match="of another process"):
        open_snapshot(folder / "30.glheap").find([])
