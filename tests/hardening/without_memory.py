"""Calls of the engine with each of their allocations failing in turn; run by test_without_memory.py, prints JSON.

Each story returns what was seen, whichever allocation failed, and where none did.
"""

from __future__ import annotations

import gc
import json
from collections.abc import Callable, Iterator
from typing import Any

import gradlife.engine as torch
from benchmarks.hardening.injector import KINDS, Injector
from gradlife import _engine

Action = Callable[[], Any]
faults = Injector.load()


def endings(prepare: Callable[[], Action]) -> Iterator[str]:
    """The name of what the call raises with each allocation failing in turn, its result dropped; last without a fault."""
    for kind in KINDS:
        fired, number = True, 0
        while fired:
            error, fired = faults.run(kind, number, prepare())[1:]
            name = type(error).__name__
            del error
            number += 1
            yield name


def matrix() -> Any:
    return torch.tensor([[0.5, 0.25], [0.5, 0.25]], requires_grad=True) * 1


def constructors_that_fail() -> Any:
    """Count the objects that each failing constructor leaves, as the list of living objects shows them."""
    x = matrix()
    gc.collect()  # whenever it ran next, it would take what earlier stories left
    before = len(_engine._live_graph())
    return sorted({(name, len(_engine._live_graph()) - before) for name in endings(lambda: x.sin)})


def a_node_that_dies_behind_its_slot() -> Any:
    """Its place in memory is noted as it goes, without memory to note it in."""

    def prepare() -> Action:
        y = matrix().sin()
        return [y, y.grad_fn._raw_saved_self].clear

    return sorted(set(endings(prepare)))


def a_context_that_dies() -> Any:
    """Its name, which the log of events tells, is put together when it is first asked for."""

    class Doubled(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: Any) -> Any:
            return gradient

    return sorted(set(endings(lambda: [Doubled.apply(matrix())].clear)))


def a_policy_that_is_entered() -> Any:
    """Without memory for the token that leads back, the policy stays as it was."""
    _engine._enter_policy("torch-1.10", {})
    seen = set()
    for name in endings(lambda: lambda: _engine._enter_policy("torch-1.2", {})):
        seen.add((name, _engine._current_policy()[0]))
        _engine._leave_policy(None)
        _engine._enter_policy("torch-1.10", {})
    _engine._leave_policy(None)
    return sorted(seen)


def a_history_dropped_in_a_thread() -> Any:
    """Drop a history where no thread can be started: the history stays, and the interpreter's lock comes back."""
    kept = [matrix()]
    seen = set()
    for name in endings(lambda: lambda: _engine._drop_in_thread(kept[0])):
        seen.add((name, kept[0].grad_fn is not None))
        kept[0] = matrix()
    return sorted(seen)


def a_tensor_on_the_memory_of_an_array() -> Any:
    array = matrix().detach().numpy()
    return sorted(set(endings(lambda: lambda: torch.from_numpy(array))))


def an_array_on_the_memory_of_a_tensor() -> Any:
    return sorted(set(endings(lambda: matrix().detach().numpy)))


def versions_that_grow() -> Any:
    x = matrix().detach()
    return sorted(set(endings(lambda: lambda: _engine._increment_version(x))))


STORIES = (
    constructors_that_fail,
    a_node_that_dies_behind_its_slot,
    a_context_that_dies,
    a_policy_that_is_entered,
    a_history_dropped_in_a_thread,
    a_tensor_on_the_memory_of_an_array,
    an_array_on_the_memory_of_a_tensor,
    versions_that_grow,
)

if __name__ == "__main__":
    results = {}
    for story in STORIES:
        story()  # caches that fill once are full now
        results[story.__name__] = story()
    print(json.dumps(results))
