"""Interpolation, averages, patches, distances and lists against PyTorch: values, gradients, nodes, refusals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as mini

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
Sizes = tuple[int, ...]
Build = Callable[[Any, Any], Any]

ROW, PICTURE, VOLUME = (2, 3, 4), (2, 1, 4, 3), (1, 2, 3, 2, 2)
INTERPOLATED: dict[str, tuple[Sizes, dict[str, Any]]] = {
    "nearest row": (ROW, {"size": 7}),
    "nearest row by a factor": (ROW, {"scale_factor": 0.6}),
    "nearest row, the same size by a factor": (ROW, {"scale_factor": 1.2}),
    "nearest row, twice the size by a factor": (ROW, {"scale_factor": 2.2}),
    "nearest picture, the same size by a factor": (PICTURE, {"scale_factor": 1.2}),
    "nearest picture, twice the width by a factor": (PICTURE, {"scale_factor": (1.3, 2.2)}),
    "nearest picture of many places": ((1, 1, 60, 60), {"scale_factor": (1.01, 1.3)}),
    "nearest volume by factors": (VOLUME, {"scale_factor": (1.2, 2.3, 1.4)}),
    "nearest picture": (PICTURE, {"size": (3, 5)}),
    "nearest volume": (VOLUME, {"scale_factor": 2}),
    "nearest-exact row": (ROW, {"scale_factor": 1.7, "mode": "nearest-exact"}),
    "nearest-exact picture": (PICTURE, {"size": (7, 2), "mode": "nearest-exact"}),
    "nearest-exact volume": (VOLUME, {"size": (2, 3, 1), "mode": "nearest-exact"}),
    "linear": (ROW, {"size": 9, "mode": "linear"}),
    "linear, the same size": (ROW, {"size": 4, "mode": "linear"}),
    "linear with corners": (ROW, {"size": 3, "mode": "linear", "align_corners": True}),
    "linear with corners to one place": (ROW, {"size": 1, "mode": "linear", "align_corners": True}),
    "linear by a factor": (ROW, {"scale_factor": 1.6, "mode": "linear"}),
    "linear by a factor that is made to fit": (
        ROW,
        {"scale_factor": 1.6, "mode": "linear", "recompute_scale_factor": True},
    ),
    "bilinear": (PICTURE, {"size": (2, 7), "mode": "bilinear"}),
    "bilinear by two factors": (PICTURE, {"scale_factor": (2.0, 0.7), "mode": "bilinear"}),
    "bilinear with corners": (PICTURE, {"size": 5, "mode": "bilinear", "align_corners": True}),
    "bilinear and smooth": (PICTURE, {"size": (2, 2), "mode": "bilinear", "antialias": True}),
    "bilinear and smooth, larger": (PICTURE, {"size": (5, 7), "mode": "bilinear", "antialias": True}),
    "trilinear": (VOLUME, {"size": (2, 3, 4), "mode": "trilinear"}),
    "bicubic": (PICTURE, {"size": (7, 2), "mode": "bicubic"}),
    "bicubic with corners": (PICTURE, {"scale_factor": 1.5, "mode": "bicubic", "align_corners": True}),
    "bicubic and smooth": (PICTURE, {"size": (2, 5), "mode": "bicubic", "antialias": True}),
    "averages of a row": (ROW, {"size": 3, "mode": "area"}),
    "averages of a picture": (PICTURE, {"size": (3, 2), "mode": "area"}),
    "the average of a picture": (PICTURE, {"size": 1, "mode": "area"}),
    "averages of a volume": (VOLUME, {"scale_factor": 0.7, "mode": "area"}),
}
COMPUTED: dict[str, tuple[Sizes, Build]] = {
    "averages that keep a size": ((1, 4, 3), lambda fw, x: fw.nn.functional.adaptive_avg_pool2d(x, (2, None))),
    "averages of vectors": ((2, 5), lambda fw, x: fw.nn.functional.adaptive_avg_pool1d(x, 2)),
    "the average of a volume": (VOLUME, lambda fw, x: fw.nn.functional.adaptive_avg_pool3d(x, 1)),
    "patches": (PICTURE, lambda fw, x: fw.nn.functional.unfold(x, 2)),
    "patches of one picture": (
        (2, 4, 5),
        lambda fw, x: fw.nn.functional.unfold(x, (2, 3), dilation=(1, 2), padding=1, stride=2),
    ),
    "patches put together": ((2, 8, 6), lambda fw, x: fw.nn.functional.fold(x, (3, 4), 2)),
    "patches that overlap": (
        (4, 4),
        lambda fw, x: fw.nn.functional.fold(x, 3, (2, 2), dilation=1, padding=1, stride=2),
    ),
    "the larger ones of two lists": ((2, 3), lambda fw, x: fw._foreach_maximum([x], [x * x])[0]),
    "the smaller ones of two lists": ((2, 3), lambda fw, x: fw._foreach_minimum([x], [x * x])[0]),
    "numbers from below": ((2, 3), lambda fw, x: sum(fw._foreach_maximum([x, x * 2], [0.2, 0.5]))),
    "one number from below": ((2, 3), lambda fw, x: fw._foreach_maximum([x * x], 0.5)[0]),
    "one number from above": ((2, 3), lambda fw, x: fw._foreach_minimum([x * x], 0.5)[0]),
    "a quotient that is not rounded": ((2, 3), lambda fw, x: fw.div(x, x * x + 1, rounding_mode=None)),
    "a quotient in place": ((2, 3), lambda fw, x: (x * 3).div_(2.5, rounding_mode=None) * x),
}
REFUSED: dict[str, Callable[[Any], Any]] = {
    "size and factor": lambda fw: fw.nn.functional.interpolate(fw.ones(1, 1, 2), size=2, scale_factor=2),
    "neither size nor factor": lambda fw: fw.nn.functional.interpolate(fw.ones(1, 1, 2)),
    "corners of the nearest": lambda fw: fw.nn.functional.interpolate(fw.ones(1, 1, 2), 2, align_corners=False),
    "sizes": lambda fw: fw.nn.functional.interpolate(fw.ones(1, 1, 2), (2, 2)),
    "factors": lambda fw: fw.nn.functional.interpolate(fw.ones(1, 1, 2), scale_factor=(2.0, 2.0)),
    "broken sizes": lambda fw: fw.nn.functional.interpolate(fw.ones(1, 1, 2), (2.5,)),
    "a factor made to fit a size": lambda fw: fw.nn.functional.interpolate(
        fw.ones(1, 1, 2), 2, recompute_scale_factor=True
    ),
    "smooth rows": lambda fw: fw.nn.functional.interpolate(fw.ones(1, 1, 2), 2, mode="linear", antialias=True),
    "the mode of pictures for rows": lambda fw: fw.nn.functional.interpolate(fw.ones(1, 1, 2), 2, mode="bilinear"),
    "the mode of rows for volumes": lambda fw: fw.nn.functional.interpolate(fw.ones(1, 1, 2, 2, 2), 2, mode="linear"),
    "the mode of volumes for pictures": lambda fw: fw.nn.functional.interpolate(
        fw.ones(1, 1, 2, 2), 2, mode="trilinear"
    ),
    "an unknown mode": lambda fw: fw.nn.functional.interpolate(fw.ones(1, 1, 2), 2, mode="best"),
    "two dimensions": lambda fw: fw.nn.functional.interpolate(fw.ones(1, 2), 2),
    "nothing to come out of a row": lambda fw: fw.nn.functional.interpolate(fw.ones(1, 1, 2), 0),
    "nothing to come out": lambda fw: fw.nn.functional.interpolate(fw.ones(1, 1, 2, 2), (1, 0), mode="bicubic"),
    "nothing to come out of a volume": lambda fw: fw.nn.functional.interpolate(fw.ones(1, 1, 2, 2, 0), 2),
    "no channels": lambda fw: fw.nn.functional.interpolate(fw.ones(1, 0, 2), 2, mode="linear"),
    "averages of a vector": lambda fw: fw.nn.functional.adaptive_avg_pool2d(fw.ones(2), 2),
    "averages of nothing": lambda fw: fw.nn.functional.adaptive_avg_pool2d(fw.ones(1, 1, 0, 2), 2),
    "a patch too large": lambda fw: fw.nn.functional.unfold(fw.ones(1, 1, 2, 3), 4),
    "a patch of nothing": lambda fw: fw.nn.functional.unfold(fw.ones(1, 1, 2, 2), 0),
    "patches apart by nothing": lambda fw: fw.nn.functional.unfold(fw.ones(1, 1, 2, 2), 1, stride=0),
    "patches of a matrix": lambda fw: fw.nn.functional.unfold(fw.ones(1, 1, 0, 2), 1),
    "columns of another kernel": lambda fw: fw.nn.functional.fold(fw.ones(1, 3, 4), 3, 2),
    "columns of another picture": lambda fw: fw.nn.functional.fold(fw.ones(1, 4, 3), 3, 2),
    "rows of a vector": lambda fw: fw.pdist(fw.ones(2)),
    "rows of whole numbers": lambda fw: fw.pdist(fw.ones(2, 2, dtype=fw.int64)),
    "a negative norm": lambda fw: fw.pdist(fw.ones(2, 2), -1),
    "an empty list": lambda fw: fw._foreach_maximum([], 1.0),
    "fewer numbers": lambda fw: fw._foreach_maximum([fw.ones(1), fw.ones(1)], [1.0]),
    "fewer tensors": lambda fw: fw._foreach_maximum([fw.ones(1), fw.ones(1)], [fw.ones(1)]),
}
REPRS: list[Callable[[Any], Any]] = [
    lambda nn: nn.Upsample(scale_factor=2),
    lambda nn: nn.Upsample((2, 3), mode="bilinear"),
    lambda nn: nn.AdaptiveAvgPool1d(2),
    lambda nn: nn.AdaptiveAvgPool2d((2, None)),
    lambda nn: nn.AdaptiveAvgPool3d(1),
    lambda nn: nn.Unfold(2, padding=1),
    lambda nn: nn.Fold((3, 3), 2),
]


def filled(fw: Any, sizes: Sizes, dtype: str = "float64") -> Any:
    count = fw.ones(sizes).numel()
    return fw.sin(fw.arange(count, dtype=getattr(fw, dtype)) * 0.7 + 0.3).view(sizes).clone().requires_grad_()


def story(fw: Any, x: Any, build: Build) -> list[Any]:
    """What a function computes down to second derivatives, and the nodes on the way."""
    y = build(fw, x)
    told = [y, *saved_of(y.grad_fn)]
    (first,) = fw.autograd.grad((y * y * y).sum(), x, create_graph=True)
    told += [first, *saved_of(first.grad_fn)]
    (second,) = fw.autograd.grad((first * first).sum(), x)
    return [*told, second]


def saved_of(node: Any) -> list[Any]:
    told: list[Any] = [node.name(), len(node.next_functions)]
    for name in [name for name in dir(node) if name.startswith("_saved_") and not name.endswith("_dim")]:
        value = getattr(node, name)
        told.append(value if hasattr(value, "detach") else f"{name}={value}" if "tensor" not in str(value) else name)
    return told


def agree(ours: list[Any], theirs: list[Any], tolerance: float = 1e-9) -> None:
    for mine, other in zip(ours, theirs, strict=True):
        if not hasattr(mine, "detach"):
            assert mine == other or "dim=" in mine
            continue
        assert tuple(mine.shape) == tuple(other.shape)
        expected = mini.tensor(other.tolist(), dtype=mini.float64).view(tuple(other.shape))
        assert mini.allclose(mine.detach().double(), expected, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", INTERPOLATED)
def test_interpolation_is_pytorchs(name: str) -> None:
    sizes, settings = INTERPOLATED[name]

    def build(fw: Any, x: Any) -> Any:
        return fw.nn.functional.interpolate(x, **settings)

    agree(story(mini, filled(mini, sizes), build), story(real, filled(real, sizes), build))


@pytest.mark.parametrize("name", [name for name in INTERPOLATED if "average" not in name])
def test_interpolation_of_single_precision_rounds_positions_as_pytorch_does(name: str) -> None:
    sizes, settings = INTERPOLATED[name]
    told = [[fw.nn.functional.interpolate(filled(fw, sizes, "float32"), **settings)] for fw in (mini, real)]
    agree(told[0], told[1], 1e-5)


@pytest.mark.parametrize("name", COMPUTED)
def test_the_others_are_pytorchs(name: str) -> None:
    sizes, build = COMPUTED[name]
    agree(story(mini, filled(mini, sizes), build), story(real, filled(real, sizes), build))


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, float("inf")])
def test_distances_of_rows_and_their_gradients_are_pytorchs(p: float) -> None:
    told = []
    for fw in (mini, real):
        x = fw.tensor([[0.0, 2.0], [1.0, 2.0], [0.0, 2.0], [-1.0, 0.5]], requires_grad=True)
        y = fw.pdist(x, p)
        told.append([y, *saved_of(y.grad_fn)])
        y.backward(fw.arange(6) * 1.0)
        told[-1].append(x.grad)
    agree(told[0], told[1], 1e-5)


def test_the_gradient_of_distances_has_none_itself() -> None:
    errors = []
    for fw in (mini, real):
        x = filled(fw, (3, 2))
        (first,) = fw.autograd.grad(fw.pdist(x).sum(), x, create_graph=True)
        with pytest.raises(RuntimeError) as raised:
            first.sum().backward()
        errors.append(str(raised.value).splitlines()[0])
    assert errors[0] == errors[1]


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_pytorchs(name: str) -> None:
    errors = []
    for fw in (mini, real):
        with pytest.raises((RuntimeError, ValueError, TypeError)) as raised:
            REFUSED[name](fw)
        errors.append((raised.type, str(raised.value).splitlines()[0]))
    assert errors[0] == errors[1]


def test_modules_show_themselves_as_pytorchs_do() -> None:
    for build in REPRS:
        assert repr(build(mini.nn)) == repr(build(real.nn))


def test_modules_compute_what_the_functions_do() -> None:
    for fw in (mini, real):
        x = filled(fw, (1, 4, 4, 4))
        assert tuple(fw.nn.Upsample(scale_factor=2)(x).shape) == (1, 4, 8, 8)
        assert tuple(fw.nn.AdaptiveAvgPool2d((2, None))(x).shape) == (1, 4, 2, 4)
        assert tuple(fw.nn.Fold(4, 2, stride=2)(fw.nn.Unfold(2, stride=2)(x)).shape) == (1, 4, 4, 4)


def test_one_node_stands_behind_all_results_of_a_list() -> None:
    for fw in (mini, real):
        x, y = filled(fw, (2,)), filled(fw, (3,))
        first, second = fw._foreach_maximum([x, y], [0.1, 2])
        assert first.grad_fn is second.grad_fn
        assert (first.output_nr, second.output_nr) == (0, 1)
        assert first.grad_fn._saved_scalars == (0.1, 2)
        assert first.grad_fn._saved_self[1] is y
        first.sum().backward()
        assert (x.grad.tolist(), y.grad) == ([1.0, 1.0], None) or y.grad.tolist() == [0.0] * 3
        with pytest.raises(RuntimeError, match="after they have already been freed"):
            _ = first.grad_fn._saved_self


def test_a_number_that_a_node_saved_is_shown_as_the_kind_that_it_was() -> None:
    for fw in (mini, real):
        x = fw.zeros(2, requires_grad=True)
        for given in (True, 1, 1.0, 1 + 0j):
            saved = fw.threshold(x, given, given).grad_fn._saved_threshold
            assert (type(saved), saved) == (type(given), given)
        assert fw.threshold(x, fw.tensor(2), 1).grad_fn._saved_threshold == 2
        with pytest.raises(RuntimeError, match="cannot be converted"):
            fw.threshold(x, 1 + 1j, 0)


def test_a_window_remembers_whether_it_was_told_where_to_begin() -> None:
    for fw in (mini, real):
        x = filled(fw, (2, 2))
        assert x.as_strided((3,), (1,)).grad_fn._saved_storage_offset is None
        assert x.as_strided((3,), (1,), 1).grad_fn._saved_storage_offset == 1
