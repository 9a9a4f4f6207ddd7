"""`--leaks` where no object of Python shows what a test left: C++ alone has it, or an old tensor's gradient."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlife import _heap
from gradlife.pytest_plugin.checks import native_survivors
from gradlife.pytest_plugin.checks.native_survivors import LEAST
from plugin_suites import Ran, run_suite

pytestmark = pytest.mark.whole

SUITE = """
    import io
    import warnings

    import pytest
    import torch

    warnings.simplefilter("ignore")
    weights = torch.ones(4000, requires_grad=True)
    others = torch.ones(4000, requires_grad=True)
    buffer = torch.zeros(4)

    class Cache(torch.nn.Module):
        kept: list[torch.Tensor]

        def __init__(self):
            super().__init__()
            self.kept = []

        def forward(self, x: torch.Tensor):
            self.kept.append(x * 2)
            return x.sum()

        @torch.jit.export
        def drop(self):
            self.kept.clear()

    class Scaled(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("scale", torch.ones(50_000))

        def forward(self, x: torch.Tensor):
            return (x * self.scale).sum()

    scripted = torch.jit.script(Cache())

    def test_native_code_keeps_a_tensor():
        scripted(torch.ones(4000))

    def test_native_code_lets_it_go():
        scripted(torch.ones(4000))
        scripted.drop()

    def test_native_code_keeps_very_little():
        scripted(torch.ones(4))

    def test_a_gradient_has_a_graph():
        (weights * weights).sum().backward(create_graph=True)

    def test_a_gradient_has_none():
        (others * others).sum().backward()

    def test_a_buffer_gets_larger():
        buffer.resize_(50_000)

    @pytest.fixture(scope="module")
    def loaded():
        file = io.BytesIO()
        torch.jit.save(torch.jit.script(Scaled()), file)
        file.seek(0)
        return torch.jit.load(file)

    def test_uses_what_a_wider_fixture_has_in_native_code(loaded):
        loaded(torch.ones(50_000))
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    return run_suite(tmp_path_factory.mktemp("unshown"), "--leaks", test_suite=SUITE)


@pytest.mark.whole
@pytest.mark.torch
def test_what_native_code_keeps_is_the_leak_of_the_test_that_made_it(ran: Ran) -> None:
    assert ran.outcome("test_native_code_keeps_a_tensor") == "FAILED"
    [found] = ran.checked("test_native_code_keeps_a_tensor")["findings"]
    assert (found["code"], found["lifetime"], found["per_step"]["storages"]) == ("GL803", "never", 1)
    assert found["per_step"]["bytes"] == 16_000


@pytest.mark.whole
@pytest.mark.torch
def test_the_graph_of_an_old_tensors_gradient_is_the_leak_of_the_test_that_made_it(ran: Ran) -> None:
    assert ran.outcome("test_a_gradient_has_a_graph") == "FAILED"
    [found] = ran.checked("test_a_gradient_has_a_graph")["findings"]
    assert (found["code"], found["per_step"]["graph_nodes"]) == ("GL405", 5)
    assert "weights" in found["trace"]["text"]


@pytest.mark.torch
@pytest.mark.parametrize(
    "name",
    [
        "test_native_code_lets_it_go",
        "test_native_code_keeps_very_little",  # less than what pytest itself takes and gives back
        "test_a_gradient_has_none",
        "test_a_buffer_gets_larger",  # the buffer is old, and so is what holds its memory
        "test_uses_what_a_wider_fixture_has_in_native_code",
    ],
)
@pytest.mark.whole
def test_what_goes_or_was_there_or_is_small_is_none(ran: Ran, name: str) -> None:
    assert ran.outcome(name) == "PASSED"
    assert ran.checked(name)["findings"] == []


@pytest.mark.torch
def test_what_earlier_tests_may_have_left_is_explained(ran: Ran) -> None:
    """It was too little to be looked for when `test_native_code_keeps_very_little` ended: 16 B and what the JIT keeps."""
    [why] = ran.checked("test_a_gradient_has_a_graph")["explained"]
    assert why["kind"] == "too small to assign to a test"
    assert 16 <= why["bytes"] < LEAST


def test_what_is_new_is_distinguished_from_bytes_of_before() -> None:
    with pytest.raises(TypeError, match="bytes that native_blocks gave"):
        _heap.native_since(None)  # type: ignore[arg-type]


@pytest.mark.scan
def test_the_mini_engines_graphs_of_gradients_are_reported_too(tmp_path: Path) -> None:
    suite = """
        import gradlife.engine as torch

        weights = torch.ones(4000, requires_grad=True)
        others = torch.ones(4000, requires_grad=True)

        def test_a_gradient_has_a_graph():
            (weights * weights).sum().backward(create_graph=True)

        def test_a_gradient_has_none():
            (others * others).sum().backward()
    """
    ran = run_suite(tmp_path, "--leaks", test_suite=suite)
    [found] = ran.checked("test_a_gradient_has_a_graph")["findings"]
    assert (found["lifetime"], found["per_step"]["graph_nodes"]) == ("held", 5)
    assert ran.outcome("test_a_gradient_has_none") == "PASSED"


class SteadyHeap:
    """A heap of C++ in which each test takes more memory and leaves nothing."""

    level = 0

    def malloc_bytes(self) -> int:
        self.level += LEAST
        return self.level

    def native_blocks(self) -> bytes:
        return b""

    def native_since(self, before: bytes) -> tuple[bytes, list[tuple[int, str]]]:
        return before, []


def test_searches_are_counted_and_not_timed(monkeypatch: pytest.MonkeyPatch) -> None:
    """They had two seconds of a processor: whether a later test leaked depended on how fast the machine was."""
    monkeypatch.setattr(native_survivors, "_heap", SteadyHeap())
    monkeypatch.setattr(native_survivors, "native_classes", lambda family: ["TensorImpl"])
    monkeypatch.setattr(native_survivors, "ensure_calibrated", lambda: None)
    searches = native_survivors.NativeSurvivors()
    skipped = []
    for _ in range(200):
        searches.begin()
        searches.left(may_collect=False)
        skipped.append(searches.is_skipped)
    assert skipped.index(True) > native_survivors.FIRST - 2
    assert 0 < skipped[100:].count(False) == 100 // native_survivors.TESTS_EACH
