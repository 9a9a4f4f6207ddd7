"""Savings whose edit has no diff: the report names the line, and a program without it saves as much to the byte."""

from __future__ import annotations

from typing import Any

import pytest

import gradlife

torch: Any = pytest.importorskip("torch")
pytestmark = pytest.mark.torch


def scale_function(saves: bool) -> Any:
    """A custom function that reads nothing of what it may save."""

    class Scale(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            y = x * 0.5
            if saves:
                ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient * 0.5

    return Scale


def step_through(function: Any) -> None:
    weight = torch.ones(100_000, requires_grad=True)
    loss = torch.tanh(function.apply(weight + 1)).sum()
    loss.backward()


@pytest.mark.whole
def test_what_a_custom_function_saves_for_nobody_is_told_by_the_line_that_saves_it() -> None:
    """It was `with torch.no_grad():` around a part of the forward pass once, which ended the training."""
    wasteful, clean = scale_function(True), scale_function(False)
    before, after = gradlife.peak(lambda: step_through(wasteful)), gradlife.peak(lambda: step_through(clean))
    [saving] = before.savings
    line = scale_function.__code__.co_firstlineno + 8
    assert saving.holder == "what scale_function.<locals>.Scale.forward saves for the backward pass"
    assert [edit.text for edit in saving.edits] == [f"save nothing at line {line} that the backward pass does not read"]
    assert saving.peak_after == after.peak_bytes < before.peak_bytes
    assert after.savings == ()


def layers_of(x: Any, keeps: bool) -> tuple[Any, list[Any]]:
    maps = []
    for _ in range(4):
        y, weights = attend(x)
        x = x + y
        if keeps:
            maps.append(weights)
    return x, maps


def attend(x: Any) -> tuple[Any, Any]:
    weights = torch.softmax(x @ x.T, -1)
    return weights @ x, weights


def predict(keeps: bool) -> None:
    logits, _maps = layers_of(torch.ones(300, 20), keeps)
    logits.argmax(-1)


@pytest.mark.whole
def test_maps_that_a_list_and_a_loop_variable_hold_are_saved_where_the_variable_is_bound_anew() -> None:
    before, after = gradlife.peak(lambda: predict(True)), gradlife.peak(lambda: predict(False))
    saving = before.savings[0]
    line = layers_of.__code__.co_firstlineno + 6
    assert saving.holder.startswith("local maps[*] of layers_of")
    assert saving.edits[0].text.startswith(f"keep nothing in `maps` at line {line} that is not read")
    assert before.peak_bytes - saving.saved_alone_bytes == after.peak_bytes


def train_and_validate(net: Any, total_of: Any) -> None:
    net(torch.ones(500, 100)).sum().backward()
    net.zero_grad()
    total = total_of(net)
    total.item()


def total_with_graphs(net: Any) -> Any:
    total = 0.0
    for _ in range(4):
        total += net(torch.ones(500, 100)).sum()
    return total


def total_without(net: Any) -> Any:
    total = 0.0
    for _ in range(4):
        with torch.no_grad():
            total += net(torch.ones(500, 100)).sum()
    return total


@pytest.mark.whole
def test_graphs_of_a_validation_are_not_recorded_although_training_reads_their_parameters() -> None:
    """Parameters that both graphs save were taken for a proof that a backward pass reads the validation's graph."""
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(100, 100), torch.nn.Tanh(), torch.nn.Linear(100, 100), torch.nn.Tanh())
    before = gradlife.peak(lambda: train_and_validate(net, total_with_graphs))
    after = gradlife.peak(lambda: train_and_validate(net, total_without))
    line = total_with_graphs.__code__.co_firstlineno + 3
    edits = [edit.text for saving in before.savings for edit in saving.edits]
    assert edits == [f"`with torch.no_grad():` around line {line} if no backward pass reads it"]  # no `import torch`
    assert before.savings[-1].peak_after == pytest.approx(after.peak_bytes, rel=0.03)


def three_on_a_line(net: Any, optimizer: Any) -> None:
    out = net(torch.ones(500, 100)); loss = out.exp().sum(); loss.backward()  # fmt: skip  # noqa: E702
    optimizer.step()
    optimizer.zero_grad()


@pytest.mark.whole
def test_what_a_line_of_several_statements_uses_last_is_found_by_its_column() -> None:
    """The whole line was taken for the last use, so that nothing could be saved in it."""
    net = torch.nn.Sequential(torch.nn.Linear(100, 100), torch.nn.Linear(100, 100))
    optimizer = torch.optim.SGD(net.parameters(), 1e-6)
    report = gradlife.peak(lambda: three_on_a_line(net, optimizer))
    line = three_on_a_line.__code__.co_firstlineno + 1
    found = {edit.text: saving.saved_alone_bytes for saving in report.savings for edit in saving.edits}
    assert found[f"`del out` after `loss = out.exp().sum()` in line {line}"] == 500 * 100 * 4


def swish_function(saved: int) -> Any:
    """A custom function that saves two tensors, and a third one, its output, if asked to."""

    class Swish(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            s = torch.sigmoid(x)
            y = x * s
            ctx.save_for_backward(*(x, s, y)[:saved])
            return y

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            x, s = ctx.saved_tensors[:2]
            return gradient * (s + x * s * (1 - s))

    return Swish


def step_through_twice(function: Any) -> None:
    weight = torch.ones(100_000, requires_grad=True)
    (2 * function.apply(2 * function.apply(weight + 1))).sum().backward()


@pytest.mark.whole
def test_what_a_backward_pass_unpacks_and_does_not_read_is_told() -> None:
    """Unpacking makes a view of an output, which was taken for a read; and `ctx` for the variable that holds it."""
    wasteful, clean = swish_function(3), swish_function(2)
    before = gradlife.peak(lambda: step_through_twice(wasteful))
    after = gradlife.peak(lambda: step_through_twice(clean))
    [saving] = before.savings
    assert saving.holder == "what swish_function.<locals>.Swish.forward saves for the backward pass"
    assert (saving.peak_after, after.savings) == (after.peak_bytes, ())


def backward_in(outputs: Any) -> None:
    loss = outputs.exp().sum()
    del outputs
    loss.backward()


def step_with_a_name(net: Any) -> None:
    outputs = net(torch.ones(500, 100))
    backward_in(outputs)
    net.zero_grad()


def step_without_a_name(net: Any) -> None:
    backward_in(net(torch.ones(500, 100)))
    net.zero_grad()


@pytest.mark.whole
def test_what_a_caller_holds_while_a_function_runs_the_backward_pass_is_told() -> None:
    """The report said nothing: an edit of the function that runs frees nothing that its caller has a name for."""
    net = torch.nn.Sequential(torch.nn.Linear(100, 100), torch.nn.Linear(100, 1000))
    before, after = gradlife.peak(lambda: step_with_a_name(net)), gradlife.peak(lambda: step_without_a_name(net))
    line = step_with_a_name.__code__.co_firstlineno + 1
    edits = {edit.text: saving for saving in before.savings for edit in saving.edits}
    saving = edits[f"pass the value of line {line} on at line {line + 1} without the name `outputs`"]
    assert before.peak_bytes - saving.saved_alone_bytes == after.peak_bytes
