"""Batch and instance normalisation against PyTorch: values, gradients, running moments, refusals."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as mini

real = pytest.importorskip("torch")
pytestmark = pytest.mark.torch
Build = Callable[[Any], Any]

MODULES: dict[str, tuple[Build, tuple[int, ...]]] = {
    "BatchNorm1d": (lambda nn: nn.BatchNorm1d(3), (4, 3)),
    "BatchNorm1d of rows": (lambda nn: nn.BatchNorm1d(3), (2, 3, 5)),
    "BatchNorm1d, not affine": (lambda nn: nn.BatchNorm1d(3, affine=False), (4, 3)),
    "BatchNorm1d without running moments": (lambda nn: nn.BatchNorm1d(3, track_running_stats=False), (4, 3)),
    "BatchNorm1d with the average of all batches": (lambda nn: nn.BatchNorm1d(3, momentum=None), (4, 3)),
    "BatchNorm2d": (lambda nn: nn.BatchNorm2d(2, eps=0.1), (3, 2, 2, 2)),
    "BatchNorm3d": (lambda nn: nn.BatchNorm3d(2), (2, 2, 1, 2, 2)),
    "InstanceNorm1d": (lambda nn: nn.InstanceNorm1d(3), (2, 3, 4)),
    "InstanceNorm2d": (lambda nn: nn.InstanceNorm2d(2, affine=True), (2, 2, 2, 3)),
    "InstanceNorm2d of one": (lambda nn: nn.InstanceNorm2d(2), (2, 2, 3)),
    "InstanceNorm2d with running moments": (lambda nn: nn.InstanceNorm2d(2, track_running_stats=True), (2, 2, 2, 3)),
}
REFUSED: dict[str, Build] = {
    "one value": lambda fw: fw.nn.BatchNorm1d(5)(fw.ones(1, 5)),
    "one element of each": lambda fw: fw.nn.InstanceNorm2d(2)(fw.ones(1, 2, 1, 1)),
    "another number of channels": lambda fw: fw.nn.BatchNorm1d(5)(fw.ones(2, 4)),
    "another number of channels to scale": lambda fw: fw.nn.InstanceNorm1d(5, affine=True)(fw.ones(2, 4, 2)),
    "too few dimensions": lambda fw: fw.nn.BatchNorm1d(5)(fw.ones(2)),
    "too few dimensions for pictures": lambda fw: fw.nn.BatchNorm2d(5)(fw.ones(2, 5)),
    "too few dimensions for each": lambda fw: fw.nn.InstanceNorm2d(5)(fw.ones(2, 5)),
    "no moments": lambda fw: fw.nn.functional.batch_norm(fw.ones(2, 2), None, None),
}


def filled(fw: Any, sizes: tuple[int, ...], step: float) -> Any:
    count = fw.ones(sizes).numel()
    return fw.sin(fw.arange(count, dtype=fw.float64) * step).view(sizes)


def run(fw: Any, name: str, training: bool) -> list[Any]:
    """Everything that a module computes for two batches, down to second derivatives."""
    build, sizes = MODULES[name]
    module = build(fw.nn).double().train(training)
    for i, parameter in enumerate(module.parameters()):
        parameter.data.copy_(filled(fw, tuple(parameter.shape), 0.7 + i))
    told: list[Any] = [repr(list(module.state_dict()))]
    for step in (1.3, 0.4):
        x = filled(fw, sizes, step).requires_grad_()
        y = module(x)
        inputs = (x, *module.parameters())
        first = fw.autograd.grad((y * y * y).sum(), inputs, create_graph=True)
        second = fw.autograd.grad((first[0] * filled(fw, sizes, 2.1)).sum(), inputs, allow_unused=True)
        told += [y, *first, *(each for each in second if each is not None)]
        told.append(y.grad_fn.name())
    return [*told, *module.state_dict().values()]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name", MODULES)
def test_values_gradients_and_running_moments_are_pytorchs(name: str, training: bool) -> None:
    for ours, theirs in zip(run(mini, name, training), run(real, name, training), strict=True):
        if isinstance(ours, str):
            assert ours == theirs
        else:
            assert mini.allclose(ours.detach().double(), mini.tensor(theirs.tolist(), dtype=mini.float64), atol=1e-7)


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_are_pytorchs(name: str) -> None:
    errors = []
    for fw in (mini, real):
        with warnings.catch_warnings(action="ignore"), pytest.raises((RuntimeError, ValueError)) as raised:
            REFUSED[name](fw)
        errors.append((raised.type, str(raised.value)))
    assert errors[0] == errors[1]


def test_another_number_of_channels_is_told_where_nothing_depends_on_it() -> None:
    for fw in (mini, real):
        with pytest.warns(UserWarning, match="input's size at dim=1 does not match num_features"):
            fw.nn.InstanceNorm2d(2)(fw.ones(1, 3, 2, 2))


def test_the_node_keeps_what_pytorchs_keeps() -> None:
    names = []
    for fw in (mini, real):
        y = fw.nn.BatchNorm1d(2)(fw.arange(4.0).view(2, 2).requires_grad_())
        names.append([name for name in dir(y.grad_fn) if "saved" in name])
        assert y.grad_fn._saved_training is True
        assert y.grad_fn._saved_eps == 1e-05
        assert y.grad_fn._saved_running_mean.tolist() == pytest.approx([0.1, 0.2])
    assert names[0] == names[1]


def test_running_moments_move_without_counting_versions() -> None:
    for fw in (mini, real):
        module = fw.nn.BatchNorm1d(2)
        module(fw.arange(4.0).view(2, 2))
        assert (module.running_mean._version, int(module.num_batches_tracked)) == (1, 1)


def test_a_batch_goes_to_the_one_device_there_is() -> None:
    for fw in (mini, real):
        parallel = fw.nn.DataParallel(fw.nn.Linear(2, 1))
        assert list(parallel.state_dict()) == ["module.weight", "module.bias"]
        assert parallel(fw.ones(3, 2)).shape == (3, 1)
        assert (fw.cuda.is_available(), fw.cuda.device_count()) == (False, 0)
