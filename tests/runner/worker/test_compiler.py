from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import pytest

from gradlife.runner.worker.framework import load_compiler
from gradlife.runner.worker.serve import prepare


@pytest.fixture
def framework(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """An imported package with a compiler that is not imported yet."""
    package = tmp_path / "frame_with_compiler"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "_dynamo.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("frame_with_compiler", "frame_with_compiler._dynamo"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return __import__("frame_with_compiler")


def is_loaded() -> bool:
    return "frame_with_compiler._dynamo" in sys.modules


@pytest.mark.parametrize("needs", ["optim.SGD", "numpy utils.checkpoint.checkpoint"])
def test_a_story_of_a_compiled_part_finds_the_compiler_imported(framework: ModuleType, needs: str) -> None:
    load_compiler(framework, needs)
    assert is_loaded()


@pytest.mark.parametrize("needs", ["", "numpy hooks", "nn.Module"])
def test_other_stories_do_not_pay_for_the_compiler(framework: ModuleType, needs: str) -> None:
    load_compiler(framework, needs)
    assert not is_loaded()


def test_a_framework_without_a_compiler_is_fine() -> None:
    load_compiler(ModuleType("frame_without_compiler"), "optim.SGD")


def test_a_server_imports_the_compiler_before_the_first_story_that_needs_it(framework: ModuleType) -> None:
    prepare("frame_with_compiler", {"do": "list"})
    prepare("frame_with_compiler", {"do": "run", "needs": "numpy"})
    assert not is_loaded()
    prepare("frame_with_compiler", {"do": "run", "needs": "optim.SGD", "isolation": "fork"})
    assert is_loaded()


def test_a_server_leaves_the_compiler_to_a_fresh_interpreter(framework: ModuleType) -> None:
    prepare("frame_with_compiler", {"do": "run", "needs": "optim.SGD", "isolation": "fresh"})
    assert not is_loaded()
