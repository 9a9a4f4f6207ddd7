"""A replay of a CUDA graph counts as the steps of optimizers and the backward pass that were captured in it."""

from __future__ import annotations

import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from gradlife.hunting.steps import graph_replays
from gradlife.hunting.steps.backward_passes import WARMUP_PASSES
from gradlife.hunting.steps.graph_replays import CLASSES, MODULES, WARMUP_REPLAYS
from gradlife.hunting.steps.listening import TorchSteps
from gradlife.hunting.steps.optimizers import WARMUP_STEPS
from gradlife.hunting.steps.running_steps import RunningSteps
from gradlife.hunting.steps.sampling import Sampling


class SGD:
    pass


class Torch:
    """A program that captures and replays graphs, and the names of the steps that are counted."""

    def __init__(self) -> None:
        self.counted: list[str] = []
        self.training = 0  # steps and passes
        self.heard = TorchSteps(self.begin, self.begin, Sampling(), WARMUP_PASSES, lambda: False)
        self.heard.on_training = self.train
        self.autograd = types.SimpleNamespace(_engine_run_backward=lambda inside=lambda: None: inside())
        self.heard.passes.attach(self.autograd)
        self.kind = graph_class()
        self.heard.replays.attach(types.SimpleNamespace(CUDAGraph=self.kind))
        self.optimizer: object = SGD()

    def begin(self, name: str) -> Callable[[], object]:
        return lambda: self.counted.append(name)

    def train(self) -> None:
        self.training += 1

    def step(self, times: int = 1) -> None:
        for _ in range(times):
            self.heard.optimizers._fired(self.optimizer, (), {})

    def run_backward(self) -> None:
        self.autograd._engine_run_backward()

    def captured(self, *what: Callable[[], object]) -> Any:
        graph = self.kind()
        graph.capture_begin(pool=1)
        for one in what:
            one()
        graph.capture_end()
        return graph


def graph_class() -> Any:
    """A class with the methods of torch's."""

    class Graph:
        def capture_begin(self, pool: int | None = None) -> None:
            pass

        def capture_end(self) -> None:
            pass

        def replay(self) -> str:
            return "replayed"

    return Graph


def replay(graph: Any, times: int) -> None:
    for _ in range(times):
        assert graph.replay() == "replayed"


def test_a_replay_is_a_step_of_the_optimizer_that_was_captured() -> None:
    torch = Torch()
    torch.step(WARMUP_STEPS - 1)
    graph = torch.captured(torch.run_backward, torch.step)
    replay(graph, 120)
    assert torch.counted == ["SGD.step"] * 120
    assert torch.training == WARMUP_STEPS + 1 + 2 * 120


def test_a_replay_is_one_step_however_many_were_captured() -> None:
    torch = Torch()
    graph = torch.captured(lambda: torch.step(WARMUP_STEPS))
    replay(graph, 10)
    assert torch.counted == ["SGD.step"] * 10


def test_replays_count_on_while_the_optimizer_also_steps_by_itself() -> None:
    """A last batch that is smaller than the captured one."""
    torch = Torch()
    torch.step(WARMUP_STEPS - 1)
    graph = torch.captured(torch.step)
    for _ in range(3):
        replay(graph, 50)
        torch.step()
    assert torch.counted == ["SGD.step"] * 153


def test_an_optimizer_that_its_graph_has_outlived_still_steps() -> None:
    torch = Torch()
    torch.step(WARMUP_STEPS - 1)
    graph = torch.captured(torch.step)
    torch.optimizer = SGD()
    replay(graph, 20)
    assert torch.counted == ["SGD.step"] * 20


def test_a_replay_of_a_backward_pass_is_a_pass() -> None:
    torch = Torch()
    graph = torch.captured(torch.run_backward)
    replay(graph, WARMUP_PASSES + 10)
    assert torch.counted == ["backward pass"] * 10


def test_an_optimizer_that_steps_after_each_replay_counts_alone() -> None:
    torch = Torch()
    torch.step(WARMUP_STEPS)
    graph = torch.captured(torch.run_backward)
    for _ in range(20):
        replay(graph, 1)
        torch.step()
    assert torch.counted == ["SGD.step"] * 20


def test_a_replay_within_a_backward_pass_is_a_part_of_it() -> None:
    """As with `torch.cuda.make_graphed_callables`, whose graphs run in threads of the device."""
    torch = Torch()
    graph = torch.captured(torch.run_backward)
    for _ in range(WARMUP_PASSES + 10):
        torch.autograd._engine_run_backward(graph.replay)
    assert torch.counted == ["backward pass"] * 10


def test_a_replay_of_inference_is_no_step() -> None:
    """A language model replays a graph for each token."""
    torch = Torch()
    torch.step(WARMUP_STEPS)
    replay(torch.captured(), 200)
    assert torch.counted == []
    assert torch.heard.replays.heard == 0


def test_the_class_is_as_before() -> None:
    torch = Torch()
    torch.heard.replays.detach()
    assert vars(torch.kind)["replay"].__qualname__ == "graph_class.<locals>.Graph.replay"
    assert not any(hasattr(one, "__wrapped__") for one in vars(torch.kind).values())


def test_a_torch_without_graphs_is_left_alone() -> None:
    other = types.SimpleNamespace()
    Torch().heard.replays.attach(other)
    assert vars(other) == {}


class Attached:
    """A running program that replays a graph, captured before, and the names of the steps that are counted."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, has_optimizer: bool) -> None:
        self.counted: list[str] = []
        self.kind = graph_class()
        for name in (*MODULES, "torch.optim.optimizer", "torch.utils.data.dataloader", "torch.autograd"):
            monkeypatch.setitem(sys.modules, name, None)
        autograd: Any = types.ModuleType("torch.autograd")
        autograd._engine_run_backward = lambda: None
        graphs: Any = types.ModuleType(MODULES[0])
        graphs.CUDAGraph = self.kind
        monkeypatch.setitem(sys.modules, MODULES[0], graphs)
        monkeypatch.setitem(sys.modules, "torch.autograd", autograd)
        monkeypatch.setattr(graph_replays, "has_optimizer", lambda: has_optimizer)
        self.autograd = autograd

    def begin(self, name: str) -> Callable[[], object]:
        return lambda: self.counted.append(name)


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[Attached, RunningSteps]]:
    program = Attached(monkeypatch, has_optimizer=True)
    steps = RunningSteps(program.begin)
    yield program, steps
    steps.detach()


def test_replays_of_a_graph_that_was_captured_earlier_count_in_a_process_with_an_optimizer(
    trainer: tuple[Attached, RunningSteps],
) -> None:
    program, steps = trainer
    assert steps.is_silent
    replay(program.kind(), WARMUP_REPLAYS + 1 + 10)
    assert program.counted == ["replay of a CUDA graph"] * 10
    assert not steps.is_silent
    steps.detach()
    replay(program.kind(), 1)
    assert len(program.counted) == 10
    assert not hasattr(program.kind.replay, "__wrapped__")


def test_backward_passes_take_the_place_of_such_replays(trainer: tuple[Attached, RunningSteps]) -> None:
    program, _ = trainer
    replay(program.kind(), WARMUP_REPLAYS + 1)
    for _ in range(WARMUP_PASSES + 1 + 5):
        program.autograd._engine_run_backward()
        replay(program.kind(), 1)
    assert program.counted == ["replay of a CUDA graph"] * WARMUP_PASSES + ["backward pass"] * 5


def test_a_server_of_a_model_counts_seconds_and_not_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    program = Attached(monkeypatch, has_optimizer=False)
    steps = RunningSteps(program.begin)
    replay(program.kind(), 100)
    assert (program.counted, steps.is_silent) == ([], True)
    steps.detach()


def test_a_peak_hears_no_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    """They allocate nothing that it could record."""
    program = Attached(monkeypatch, has_optimizer=True)
    steps = RunningSteps(program.begin, counts_replays=False)
    assert not hasattr(program.kind.replay, "__wrapped__")
    steps.detach()


@pytest.mark.torch
def test_an_optimizer_is_seen_in_the_process() -> None:
    torch = pytest.importorskip("torch")
    optimizer = torch.optim.SGD([torch.zeros(1)], lr=0.1)
    assert graph_replays.has_optimizer()
    del optimizer


@pytest.mark.torch
def test_torchs_own_classes_have_the_methods() -> None:
    pytest.importorskip("torch")
    pytest.importorskip("torch.xpu.graphs")
    for module, name in zip(MODULES, CLASSES, strict=True):
        kind = vars(sys.modules[module])[name]
        before = {one: vars(kind)[one] for one in ("capture_begin", "capture_end", "replay")}
        steps = RunningSteps(lambda name: lambda: None)
        assert all(vars(kind)[one].__wrapped__ is plain for one, plain in before.items())
        steps.detach()
        assert {one: vars(kind)[one] for one in before} == before
