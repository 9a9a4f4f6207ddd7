"""Steps within functions that torch.compile compiles: they count, and the program compiles as it does unwatched."""

from __future__ import annotations

import functools
import json
import subprocess
import sys
from typing import Any

import pytest

pytestmark = pytest.mark.whole

pytest.importorskip("torch")

#: The loss and the step of an optimizer in compiled functions; the arguments say what counts, and whether graphs may break.
PROGRAM = """\
import json, sys
import torch
from gradlife.hunting.steps.compiler import keep_compiler_out
from gradlife.hunting.steps.function_calls import CallSteps
from gradlife.hunting.steps.optimizers import OptimizerSteps

class Plain(torch.optim.Optimizer):  # the steps of torch's own optimizers break each graph
    def __init__(self, parameters):
        super().__init__(parameters, {"lr": 0.5})

    @torch.no_grad()
    def step(self):
        for parameter in self.param_groups[0]["params"]:
            parameter.add_(parameter.grad, alpha=-0.5)

def loss_of(batch):
    return net(batch).square().mean()

counts = []

def begin(name):
    counts.append(name)
    return lambda: counts.append("step")

keep_compiler_out()
if "optimizer" in sys.argv:
    OptimizerSteps(begin).attach(sys.modules["torch.optim.optimizer"])
if "function" in sys.argv:
    CallSteps("__main__:loss_of", begin).attach(sys.modules["__main__"])
torch.manual_seed(0)
net = torch.nn.Linear(4, 2)
whole = "whole" in sys.argv
optimizer = Plain(net.parameters()) if whole else torch.optim.Adam(net.parameters(), 0.5)
compiled_loss = torch.compile(lambda batch: loss_of(batch), backend="eager", fullgraph=whole)
compiled_step = torch.compile(lambda: optimizer.step(), backend="eager", fullgraph=whole)
for _ in range(12):
    compiled_loss(torch.ones(3, 4)).backward()
    compiled_step()
    optimizer.zero_grad()

from torch._dynamo.utils import counters
print(json.dumps([counts, net.weight.tolist(), counters["stats"]]))
"""


@functools.cache
def run(*arguments: str) -> Any:
    """Return what was counted, and what the program computed and compiled."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, *arguments], capture_output=True, text=True, timeout=300, check=True
    )
    counts, *rest = json.loads(done.stdout.splitlines()[-1])
    return counts, rest


def test_the_step_of_an_optimizer_counts_within_a_compiled_function_and_the_graphs_are_the_same() -> None:
    """The counter was traced, and the snapshot of the heap ran with tensors that have no memory."""
    assert run("optimizer") == (["Adam.step", *["step"] * 8], run()[1])


def test_in_a_graph_that_may_not_break_nothing_is_counted_and_the_program_goes_on() -> None:
    """`fullgraph=True` made each call of a hook an error of the program."""
    assert run("whole", "optimizer", "function") == ([], run("whole")[1])


def test_a_call_of_a_function_counts_within_a_compiled_function() -> None:
    counts, (weights, _) = run("function")
    assert (counts, weights) == (["call of loss_of", *["step"] * 11], run()[1][0])
