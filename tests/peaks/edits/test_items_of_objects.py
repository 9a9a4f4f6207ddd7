"""Tensors in objects of the program's own, which a list of a function holds."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.whole]

ROLLOUT = """\
from dataclasses import dataclass

import torch

net = torch.nn.Linear(500, 400)
opt = torch.optim.SGD(net.parameters(), 0.1)


@dataclass
class Transition:
    seen: torch.Tensor
    reward: torch.Tensor


def step():
    rollout = [Transition(torch.ones(40, 500), torch.ones(40)) for _ in range(6)]
    seen = torch.stack([one.seen for one in rollout])
    reward = torch.stack([one.reward for one in rollout])
    loss = (net(seen).exp().sum(-1) - reward).square().mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
"""


def test_a_list_of_objects_is_deleted_when_its_last_field_is_read() -> None:
    """The edit was to unset a field of each object, by a name that existed only within a comprehension."""
    from benchmarks.peak.measured import outcomes, peak_of

    report = peak_of(ROLLOUT)
    [saving] = report.savings
    assert [edit.text for edit in saving.edits] == ["`del rollout` after line 18"]
    assert [(one.predicted, one.measured) for one in outcomes(ROLLOUT, report)] == [(saving.saved_bytes,) * 2] * 2
    assert saving.bytes == 6 * (40 * 500 + 40) * 4
