"""A slice of `make layouts`: a PyTorch that can be read only in part leads to no wrong finding, and every report says so."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.hardening import layouts
from benchmarks.hardening.layouts import GONE, MOVED, Row
from gradlife.model.hunt import HuntVerdict

pytest.importorskip("torch")
pytestmark = [
    pytest.mark.torch,
    pytest.mark.whole,
    pytest.mark.skipif(sys.platform != "linux", reason="a hunt of another system sees less"),
]

TRAIN = Path(__file__).parents[2] / "docs/examples/train.py"

#: Begins a program on a PyTorch whose class of grad nodes has another name.
RENAMED = "from gradlife.heap.torch_layout import fields\nfields.CLASSES['node_class'] = 'torch::autograd::Renamed'\n"
SAID = "15 of 69 kinds of references and fields in C++ were not found; holders in C++ may be missing"


@pytest.fixture
def train(tmp_path: Path) -> Path:
    path = tmp_path / "train.py"
    path.write_text(RENAMED + TRAIN.read_text())
    return path


def gradlife(*args: object, folder: Path) -> tuple[int, str]:
    command = [sys.executable, "-m", "gradlife", *map(str, args)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=300, check=False)
    return done.returncode, " ".join((done.stdout + done.stderr).split())


@pytest.fixture(scope="module")
def known() -> list[Row]:
    return layouts.rows_of("", GONE)


def test_programs_are_judged_rightly_on_the_whole_layout(known: list[Row]) -> None:
    found = {one.program: (one.verdict, *one.codes) for one in known}
    assert found == {
        "losses": ("leak", "GL402"),
        "contexts": ("leak", "GL102"),
        "hidden_state": ("leak", "GL404"),
        "hooks": ("leak", "GL355"),
        "training": ("clean",),
        "bounded_graphs": ("clean",),
    }


@pytest.mark.parametrize(("field", "how"), [("hooks_in_meta", GONE), ("edges_in_node", MOVED)])
def test_no_finding_rests_on_a_field_that_could_not_be_read(known: list[Row], field: str, how: str) -> None:
    assert list(layouts.wrong(field, layouts.rows_of(field, how, ("hooks", "training")), known)) == []


def test_a_wrong_accusation_is_noticed(known: list[Row]) -> None:
    rows = [Row(one.program, HuntVerdict.LEAK.value, ("GL801",), ("next edges",)) for one in known]
    assert "training: accused of GL801, it is clean" in list(layouts.wrong("edges_in_node", rows, known))


def test_a_report_that_does_not_say_what_is_missing_is_noticed(known: list[Row]) -> None:
    assert "training: its report does not say that 'next edges' was not found" in list(
        layouts.wrong("edges_in_node", known, known)
    )


def test_hunt_cannot_tell_where_grad_nodes_cannot_be_read(train: Path) -> None:
    status, text = gradlife("hunt", "train.py", "--json", "report.json", folder=train.parent)
    assert status == 3
    assert f"could not tell train.py: PyTorch {layouts.version()}: {SAID}" in text
    assert "Seen: trainer.losses: each step appends to a list" in text
    assert "Try: gradlife doctor" in text
    assert "native code" not in text
    document = json.loads((train.parent / "report.json").read_text())
    assert document["verdict"] == "inconclusive"
    assert document["unread"]["withheld"] == 2
    assert "next edges" in document["unread"]["kinds"]
    assert document["limits"][0].startswith(f"of PyTorch {layouts.version()}: ")


def test_peak_says_that_grad_nodes_cannot_be_read(train: Path) -> None:
    _, text = gradlife("peak", "train.py", folder=train.parent)
    assert SAID in text


def test_plugin_says_that_grad_nodes_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(RENAMED)
    (tmp_path / "test_it.py").write_text(
        "import torch\nkept = []\ndef test_that_keeps_a_tensor():\n    kept.append(torch.ones(1000))\n"
    )
    command = [sys.executable, "-m", "pytest", "--leaks", "-p", "no:cacheprovider", str(tmp_path)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 1
    assert SAID in " ".join(done.stdout.split())
