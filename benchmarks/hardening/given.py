"""Calls that a search cannot find: argument rows, required states, and entry points that refuse every call."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import gradlife.engine as torch
from benchmarks.hardening.material import Make, leaf, matrix, numbers, unit_rows, value_of, vector
from gradlife import _engine

Action = Callable[[], Any]
Prepare = Callable[[], Action]


class Kind(torch.Tensor):
    """A subclass."""


class Halved(torch.autograd.Function):
    """Saves its input."""

    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.save_for_backward(x)
        return x / 2

    @staticmethod
    def backward(ctx: Any, gradient: Any) -> Any:
        return gradient / 2 + ctx.saved_tensors[0] * 0


class Legacy(torch.autograd.Function):
    """An instance is its own context, as until 1.2."""

    def forward(self, x: Any) -> Any:  # type: ignore[override]
        self.save_for_backward(x)
        return x * 3

    def backward(self, gradient: Any) -> Any:  # type: ignore[override]
        return gradient * self.saved_tensors[0]


def unchanged(value: Any) -> Any:
    """A hook that keeps nothing."""
    return value


def picture() -> Any:
    """Return an image of one channel with history."""
    return matrix().view(1, 1, 2, 2)


def cached() -> Any:
    """A tensor that may be cached."""
    _engine._set_cached_tensors_enabled(True)
    return leaf()


def with_hooks_pushed() -> Action:
    _engine._push_saved_tensors_default_hooks(unchanged, unchanged)
    return _engine._pop_saved_tensors_default_hooks


def in_backward(ask: Callable[..., Any]) -> Action:
    """Make a query during a backward, of a node or of the accumulator.

    Returns only the answer's type: a node kept by the hook would keep the hook.
    """
    x = leaf() * 2
    node = x.grad_fn.next_functions[0][0]
    lines: list[str] = []
    x.register_hook(lambda gradient: lines.append(type(ask(node)).__name__))
    total = x.sum()

    def act() -> list[str]:
        total.backward()
        return lines

    return act


def with_one_event() -> Action:
    _engine._clear_events()
    kept = leaf()
    return lambda: (_engine._events(), kept)[0]


def of_an_imaginary_part() -> Action:
    numbers = torch.tensor([1j, 2], requires_grad=True) + 1
    return lambda: numbers.imag


def of_living_slot(ask: Callable[[Any], Any]) -> Action:
    """Make a query about a saved slot whose node lives."""
    node = matrix().sin().grad_fn
    slot = node._raw_saved_self
    return lambda: (ask(slot), node)[0]


def of_hooked_slot(ask: Callable[[Any], Any]) -> Action:
    node = matrix().sin().grad_fn
    slot = node._raw_saved_self
    slot.register_hooks(unchanged, unchanged)
    return lambda: (ask(slot), node)[0]


def legacy_forward() -> Action:
    _engine._enter_policy("torch-1.1", {})
    return partial(Legacy()._do_forward, matrix())


def legacy_backward() -> Action:
    _engine._enter_policy("torch-1.1", {})
    function = Legacy()
    y = function(matrix())
    gradient = torch.ones((2, 2), dtype=torch.float64)
    return lambda: (function._do_backward((gradient,), True), y)[0]


#: Calls with more arguments than the search tries, or with some that no pool has.
GIVEN: dict[str, tuple[Make, ...]] = {
    "_add_cached_tensor": (cached,),
    "_enter_policy": (value_of("torch-1.10"), dict),
    "_set_default_policy": (value_of("torch-2.13"), dict),
    "_push_saved_tensors_default_hooks": (value_of(unchanged), value_of(unchanged)),
    "_saved_tensors_hooks_disable": (value_of("off"),),
    "_set_change_listener": (value_of(unchanged),),
    "_set_generator_state": (_engine._generator_state,),
    "_unsafe_set_version_counter": (lambda: (leaf(),), value_of((3,))),
    "view_as_real": (lambda: torch.tensor([1j, 2], requires_grad=True) + 1,),
    "_nn_batch_norm": (
        *(matrix, lambda: vector().detach(), lambda: vector().detach(), vector, vector),
        *(value_of(True), value_of(0.1), value_of(1e-5)),
    ),
    "_foreach_maximum": (lambda: [matrix(), vector()], value_of((0.5, 1.5))),
    "_nn_nll_loss": (matrix, numbers, value_of(None), value_of(1), value_of(-100)),
    "_run_backward": (
        lambda: (matrix().sum(),),
        lambda: (torch.ones((), dtype=torch.float64),),
        value_of(False),
        value_of(False),
        tuple,
        value_of(True),
        value_of(True),
    ),
    "TensorBase.__index__": (lambda: numbers().sum(),),
    "TensorBase.__new__": (value_of(torch.Tensor), value_of((0.5, 0.25))),
    "TensorBase._make_bare_class": (lambda: type("Kind", (torch.Tensor,), {}),),
    "TensorBase._make_subclass": (value_of(Kind), lambda: leaf().detach(), value_of(True)),
    "TensorBase.as_subclass": (matrix, value_of(Kind)),
    "StorageBase.__new__": (value_of(torch.UntypedStorage), value_of(4)),
    "_WeakTensorRef.__new__": (value_of(_engine._WeakTensorRef), leaf),
    "_FunctionBase.__new__": (value_of(Halved),),
    "from_numpy": (lambda: unit_rows().numpy(),),
    "narrow": (matrix, value_of(0), value_of(0), value_of(1)),
}

#: Calls that need a context around them.
PREPARED: dict[str, Prepare] = {
    "TensorBase.imag": of_an_imaginary_part,
    "_current_graph_task_execution_order": partial(
        in_backward, lambda node: _engine._current_graph_task_execution_order()
    ),
    "_current_graph_task_id": partial(in_backward, lambda node: _engine._current_graph_task_id() >= 0),
    "_current_autograd_node": partial(in_backward, lambda node: _engine._current_autograd_node()),
    "_get_current_graph_task_keep_graph": partial(
        in_backward, lambda node: _engine._get_current_graph_task_keep_graph()
    ),
    "_events": with_one_event,
    "_pop_saved_tensors_default_hooks": with_hooks_pushed,
    "_queue_callback": partial(in_backward, lambda node: _engine._queue_callback(int)),
    "_will_engine_execute_node": partial(in_backward, _engine._will_engine_execute_node),
    "TensorBase.__init_subclass__": lambda: Kind.__init_subclass__,
    "SavedTensor.unpack": partial(of_living_slot, lambda slot: slot.unpack()),
    "SavedTensor.data": partial(of_hooked_slot, lambda slot: slot.data),
    "SavedTensor.unpack_hook": partial(of_hooked_slot, lambda slot: slot.unpack_hook),
    "SavedTensor.register_hooks": partial(of_living_slot, lambda slot: slot.register_hooks(unchanged, unchanged)),
    "_FunctionBase.apply": lambda: partial(Halved.apply, matrix()),
    "_FunctionBase._do_backward": legacy_backward,
    "_FunctionBase._do_forward": legacy_forward,
}
#: Entry points that keep their arguments on purpose.
KEEPING = {"_hold_until_exit"}
#: Entry points that refuse every call, and why; the refusal is checked.
REFUSING = {
    "SavedTensor.__new__": "only the engine makes them",
    "TensorBase.__delitem__": "a tensor's elements can't be deleted",
}
