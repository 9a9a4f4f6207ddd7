"""The real PyTorch in a fork server: the worker must read of it what is known of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from gradlife.model import RunOk
from gradlife.runner import api
from gradlife.runner.server import ForkServer

WriteStory = Callable[..., str]

pytestmark = pytest.mark.torch

STORY = """
@scenario(title="one graph")
def one_graph(lab):
    fw = lab.fw
    x = lab.tensor(requires_grad=True)
    y = x.exp()
    lab.watch("x", x)
    lab.watch("y", y)
    lab.watch("node", y.grad_fn)
    lab.stage("made")
    y.sum().backward()
    lab.value("grad", x.grad)
    lab.identity("x.grad", lambda: x.grad)
    lab.attempt("add", lambda: fw.ones(3) + fw.ones(4))
    lab.hold(x)
    del x, y
    lab.stage("dropped", all_names_gone=True)
"""


def test_a_torch_story_is_read_without_changing_it(write_story: WriteStory) -> None:
    (run,) = api.run([write_story(STORY)], backends=["torch"]).runs
    assert isinstance(run, RunOk), run.reason
    values: dict[str, dict[str, Any]] = {}
    for reading in run.readings:
        values.setdefault(f"{reading.stage} {reading.probe}", {})[reading.subject] = reading.value
    alive = dict.fromkeys(("x", "x.storage", "y", "y.storage", "node"), "alive")
    assert values["made expiry"] == alive
    assert values["dropped liveness"] == {
        "x": "held",
        "x.storage": "held",
        "y": "del",
        "y.storage": "del",
        "node": "del",
    }
    assert values["made memory"]["watched bytes"] == 32
    assert values["dropped value"] == {
        "grad": [2.71828] * 4,
        "add": "RuntimeError: The size of tensor a (3) must match the size of tensor b (4) at non-singleton dimension 0",
    }
    assert set(values["dropped identity"].values()) == {1, "Tensor"}


def test_torch_is_imported_once_with_one_thread() -> None:
    with ForkServer("torch") as server:
        assert (server.about["framework"], server.about["threads"]) == ("torch", 1)
