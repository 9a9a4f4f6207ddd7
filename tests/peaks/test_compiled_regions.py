"""Code under torch.compile stays compiled while steps are recorded, and each of its regions is one operation."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
import warnings
from pathlib import Path
from typing import Any

import pytest

from gradlife.model.peak import codec
from gradlife.model.peak.report import Owner
from gradlife.peaks.recording.compiled import (
    AS_ONE,
    UNCOMPILED,
    WITH_FUNCTIONS,
    admit_operators_with_functions,
    limits_of,
    mode_beside_compiled_code,
)
from gradlife.peaks.recording.lifetimes import Recording, tick_before
from peak_recordings import names, recorded

torch: Any = pytest.importorskip("torch")
TorchDispatchMode: Any = importlib.import_module("torch.utils._python_dispatch").TorchDispatchMode
pytestmark = pytest.mark.torch


class Region:
    """Stands for Inductor's class: compiled code that runs a kernel of its own and operations of torch."""

    def __call__(self, inputs: list[Any]) -> list[Any]:
        scratch = torch.cos(inputs[0])
        outputs = [scratch * 2, scratch + 1]
        inputs.clear()
        return outputs


@pytest.fixture
def region(monkeypatch: pytest.MonkeyPatch) -> Region:
    inductor = type(sys)("torch._inductor.output_code")
    inductor.CompiledFxGraph = Region  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch._inductor.output_code", inductor)
    return Region()


def test_a_region_is_one_operation_that_reads_its_inputs_and_makes_its_outputs(region: Region) -> None:
    def step() -> None:
        double, more = region([torch.ones(1001)])
        more.sum()
        del double, more
        torch.zeros(3)

    plain, filters = Region.__call__, [*warnings.filters]
    found = recorded(step, 1)
    assert Region.__call__ is plain
    assert [*warnings.filters] == filters
    assert names(found) == ["ones", "compiled region", "sum", "zeros"]
    lives = [(one.birth, one.place, one.reads, one.died) for one in found.storages if one.final_bytes == 4004]
    at_the_end = tick_before(3)
    assert lives == [(0, 0, [1], tick_before(2)), (1, 0, [], at_the_end), (1, 1, [2], at_the_end)]
    assert limits_of(found) == (AS_ONE,)


def test_a_region_under_a_mode_of_the_program_runs_as_the_operations_that_the_mode_sees(region: Region) -> None:
    seen: list[str] = []

    class Log(TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(self, function: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(str(function))
            return function(*args, **(kwargs or {}))

    def step() -> None:
        with Log():
            region([torch.ones(5)])

    assert names(recorded(step, 1)) == ["ones", "cos", "mul", "add"]
    assert seen[1:] == ["aten.cos.default", "aten.mul.Tensor", "aten.add.Tensor"]


def test_a_torch_without_modes_beside_compiled_code_runs_it_uncompiled(monkeypatch: pytest.MonkeyPatch) -> None:
    compiler, modes = type(sys)("torch._dynamo.utils"), type(sys)("torch.utils._python_dispatch")
    compiler.counters = {"frames": {"ok": 1}}  # type: ignore[attr-defined]
    modes.TorchDispatchMode = type("Mode", (), {"ignore_compile_internals": None})  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "torch._dynamo.utils", compiler)
    monkeypatch.setitem(sys.modules, "torch.utils._python_dispatch", modes)
    nothing = Recording([], [], [0])
    assert limits_of(nothing) == ()
    modes.TorchDispatchMode = object  # type: ignore[attr-defined]
    assert limits_of(nothing) == (UNCOMPILED,)
    compiler.counters = {}  # type: ignore[attr-defined]
    assert limits_of(nothing) == ()


def test_an_operator_that_calls_functions_is_one_operation() -> None:
    from torch._higher_order_ops.cond import cond_op

    def step() -> None:
        x = torch.ones(1001)
        double = cond_op(x.sum() > 0, lambda one: one.cos() * 2, lambda one: one.sin(), (x,))
        (double[0] if isinstance(double, tuple) else double).sum()

    found = recorded(step, 1)
    assert names(found) == ["ones", "sum", "gt", "cond", "sum"]
    assert [(one.birth, one.reads) for one in found.storages if one.final_bytes == 4004] == [(0, [1, 3]), (3, [4])]
    assert limits_of(found) == (WITH_FUNCTIONS.format("cond"),)


class Operator:
    """Stands for an operator that calls functions: up to 2.7 it asks which modes are registered with it."""

    def __init__(self) -> None:
        self.registered: dict[Any, Any] = {}

    def py_impl(self, key: Any) -> Any:
        def register(rule: Any) -> None:
            assert key not in self.registered
            self.registered[key] = rule

        return register


def test_an_older_operator_that_calls_functions_runs_under_the_mode(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mode:
        def __torch_dispatch__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
            return function, types, args, kwargs

    monkeypatch.setattr(sys.modules["torch._ops"], "_higher_order_ops", operators := {"cond": Operator()})
    mode = mode_beside_compiled_code(Mode)
    admit_operators_with_functions(type(mode))
    operators["scan"] = Operator()  # of a module that is imported later
    admit_operators_with_functions(type(mode_beside_compiled_code(Mode)))
    for operator in operators.values():
        [rule] = operator.registered.values()
        assert rule(mode, 1, two=2) == (operator, (), (1,), {"two": 2})


def test_a_newer_operator_that_calls_functions_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    class Mode:
        supports_higher_order_operators = False

    monkeypatch.setattr(sys.modules["torch._ops"], "_higher_order_ops", {"cond": (operator := Operator())})
    admit_operators_with_functions(type(mode_beside_compiled_code(Mode)))
    assert operator.registered == {}


#: Inductor makes no C++ of a product of matrices, so this needs no compiler.
COMPILED = """\
import torch

weight = torch.ones(100, 400, requires_grad=True)


@torch.compile
def forward(x):
    return (x @ weight) @ weight.T


def step():
    output = forward(torch.ones(500, 100))
    loss = output.square().sum()
    loss.backward()
"""


@pytest.mark.whole
def test_a_program_under_torch_compile_is_recorded_as_it_runs(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(COMPILED)
    command = [sys.executable, "-m", "gradlife", "peak", "--json", "out.json", "train.py::step"]
    settings = {**os.environ, "TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache"), "CXX": "/bin/false"}
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=900, env=settings)
    assert done.returncode == 0, done.stderr
    report = codec.loads((tmp_path / "out.json").read_text())
    assert report.limits == (AS_ONE if hasattr(TorchDispatchMode, "ignore_compile_internals") else UNCOMPILED,)
    saved = {share.owner: share.bytes for share in report.owners}[Owner.SAVED]
    first_product, x, output, weight = 500 * 400, 500 * 100, 500 * 100, 100 * 400  # the first one stays in the region
    assert saved == 4 * (first_product + x + output + weight)
