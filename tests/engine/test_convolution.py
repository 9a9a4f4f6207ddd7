"""Convolutions against PyTorch: values, gradients of three orders, nodes with what they saved, modules, refusals."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as mini

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
Sizes = tuple[int, ...]
Build = Callable[[Any], Any]

CASES: dict[str, tuple[str, Sizes, Sizes, Sizes | None, dict[str, Any]]] = {
    "a row": ("conv1d", (2, 3, 5), (2, 3, 2), (2,), {}),
    "a row without batch": ("conv1d", (3, 5), (2, 3, 2), None, {}),
    "a picture": ("conv2d", (2, 2, 4, 3), (3, 2, 2, 2), (3,), {}),
    "a picture without batch": ("conv2d", (2, 4, 3), (3, 2, 2, 2), (3,), {}),
    "strides and padding": ("conv2d", (1, 2, 5, 4), (1, 2, 3, 2), None, {"stride": (2, 1), "padding": (1, 2)}),
    "dilation": ("conv2d", (1, 1, 6, 5), (2, 1, 2, 2), (2,), {"dilation": (3, 2), "padding": 1}),
    "groups": ("conv2d", (1, 4, 3, 3), (6, 2, 2, 2), (6,), {"groups": 2}),
    "each channel for itself": ("conv1d", (2, 3, 4), (3, 1, 2), None, {"groups": 3}),
    "the same size": ("conv1d", (1, 1, 5), (1, 1, 3), None, {"padding": "same"}),
    "the same size with an even kernel": ("conv2d", (1, 1, 4, 3), (1, 1, 2, 4), None, {"padding": "same"}),
    "no padding by name": ("conv1d", (1, 1, 5), (1, 1, 3), None, {"padding": "valid"}),
    "a volume": ("conv3d", (1, 2, 3, 2, 3), (2, 2, 2, 1, 2), (2,), {"stride": 1}),
    "a wider stride than the kernel": ("conv1d", (1, 1, 7), (1, 1, 2), (1,), {"stride": 3}),
    "an empty batch": ("conv2d", (0, 2, 4, 3), (3, 2, 2, 2), (3,), {}),
    "a transposed row": ("conv_transpose1d", (2, 3, 4), (3, 2, 3), (2,), {"stride": 2, "output_padding": 1}),
    "a transposed picture": ("conv_transpose2d", (1, 4, 3, 2), (4, 3, 2, 2), (6,), {"groups": 2, "padding": 1}),
    "a transposed picture with dilation": (
        "conv_transpose2d",
        (2, 3, 2),
        (2, 1, 2, 2),
        None,
        {"dilation": 2, "stride": (2, 1)},
    ),
    "a transposed volume": ("conv_transpose3d", (1, 1, 2, 2, 1), (1, 2, 2, 1, 2), (2,), {}),
}
REFUSED: dict[str, Build] = {
    "dimensions": lambda fw: fw.nn.functional.conv2d(fw.ones(3, 3), fw.ones(1, 1, 2, 2)),
    "dimensions of the weight": lambda fw: fw.nn.functional.conv2d(fw.ones(1, 1, 3, 3), fw.ones(1, 1, 2)),
    "channels": lambda fw: fw.nn.functional.conv2d(fw.ones(1, 1, 3, 3), fw.ones(1, 2, 2, 2)),
    "bias": lambda fw: fw.nn.functional.conv2d(fw.ones(1, 1, 3, 3), fw.ones(1, 1, 2, 2), fw.ones(2)),
    "a kernel too large": lambda fw: fw.nn.functional.conv2d(fw.ones(1, 1, 3, 3), fw.ones(1, 1, 4, 2)),
    "groups": lambda fw: fw.nn.functional.conv1d(fw.ones(1, 4, 3), fw.ones(3, 2, 2), groups=2),
    "more groups than channels": lambda fw: fw.nn.functional.conv1d(fw.ones(1, 4, 3), fw.ones(1, 2, 2), groups=2),
    "a stride of 0": lambda fw: fw.nn.functional.conv1d(fw.ones(1, 1, 3), fw.ones(1, 1, 2), stride=0),
    "negative padding": lambda fw: fw.nn.functional.conv1d(fw.ones(1, 1, 3), fw.ones(1, 1, 2), padding=-1),
    "padding of a stride": lambda fw: fw.nn.functional.conv1d(
        fw.ones(1, 1, 3), fw.ones(1, 1, 2), stride=2, padding="same"
    ),
    "dtypes": lambda fw: fw.nn.functional.conv1d(fw.ones(1, 1, 3), fw.ones(1, 1, 2, dtype=fw.float64)),
    "the bias's dtype": lambda fw: fw.nn.functional.conv1d(
        fw.ones(1, 1, 3), fw.ones(1, 1, 2), fw.ones(1, dtype=fw.float64)
    ),
    "two strides for a row": lambda fw: fw.nn.functional.conv1d(fw.ones(1, 1, 3), fw.ones(1, 1, 2), stride=(1, 2)),
    "transposed channels": lambda fw: fw.nn.functional.conv_transpose1d(fw.ones(1, 1, 3), fw.ones(2, 1, 2)),
    "transposed bias": lambda fw: fw.nn.functional.conv_transpose1d(fw.ones(1, 1, 3), fw.ones(1, 3, 2), fw.ones(2)),
    "a transposed row that comes to nothing": lambda fw: fw.nn.functional.conv_transpose1d(
        fw.ones(1, 1, 1), fw.ones(1, 1, 1), padding=2
    ),
    "a transposed picture that comes to nothing": lambda fw: fw.nn.functional.conv_transpose2d(
        fw.ones(1, 1, 3, 2), fw.ones(1, 1, 1, 2), padding=2
    ),
    "a transposed volume that comes to nothing": lambda fw: fw.nn.functional.conv_transpose3d(
        fw.ones(1, 1, 2, 1, 3), fw.ones(1, 1, 1, 1, 1), padding=2
    ),
    "a module's groups": lambda fw: fw.nn.Conv2d(3, 4, 1, groups=2),
    "a module's outputs": lambda fw: fw.nn.Conv2d(4, 3, 1, groups=2),
    "no groups": lambda fw: fw.nn.Conv2d(4, 3, 1, groups=0),
    "a module's padding": lambda fw: fw.nn.Conv1d(1, 1, 2, stride=2, padding="same"),
    "a transposed module's padding mode": lambda fw: fw.nn.ConvTranspose1d(1, 1, 2, padding_mode="circular"),
    "an output size": lambda fw: fw.nn.ConvTranspose1d(1, 1, 3, stride=2)(fw.ones(1, 1, 3), [10]),
    "an output size of other dimensions": lambda fw: fw.nn.ConvTranspose1d(1, 1, 3)(fw.ones(1, 1, 3), [1, 2]),
}
MODULES: dict[str, Build] = {
    "Conv1d": lambda nn: nn.Conv1d(2, 3, 2),
    "Conv2d": lambda nn: nn.Conv2d(2, 4, (1, 2), stride=2, padding=(0, 1), dilation=2, groups=2, bias=False),
    "Conv3d": lambda nn: nn.Conv3d(1, 1, 2, padding="same"),
    "ConvTranspose1d": lambda nn: nn.ConvTranspose1d(2, 3, 2, stride=2, output_padding=1),
    "ConvTranspose2d": lambda nn: nn.ConvTranspose2d(2, 4, 3, groups=2),
    "ConvTranspose3d": lambda nn: nn.ConvTranspose3d(1, 2, 1),
}


def filled(fw: Any, sizes: Sizes, step: float) -> Any:
    count = fw.ones(sizes).numel()
    return fw.sin(fw.arange(count, dtype=fw.float64) * step + 0.3).view(sizes).clone().requires_grad_()


def story(fw: Any, name: str) -> list[Any]:
    """A case down to its third derivatives, as values and as texts."""
    function, of_input, of_weight, of_bias, settings = CASES[name]
    inputs = [filled(fw, of_input, 0.7), filled(fw, of_weight, 1.1)]
    inputs += [filled(fw, of_bias, 1.9)] if of_bias is not None else []
    with warnings.catch_warnings(action="ignore"):
        y = getattr(fw.nn.functional, function)(*inputs, **settings)
    told = [y, *saved_of(y.grad_fn)]
    first = fw.autograd.grad((y * y).sum(), inputs, create_graph=True)
    told += [*first, first[0].grad_fn.name()]
    second = fw.autograd.grad(sum((g * g * g).sum() for g in first), inputs, create_graph=True)
    told += [*second]
    if "output_padding" in settings:  # PyTorch itself goes no further
        return told
    third = fw.autograd.grad(sum((g * g).sum() for g in second), inputs)
    return [*told, *third]


def saved_of(node: Any) -> list[Any]:
    names = [name for name in dir(node) if name.startswith("_saved_")]
    return [node.name(), len(node.next_functions)] + [
        value if hasattr(value, "detach") else f"{name}={value}" for name in names for value in [getattr(node, name)]
    ]


def agree(ours: list[Any], theirs: list[Any]) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        if not hasattr(mine, "detach"):
            assert mine == other
            continue
        assert tuple(mine.shape) == tuple(other.shape)
        expected = mini.tensor(other.tolist(), dtype=mini.float64).view(tuple(other.shape))
        assert mini.allclose(mine.detach(), expected, rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("name", CASES)
def test_values_gradients_and_nodes_are_pytorchs(name: str) -> None:
    agree(story(mini, name), story(real, name))


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_pytorchs(name: str) -> None:
    errors = []
    for fw in (mini, real):
        with pytest.raises((RuntimeError, ValueError)) as raised:
            REFUSED[name](fw)
        errors.append((raised.type, str(raised.value).splitlines()[0]))
    assert errors[0] == errors[1]


@pytest.mark.parametrize("name", MODULES)
def test_modules_have_pytorchs_parameters_and_text(name: str) -> None:
    ours, theirs = MODULES[name](mini.nn), MODULES[name](real.nn)
    assert repr(ours) == repr(theirs)
    shapes = [{key: tuple(value.shape) for key, value in each.state_dict().items()} for each in (ours, theirs)]
    assert shapes[0] == shapes[1]
    bound = 1 / (theirs.weight.shape[1:].numel() ** 0.5)
    assert all(float(each.detach().abs().max()) <= bound for each in ours.parameters())


def test_a_transposed_module_comes_out_at_the_size_that_is_asked_for() -> None:
    for fw in (mini, real):
        module = fw.nn.ConvTranspose1d(1, 1, 3, stride=2)
        assert [tuple(module(fw.ones(1, 1, 3), size).shape) for size in (None, [8], [1, 1, 8])] == [
            (1, 1, 7),
            (1, 1, 8),
            (1, 1, 8),
        ]


def test_a_border_is_cut_off_where_it_is_negative() -> None:
    for fw in (mini, real):
        x = filled(fw, (2, 3), 0.5)
        y = fw.nn.functional.pad(x, (-1, 2, 1, 0), value=7.0)
        y.sum().backward()
        assert y.detach()[:, 2:].tolist() == [[7.0, 7.0], [7.0] * 2, [7.0] * 2]
        assert x.grad.tolist() == [[0.0, 1.0, 1.0]] * 2
        assert fw.nn.functional.pad(x, (1, 2)).grad_fn._saved_pad == (1, 2)


@pytest.mark.parametrize("pads", [(1,), (0, 0, 0, 0, 0, 0), (-2, -2)])
def test_a_border_that_does_not_fit_is_refused(pads: Sizes) -> None:
    errors = []
    for fw in (mini, real):
        with pytest.raises(RuntimeError) as raised:
            fw.nn.functional.pad(fw.ones(2, 3), pads)
        errors.append(str(raised.value).splitlines()[0])
    assert errors[0] == errors[1]


def test_the_saved_input_of_a_convolution_is_freed_with_its_graph() -> None:
    for fw in (mini, real):
        x = filled(fw, (1, 1, 3), 0.5)
        y = fw.nn.functional.conv1d(x, filled(fw, (1, 1, 2), 0.4))
        assert y.grad_fn._saved_input is x
        y.sum().backward()
        with pytest.raises(RuntimeError, match="after they have already been freed"):
            _ = y.grad_fn._saved_weight
        with pytest.raises(RuntimeError, match="backward through the graph a second time"):
            y.sum().backward()


def test_whole_numbers_are_convolved_but_no_complex_ones() -> None:
    x = mini.arange(4).view(1, 1, 4)
    assert mini.conv1d(x, mini.ones(1, 1, 2, dtype=mini.int64)).tolist() == [[[1, 3, 5]]]
    with pytest.raises(NotImplementedError, match="not implemented for 'ComplexFloat'"):
        mini.conv1d(mini.zeros(1, 1, 2, dtype=mini.complex64), mini.zeros(1, 1, 1, dtype=mini.complex64))
