"""What holds memory has the name of a variable and its function, however many tracebacks lead to the frame."""

from __future__ import annotations

import pytest

from gradlife.hunting.findings.memory_places import is_inside_last_error, owner_name, place_text
from gradlife.model.trace import PathStep


def step(object_: str, via: str, detail: str = "", relation: str = "attribute", kind: str = "python") -> PathStep:
    bases = ("RuntimeError", "Exception", "BaseException") if object_.endswith("Error") else ()
    return PathStep(object_, detail, kind, via, relation, type=f"torch.{object_}", bases=bases)


SYS = step("interpreter", "global variable 'last_traceback' of module sys", kind="root")
THREAD = step("thread", "exception being handled", "Thread-1 (work)", kind="root")
MODULE = step("module", "global variable 'errors'", "__main__")
ERRORS = step("list", "[0]")
ERROR = step("OutOfMemoryError", ".__traceback__")
TRACEBACK = step("traceback", ".tb_frame")
CALLER = step("frame", ".f_back", "main (train.py:40)")
FRAME = step("frame", "local variable 'out'", "Trainer.step (train.py:14)", "local")
RUNNING = step("running frame", "local variable 'kept'", "main (train.py:40)", "local", "root")
RUNPY = step("frame", "local variable 'mod_globals'", "_run_module_code (<frozen runpy>:98)", "local")
DICT = step("dict", "['kept']")
TENSOR = step("Tensor", "storage", "float32 [3]")
STORAGE = step("StorageImpl", "", kind="storage")
LIST = step("list", "[3]")
OUT = "local variable 'out' of Trainer.step, train.py:14"


@pytest.mark.parametrize(
    ("steps", "place"),
    [
        ((SYS, TRACEBACK, FRAME, TENSOR), OUT),
        ((THREAD, ERROR, TRACEBACK, CALLER, FRAME, TENSOR), OUT),
        ((SYS, TRACEBACK, FRAME, TENSOR, STORAGE), OUT),
        ((SYS, TRACEBACK, FRAME, LIST, TENSOR), "local variable 'out'[*] of Trainer.step, train.py:14"),
        ((RUNNING, LIST, TENSOR), "local variable 'kept'[*] of main, train.py:40"),
        ((MODULE, ERRORS, ERROR, FRAME, TENSOR), f"module __main__: global variable 'errors'[*] → {OUT}"),
        ((RUNNING, ERROR, TRACEBACK, FRAME, TENSOR), f"local variable 'kept' of main, train.py:40 → {OUT}"),
        ((SYS, TRACEBACK, RUNPY, DICT, LIST), "module __main__: global variable 'kept'"),
        ((MODULE, ERRORS, TENSOR), "module __main__: global variable 'errors'[*]"),
    ],
    ids=["traceback", "thread", "storage", "item", "running", "program", "variable", "runpy", "module"],
)
def test_a_place_behind_a_traceback_is_its_variable_and_who_keeps_the_exception(
    steps: tuple[PathStep, ...], place: str
) -> None:
    assert place_text(steps) == place


def test_an_owner_has_the_type_of_its_tensor_behind_a_frame_and_of_its_storage_elsewhere() -> None:
    assert owner_name((SYS, TRACEBACK, FRAME, TENSOR, STORAGE), "torch::StorageImpl") == f"{OUT}: torch.Tensor"
    name = "module __main__: global variable 'errors'[*] → storage: torch::StorageImpl"
    assert owner_name((MODULE, ERRORS, TENSOR, STORAGE), "torch::StorageImpl") == name


def test_tracebacks_of_the_last_error_are_not_owners_and_those_that_the_program_keeps_are() -> None:
    assert is_inside_last_error((SYS, TRACEBACK, TRACEBACK))
    assert is_inside_last_error((THREAD, ERROR, TRACEBACK, CALLER))
    assert not is_inside_last_error((MODULE, ERRORS, ERROR, TRACEBACK))
    assert not is_inside_last_error((SYS, TRACEBACK, FRAME, TENSOR))
