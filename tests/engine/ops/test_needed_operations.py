"""The engine is small enough to read because an operation exists only where something about lifetimes calls it."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from sources import ROOT

ROW = re.compile(r'(?:operation<[^;]*?>\(|\{)"(\w+)"(?:\)|, (?:as_method|manual_seed|initial_seed))')
#: What calls operations: stories, documentation, the rules of the fuzzer, and the engine's own Python.
CALLERS = ("scenarios", "docs", "README.md", "benchmarks/fuzz", "benchmarks/workloads.py", "gradlife/engine")
#: Methods that read a tensor's values, dtype or layout are no operations: they compute nothing.
VIEWS_OF_A_TENSOR = Path("csrc/engine_py/ops/value_methods.cpp")


def operations(folder: Path) -> set[str]:
    """The names in the tables of methods and functions."""
    texts = (path.read_text("utf-8") for path in folder.glob("*.cpp") if path.name != VIEWS_OF_A_TENSOR.name)
    return {name for text in texts for name in ROW.findall(text)}


def uncalled(names: Iterable[str], texts: Iterable[str], listed: set[str]) -> set[str]:
    """Names that no text calls, as `.name` or, in the rules of the fuzzer, `"name()"`, and that no list holds."""
    called = {name for text in texts for name in re.findall(r'\.(\w+)|"(\w+)(?:[.(][^"]*)?"', text) for name in name}
    return set(names) - called - listed


def caller_texts() -> list[str]:
    places = [ROOT / place for place in CALLERS]
    files = [path for place in places for path in ([place] if place.is_file() else place.rglob("*.*"))]
    return [path.read_text("utf-8") for path in files if path.suffix in (".py", ".md")]


def listed_names() -> set[str]:
    lines = (Path(__file__).parent / "lifetime_test_operations.txt").read_text("utf-8").splitlines()
    return {line for line in lines if not line.startswith("#")}


def test_every_operation_has_a_caller_about_lifetimes() -> None:
    names = operations(ROOT / "csrc/engine_py/ops")
    assert {"sum", "add_", "zeros", "_nn_linear", "manual_seed"} <= names
    assert uncalled(names, caller_texts(), listed_names()) == set()


def test_an_operation_without_a_caller_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "table.cpp").write_text(
        'const Operation rows[] = {operation<unary<ops::erfinv>>("erfinv"), operation<sum>("sum")};\n'
        'PyMethodDef more[] = {{"pdist", as_method(pdist), fast_call, nullptr}};\n',
        encoding="utf-8",
    )
    assert uncalled(operations(tmp_path), ["x.sum()"], {"mul"}) == {"erfinv", "pdist"}
