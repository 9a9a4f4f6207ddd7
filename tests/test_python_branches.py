"""Code for one version of CPython runs on that version alone: each such branch names the test that would miss it."""

from __future__ import annotations

import re

import pytest

from sources import ROOT

HEAP = "heap_py/interpreter"
OTHERS = "tests/engine/python/test_other_interpreters.py"
WALK = "tests/heap/walk"

#: By file and the version that its branch begins with, a test that fails if the branch is wrong.
TESTS = {
    ("base/pyref.hpp", "3.14"): "tests/engine/policy/test_control_blocks.py",
    ("engine_py/api/module.cpp", "3.12"): f"{OTHERS}::test_the_engine_is_not_loaded_into_another_interpreter",
    ("engine_py/api/module.cpp", "3.13"): f"{OTHERS}::test_the_engine_is_not_loaded_into_another_interpreter",
    ("engine_py/interpreter/errors.cpp", "3.12"): "tests/engine/functions/test_function_features.py",
    (
        f"{HEAP}/birth_lists.c",
        "3.15",
    ): f"{WALK}/test_birth_marks.py::test_births_are_exact_whatever_the_program_and_the",
    (f"{HEAP}/call_counter.cpp", "3.12"): f"{WALK}/test_call_counter.py::test_the_end_leaves_the_function_as_it_was",
    (
        f"{HEAP}/dict_types.hpp",
        "3.15",
    ): f"{WALK}/test_pitfalls.py::test_frozendict_has_the_keys_the_length_and_the_size",
    (f"{HEAP}/frames.c", "3.12"): f"{WALK}/test_pitfalls.py::test_locals_of_running_frames_are_known_references",
    (f"{HEAP}/frames.c", "3.13"): f"{WALK}/test_pitfalls.py::test_locals_of_running_frames_are_known_references",
    (f"{HEAP}/frames.c", "3.14"): f"{WALK}/test_pitfalls.py::test_an_argument_that_its_caller_has_in_no_variable",
    (f"{HEAP}/interpreter.c", "3.11"): "tests/test_supported_python.py::test_the_range_is_said_alike_everywhere",
    (f"{HEAP}/interpreter.c", "3.12"): f"{WALK}/test_roots.py::test_handler_of_a_signal",
    (f"{HEAP}/interpreter.c", "3.13"): f"{WALK}/test_roots.py::test_search_function_of_codecs",
    (f"{HEAP}/interpreter.c", "3.14"): f"{WALK}/test_roots.py::test_event_loop_and_task_that_run",
    (f"{HEAP}/interpreter.c", "3.15"): f"{WALK}/test_roots.py::test_filter_of_lazy_imports",
    (f"{HEAP}/interpreter.c", "3.16"): "tests/test_supported_python.py::test_the_range_is_said_alike_everywhere",
    (f"{HEAP}/interpreter.h", "3.14"): f"{WALK}/test_pitfalls.py::test_what_a_waiting_generator_only_borrows",
    (f"{HEAP}/objects.c", "3.12"): f"{WALK}/test_pitfalls.py::test_no_walk_makes_a_dict",
    (f"{HEAP}/objects.c", "3.13"): f"{WALK}/test_pitfalls.py::test_an_attribute_is_named_from_its_object",
    (f"{HEAP}/objects.c", "3.14"): f"{WALK}/test_pitfalls.py::test_a_variable_that_a_debugger_overwrote",
    (f"{HEAP}/shallow_size.cpp", "3.12"): f"{WALK}/test_pitfalls.py::test_sizes_are_those_of_memory_and_run_no_code",
    (f"{HEAP}/shallow_size.cpp", "3.15"): f"{WALK}/test_walk.py::test_an_array_of_bytes_has_the_size_that_python_says",
    (f"{HEAP}/stack.c", "3.12"): f"{WALK}/test_roots.py::test_value_on_the_stack_of_a_frame_that_a_debugger_watches",
    (f"{HEAP}/stack.c", "3.13"): f"{WALK}/test_roots.py::test_stack_is_followed_through_branches_and_handlers",
    (f"{HEAP}/stack.c", "3.14"): f"{WALK}/test_roots.py::test_value_on_the_stack_of_a_frame_that_is_inside_c_code",
    (f"{HEAP}/type_table.cpp", "3.12"): f"{WALK}/test_walk.py::test_a_file_in_memory_has_the_size_of_its_content",
    ("heap_py/labels/container_labels.cpp", "3.13"): f"{WALK}/test_oracle.py",
    ("heap_py/labels/type_labels.cpp", "3.12"): "tests/heap/labels/test_labels.py",
    ("heap_py/walk/walker.cpp", "3.12"): f"{WALK}/test_oracle.py",
}

VERSION = re.compile(r"PY_VERSION_HEX (?:<|>=) 0x(03[0-9a-fA-F]{2})")


def branches() -> set[tuple[str, str]]:
    csrc = ROOT / "csrc"
    return {
        (path.relative_to(csrc).as_posix(), f"3.{int(version[2:], 16)}")
        for path in sorted(csrc.rglob("*.[ch]*"))
        for version in VERSION.findall(path.read_text("utf-8"))
    }


def test_each_branch_for_a_version_of_python_has_a_test() -> None:
    assert branches() == set(TESTS)


@pytest.mark.parametrize("test", sorted(set(TESTS.values())))
def test_the_tests_of_the_branches_exist(test: str) -> None:
    file, _, name = test.partition("::")
    assert (ROOT / file).exists()
    assert not name or f"def {name}" in (ROOT / file).read_text("utf-8")
