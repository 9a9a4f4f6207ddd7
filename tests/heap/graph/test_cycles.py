"""Cycles through C++ objects, PyTorch's and the engine's: each is shown whole, and said to be what it is.

The rows are those that were measured on PyTorch 2.13: which cycles the collector frees, and which nothing does.
"""

from __future__ import annotations

import gc
import re
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest

from gradlife.heap import why
from gradlife.model.trace import Lifetime, Trace
from leftovers import run_in_child
from programs_of_cycles import GC, NEVER, Build, leaf, saves_output

FRAMEWORKS = [pytest.param("torch", marks=pytest.mark.torch), "gradlife.engine"]

#: The trace of each cycle, step by step: who refers to the next one, and how. Hooks' numbers are left out.
CYCLES: dict[str, list[str]] = {
    "hook_over_its_own_tensor": ["Tensor tensor hook", "function closure variable 'held'"],
    "hook_on_a_leaf_over_a_later_output": [
        "Tensor grad_fn",
        "MulBackward0 next edge",
        "AccumulateGrad variable",
        "TensorImpl tensor hook",
        "function closure variable 'held'",
    ],
    "hook_on_a_middle_tensor_over_a_later_output": [
        "Tensor grad_fn",
        "MulBackward0 next edge",
        "SinBackward0 tensor hook",
        "function closure variable 'held'",
    ],
    "post_accumulate_hook_over_its_leaf": ["Tensor post-accumulate hook", "function closure variable 'held'"],
    "post_accumulate_hook_over_the_output": [
        "Tensor grad_fn",
        "MulBackward0 next edge",
        "AccumulateGrad variable",
        "TensorImpl post-accumulate hook",
        "function closure variable 'held'",
    ],
    "hook_for_all_of_several_tensors_over_one": [
        "Tensor tensor hook",
        "function closure variable 'fn'",
        "function closure variable 'held'",
    ],
    "hook_for_any_of_several_tensors_over_one": [
        "Tensor tensor hook",
        "function .__wrapped__",
        "function closure variable 'held'",
    ],
    "node_hook_over_its_output": ["Tensor grad_fn", "SinBackward0 node hook", "function closure variable 'held'"],
    "node_prehook_over_its_output": ["Tensor grad_fn", "SinBackward0 node prehook", "function closure variable 'held'"],
    "node_hook_over_a_later_output": [
        "Tensor grad_fn",
        "ExpBackward0 next edge",
        "SinBackward0 node hook",
        "function closure variable 'held'",
    ],
    "node_prehook_over_a_later_output": [
        "Tensor grad_fn",
        "ExpBackward0 next edge",
        "SinBackward0 node prehook",
        "function closure variable 'held'",
    ],
    "accumulator_hook_over_the_output": [
        "Tensor grad_fn",
        "SinBackward0 next edge",
        "AccumulateGrad node hook",
        "function closure variable 'held'",
    ],
    "accumulator_hook_over_its_leaf": ["Tensor .result", "Tensor grad_fn", "SinBackward0 saved tensor 'self'"],
    "metadata_over_the_node": ["Thing .held", "SinBackward0 metadata", "dict ['thing']"],
    "metadata_over_the_output": ["Tensor grad_fn", "SinBackward0 metadata", "dict ['output']"],
    "ctx_attribute_over_a_later_output": ["Tensor grad_fn", "MulBackward0 next edge", "PassesBackward .later"],
    "input_over_the_output_that_saved_it": ["Tensor .out", "Tensor grad_fn", "MulBackward0 saved tensor 'other'"],
    "input_over_the_output_whose_ctx_saved_it": [
        "Tensor .out",
        "Tensor grad_fn",
        "SavesInputBackward .saved_tensors[0]",
    ],
    "input_over_the_output_that_leads_to_it": [
        "Tensor .out",
        "Tensor grad_fn",
        "AddBackward0 next edge",
        "AccumulateGrad variable",
    ],
    "saved_view_of_the_output": ["Tensor grad_fn", "KeepsViewBackward .saved_tensors[0]", "TensorImpl base"],
    "packed_over_the_output": ["Tensor grad_fn", "ExpBackward0 packed", "Thing .held"],
    "unpack_hook_over_the_output": [
        "Tensor grad_fn",
        "SinBackward0 unpack hook",
        "function closure variable 'kept'",
        "list [0]",
    ],
    "store_of_what_was_packed_owned_by_unpack": [
        "Tensor grad_fn",
        "ExpBackward0 pack hook",
        "function closure variable 'store'",
        "dict [0]",
    ],
    "pack_that_returns_its_argument": ["Tensor grad_fn", "ExpBackward0 packed"],
    "hooks_of_one_saved_tensor_over_the_output": ["Tensor grad_fn", "SinBackward0 packed", "tuple [1]"],
    "checkpointed_function_over_its_output": [
        "Tensor grad_fn",
        "ExpBackward0 pack hook",
        "function closure variable 'frame'",
        "_CheckpointFrame .recompute_fn",
        "function closure variable 'fn'",
        "function closure variable 'kept'",
        "list [0]",
    ],
    "gradient_that_refers_to_its_leaf": ["Tensor grad", "Tensor .owner"],
    "backward_that_creates_a_graph": [
        "Tensor grad",
        "TensorImpl grad_fn",
        "CopyBackwards next edge",
        "MulBackward0 next edge",
        "MulBackward1 next edge",
        "PowBackward0 saved tensor 'self'",
    ],
    "base_over_its_view": ["Tensor .view_of", "Tensor base"],
    "storage_over_a_tensor_on_it": ["Tensor storage", "UntypedStorage .tensor"],
    "tensor_over_itself": ["Tensor .me"],
    "tensor_with_slots_over_itself": ["Slotted .me"],
    "ctx_over_itself": ["PassesBackward .me"],
    "ctx_over_its_output": ["Tensor grad_fn", "KeepsOutputBackward .output"],
    "leaf_hook_over_its_leaf": ["Tensor tensor hook", "function closure variable 'held'"],
    "node_hook_over_its_node": ["Thing .held", "SinBackward0 node hook", "function closure variable 'held'"],
    "hooks_attributes_over_each_other": ["Tensor tensor hook", "Tensor tensor hook"],
    "two_tensors_over_each_other": ["Tensor .y", "Tensor .x"],
    "two_tensors_over_each_other_with_one_memory": ["Tensor .y", "Tensor .x"],
    "tensor_changed_in_place_over_itself": ["Tensor .me"],
    "reentrant_checkpoint_over_its_output": [
        "Tensor grad_fn",
        "CheckpointFunctionBackward .run_function",
        "function closure variable 'kept'",
        "list [0]",
    ],
    "error_of_a_hook_in_a_local": ["frame local variable 'kept'", "KeyError .__traceback__"],
}

#: Where the engine's is another.
OF_ENGINE: dict[str, list[str]] = {
    "hook_on_a_leaf_over_a_later_output": [
        "Tensor grad_fn",
        "MulBackward0 next edge",
        "AccumulateGrad variable",
        "Tensor tensor hook",
        "function closure variable 'held'",
    ],
    "post_accumulate_hook_over_the_output": [
        "Tensor grad_fn",
        "MulBackward0 next edge",
        "AccumulateGrad variable",
        "Tensor post-accumulate hook",
        "function closure variable 'held'",
    ],
    "hook_for_any_of_several_tensors_over_one": [
        "Tensor tensor hook",
        "function closure variable 'fn'",
        "function closure variable 'held'",
    ],
    "ctx_attribute_over_a_later_output": [
        "Tensor grad_fn",
        "MulBackward0 next edge",
        "PassesBackward context",
        "PassesBackward .later",
    ],
    "input_over_the_output_whose_ctx_saved_it": [
        "Tensor .out",
        "Tensor grad_fn",
        "SavesInputBackward .saved_tensors[0]",
    ],
    "saved_view_of_the_output": ["Tensor grad_fn", "KeepsViewBackward .saved_tensors[0]", "Tensor base"],
    "checkpointed_function_over_its_output": [
        "Tensor grad_fn",
        "ExpBackward0 pack hook",
        "method .__self__",
        "_CheckpointFrame .recompute_fn",
        "function closure variable 'function'",
        "function closure variable 'kept'",
        "list [0]",
    ],
    "backward_that_creates_a_graph": [
        "Tensor grad",
        "Tensor grad_fn",
        "CopyBackwards next edge",
        "MulBackward0 next edge",
        "MulBackward1 next edge",
        "PowBackward0 saved tensor 'self'",
    ],
}


@pytest.fixture(params=FRAMEWORKS)
def fw(request: pytest.FixtureRequest) -> Any:
    return pytest.importorskip(request.param)


@pytest.fixture(autouse=True)
def _collector_off() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def sentences(trace: Trace) -> list[str]:
    return [re.sub(r" \d+$", "", f"{step.object} {step.via}") for step in trace.cycle]


def cycle_of(build: Build, fw: Any) -> list[str]:
    other = OF_ENGINE if fw.__name__ == "gradlife.engine" else CYCLES
    return other.get(build.__name__, CYCLES[build.__name__])


@dataclass(frozen=True)
class Seen:
    """The graph's verdict on a cycle, and the collector's."""

    lifetime: Lifetime
    cycle: list[str]
    has_steps: bool
    has_legs: bool
    is_alive: bool


def see(build: Build, fw: Any) -> Seen:
    reference = build(fw)
    trace = why(reference())
    seen = Seen(trace.lifetime, sentences(trace), bool(trace.steps), bool(trace.hidden_references), is_alive=False)
    del trace
    gc.collect()
    return replace(seen, is_alive=reference() is not None)


@pytest.mark.whole
@pytest.mark.parametrize("build", NEVER, ids=lambda build: build.__name__)
def test_cycle_with_a_leg_in_cpp_is_shown_whole_and_never_freed(fw: Any, build: Build) -> None:
    seen = run_in_child(see, build, fw) if fw.__name__ == "gradlife.engine" else see(build, fw)
    assert seen == Seen(Lifetime.NEVER, cycle_of(build, fw), has_steps=False, has_legs=True, is_alive=True)


@pytest.mark.parametrize("build", GC, ids=lambda build: build.__name__)
def test_cycle_that_the_collector_sees_waits_for_it(fw: Any, build: Build) -> None:
    seen = see(build, fw)
    assert seen == Seen(Lifetime.GC, cycle_of(build, fw), has_steps=False, has_legs=False, is_alive=False)


def test_every_cycle_is_reported_as_something() -> None:
    assert {build.__name__ for build in (*NEVER, *GC)} == set(CYCLES)


def test_output_saved_by_its_own_function_makes_no_cycle(fw: Any) -> None:
    reference = weakref.ref(saves_output(fw).apply(leaf(fw)))
    assert reference() is None
