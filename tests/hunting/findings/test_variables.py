"""Results of the last step that a variable of a script holds, and those that something else holds."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from gradlife.heap.torch_layout.labels import RUNNING_FRAME
from gradlife.hunting.findings.builder import is_variable

TENSOR = SimpleNamespace(object="Tensor", detail="", type="torch.Tensor", bases=("torch._C.TensorBase",))


def holder(name: str, detail: str, type_: str = "") -> Any:
    return SimpleNamespace(object=name, detail=detail, type=type_, bases=())


@pytest.mark.parametrize(
    ("steps", "is_one"),
    [
        ([holder("module", "__main__"), TENSOR], True),
        ([holder(RUNNING_FRAME, "main (train.py)"), TENSOR], True),
        ([holder(RUNNING_FRAME, "main (train.py)"), holder("list", "len 2", "list"), TENSOR], True),
        ([holder("module", "helpers"), TENSOR], False),
        ([holder("module", "__main__"), holder("Model", "", "__main__.Model"), TENSOR], False),
        ([], False),
    ],
    ids=["main module", "running call", "list", "another module", "object", "nothing"],
)
def test_only_a_running_call_and_the_main_module_have_variables_of_the_script(steps: Any, is_one: bool) -> None:
    """A graph that a global variable of any imported module kept was taken for the loop's own."""
    trace: Any = SimpleNamespace(steps=steps)
    assert is_variable(trace) == is_one
