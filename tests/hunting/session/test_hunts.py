"""Whole hunts as a user starts them, each in processes of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch")

LEAKING = """\
import sys
import torch

print("arguments", sys.argv[1:])
weight = torch.ones(4, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
history = []
for number in range(60):
    loss = (weight * number).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    history.append(loss)
sys.exit(int(sys.argv[1]))
"""

IN_A_FUNCTION = """\
import sys
import torch

def train(steps):
    weight = torch.ones(4, requires_grad=True)
    optimizer = torch.optim.SGD([weight], lr=0.1)
    history = []
    for number in range(steps):
        loss = (weight * number).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss)

def main():
    train(int(sys.argv[1]))
    assert sys.getprofile() is None or sys.argv[1] in {"20", "27"}

main()
"""

TWO_PHASES = """\
import sys
import torch

weight = torch.ones(4, requires_grad=True)
kept = {"first": [], "second": []}

def train(optimizer, steps, phase):
    for number in range(steps):
        loss = (weight * number).sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if sys.argv[1] == phase:
            kept[phase].append(loss)

pretraining, tuning = torch.optim.SGD([weight], lr=0.1), torch.optim.Adam([weight], lr=0.1)
train(pretraining, 60, "first")
train(tuning, 160, "second")
"""

FUNCTIONS = """\
import torch

def setup():
    return {"kept": [], "last": None}

def step(state, number):
    state["kept"].append(torch.ones(16))

def fixed_step(state, number):
    state["last"] = torch.ones(16)
"""


def hunt(folder: Path, source: str, target: str, *arguments: str) -> tuple[int, str, dict[str, Any]]:
    """Exit status, what was printed, and the report."""
    (folder / "program.py").write_text(source)
    command = [sys.executable, "-m", "gradlife", "hunt", "--json", "report.json", target, *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=900, check=False)
    return done.returncode, done.stdout, json.loads((folder / "report.json").read_text())


@pytest.mark.whole
def test_a_script_with_a_leak_keeps_its_output_and_is_reported_its_holder(tmp_path: Path) -> None:
    status, printed, report = hunt(tmp_path, LEAKING, "program.py", "0")
    assert (status, report["verdict"], report["script_status"]) == (1, "leak", 0)
    assert printed == "arguments ['0']\n"
    assert report["stepped_by"] == "SGD.step"
    assert "history" in json.dumps(report["findings"][0]["trace"]["steps"])


@pytest.mark.whole
def test_a_script_that_fails_keeps_its_own_status(tmp_path: Path) -> None:
    status, _, report = hunt(tmp_path, LEAKING, "program.py", "7")
    assert (status, report["script_status"], report["verdict"]) == (7, 7, "leak")


@pytest.mark.whole
@pytest.mark.parametrize("phase", ["first", "second"])
def test_of_two_phases_with_their_own_optimizers_either_leak_is_found(phase: str, tmp_path: Path) -> None:
    status, _, report = hunt(tmp_path, TWO_PHASES, "program.py", phase)
    assert (status, report["verdict"], report["stepped_by"]) == (1, "leak", "SGD.step")
    assert f"'{phase}'" in json.dumps(report["findings"][0]["trace"]["steps"])


@pytest.mark.whole
@pytest.mark.parametrize("steps", ["20", "27", "40", "119", "150"])
def test_what_a_function_of_a_script_held_is_reported_when_it_has_returned(tmp_path: Path, steps: str) -> None:
    status, _, report = hunt(tmp_path, IN_A_FUNCTION, "program.py", steps)
    assert (status, report["verdict"]) == (1, "leak")
    assert "local variable 'history'" in json.dumps(report["findings"][0]["trace"]["steps"])
    assert all(control["is_right"] for control in report["controls"])


@pytest.mark.whole
def test_a_function_that_keeps_a_tensor_each_step_leaks_one_a_step(tmp_path: Path) -> None:
    status, _, report = hunt(tmp_path, FUNCTIONS, "program.py::step")
    assert (status, report["verdict"], len(report["findings"])) == (1, "leak", 1)
    assert report["findings"][0]["kind"] == "growth"
    assert round(report["findings"][0]["per_step"]["tensors"], 1) == 1.0
    assert all(control["is_right"] for control in report["controls"])


@pytest.mark.whole
def test_its_fixed_twin_is_clean(tmp_path: Path) -> None:
    status, _, report = hunt(tmp_path, FUNCTIONS, "program.py::fixed_step")
    assert (status, report["verdict"], report["findings"]) == (0, "clean", [])
    assert all(control["is_right"] for control in report["controls"])


TRUNCATED = """\
import torch


class Trainer:
    def __init__(self):
        self.cell = torch.nn.RNNCell(16, 64)
        self.head = torch.nn.Linear(64, 1)
        self.optimizer = torch.optim.SGD(self.head.parameters(), lr=0.01)
        self.state = torch.zeros(256, 64)

    def step(self, number):
        self.state = self.cell(torch.randn(256, 16), self.state)
        loss = self.head(self.state.detach()).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        if number % 6 == 5:
            self.state.sum().backward()
            self.state = self.state.detach()


trainer = Trainer()
for number in range(150):
    trainer.step(number)
"""


@pytest.mark.whole
def test_back_propagation_that_cuts_its_graph_every_six_steps_is_explained_with_the_period(tmp_path: Path) -> None:
    status, _, report = hunt(tmp_path, TRUNCATED, "program.py")
    assert (status, report["verdict"], report["findings"]) == (0, "clean", [])
    (kept,) = [one for one in report["explained"] if one["kind"] == "kept for some steps"]
    assert kept["what"].endswith(".state: let go every 6 steps, and taken again")


CONTEXTS_KEPT = """\
import torch
from torch.nn import functional

class Scale(torch.autograd.Function):
    {declared}
    @staticmethod
    def forward(ctx, batch):
        {first}
        ctx.save_for_backward(batch)
        return batch * 2
    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2

model = torch.nn.Linear(8, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
calls = []
for _ in range(150):
    optimizer.zero_grad()
    scaled = Scale.apply(model(torch.ones(2, 8)))
    loss = functional.cross_entropy(scaled, torch.tensor([0, 1]))
    loss.backward()
    {last}
    optimizer.step()
"""


@pytest.mark.whole
@pytest.mark.parametrize(
    ("declared", "first", "last", "name"),
    [
        ("calls = []", "Scale.calls.append(ctx)", "pass", "Scale"),
        ("pass", "pass", "calls.append(scaled.grad_fn)", "calls"),
        ("pass", "calls.append(ctx)", "pass", "calls"),
    ],
)
def test_nodes_in_a_list_are_a_leak_where_a_variable_has_the_newest_too(
    tmp_path: Path, declared: str, first: str, last: str, name: str
) -> None:
    """The step under way has the newest by its result; that the script's variables hold that says nothing of the others."""
    source = CONTEXTS_KEPT.format(declared=declared, first=first, last=last)
    status, _, report = hunt(tmp_path, source, "program.py")
    assert (status, report["verdict"]) == (1, "leak")
    assert [finding["code"] for finding in report["findings"]] == ["GL105"]
    assert f"global variable '{name}'" in json.dumps(report["findings"][0]["trace"]["steps"])
    assert round(report["findings"][0]["per_step"]["graph_nodes"]) == 3


WITHOUT_OPTIMIZER = """\
import torch

weight = torch.ones(64, requires_grad=True)
kept = []

def meta_step(number):
    loss = (weight * number).sum()
    loss.backward()
    with torch.no_grad():
        weight.sub_(0.1 * weight.grad)
    weight.grad = None
    kept.append(loss)

for number in range(60):
    meta_step(number)
"""


@pytest.mark.whole
def test_without_an_optimizer_a_step_is_a_backward_pass(tmp_path: Path) -> None:
    status, _, report = hunt(tmp_path, WITHOUT_OPTIMIZER, "program.py")
    assert (status, report["stepped_by"]) == (1, "backward pass")
    assert [one["code"] for one in report["findings"]] == ["GL402"]


@pytest.mark.whole
def test_calls_of_a_named_function_are_steps(tmp_path: Path) -> None:
    source = WITHOUT_OPTIMIZER.replace("loss.backward()", "weight.grad = torch.ones(64)")
    status, _, report = hunt(tmp_path, source, "--step-on=__main__:meta_step", "program.py")
    assert (status, report["verdict"]) == (1, "leak")


IN_CYCLES = """\
import torch

class Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        out = x * 2
        ctx.keep = {"out": out}
        return out

    @staticmethod
    def backward(ctx, grad):
        return grad * 2

weight = torch.ones(64, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for number in range(60):
    loss = Scale.apply(weight).sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""


@pytest.mark.whole
def test_a_script_of_sixty_steps_shows_what_waits_for_the_collector(tmp_path: Path) -> None:
    status, _, report = hunt(tmp_path, IN_CYCLES, "program.py")
    assert (status, report["verdict"]) == (0, "needs-gc")
    assert [(one["code"], one["kind"]) for one in report["findings"]] == [("GL101", "needs-gc")]


@pytest.mark.whole
def test_a_script_that_ends_before_the_collector_rested_is_looked_at_in_its_last_steps(tmp_path: Path) -> None:
    _, _, report = hunt(tmp_path, IN_CYCLES.replace("range(60)", "range(26)"), "program.py")
    assert (report["verdict"], [one["kind"] for one in report["findings"]]) == ("needs-gc", ["needs-gc"])


CHAINED = """\
import torch

net = torch.nn.Linear(8, 8)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
state = torch.zeros(2, 8)
for number in range(60):
    new = torch.tanh(net(state.detach()))
    new.origin = state
    loss = new.sum()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    state = new
"""


@pytest.mark.whole
def test_a_chain_by_an_attribute_is_named_by_its_links_and_not_as_a_graph(tmp_path: Path) -> None:
    status, _, report = hunt(tmp_path, CHAINED, "program.py")
    (found,) = report["findings"]
    assert (status, found["code"]) == (1, "GL207")
    steps = found["trace"]["steps"]
    assert [step["via"] for step in steps[-3:]] == [".origin", ".origin", ""]
