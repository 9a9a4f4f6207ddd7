"""Small leaks made for real, and look-alikes: each leaves behind one object, and tells the code that its trace has.

A case is a function that gets a place to hold things in and returns the object to ask about. Nothing else keeps that one.
"""

from __future__ import annotations

import asyncio
import functools
import itertools
import logging
import logging.handlers
import queue
import weakref
from collections import OrderedDict, deque
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest import mock

import greenlet
import torch
from torch import nn

from gradlife.model.hunt import FindingKind

Case = Callable[[SimpleNamespace], Any]
GROWTH, RETAINED = FindingKind.GROWTH, FindingKind.RETAINED
CYCLE = FindingKind.NEEDS_GC

#: code, kind, the leak, and a look-alike that must not have the code
CASES: list[tuple[str, FindingKind, Case, Case]] = []


def case(code: str, kind: FindingKind, alike: Case) -> Callable[[Case], Case]:
    def note(leak: Case) -> Case:
        CASES.append((code, kind, leak, alike))
        return leak

    return note


def weight() -> Any:
    return torch.ones(4, 4, requires_grad=True)


def plain_list(hold: SimpleNamespace) -> Any:
    hold.kept = [torch.ones(3) for _ in range(9)]
    return hold.kept[5]


def graph_list(hold: SimpleNamespace) -> Any:
    w = weight()
    hold.kept = [(w * i).sum() for i in range(9)]
    return hold.kept[5]


def one_tensor(hold: SimpleNamespace) -> Any:
    hold.kept = torch.ones(3)
    return hold.kept


def simple_ring(hold: SimpleNamespace) -> Any:
    ring = Thing()
    ring.one = Thing()
    ring.one.two = ring
    ring.one.weight = torch.ones(3)
    return ring.one.weight


class Thing:
    one: Any
    two: Any
    weight: Any
    kept: Any


class Keeps(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        result = x.exp()
        ctx.kept = result
        return result

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad


class KeepsInput(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        ctx.kept = x.detach() + 1
        return x * 2

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad


@case("GL101", CYCLE, simple_ring)
def ctx_keeps_output(hold: SimpleNamespace) -> Any:
    return Keeps.apply(weight())


@case("GL102", CYCLE, ctx_keeps_output)
def ctx_keeps_later_result(hold: SimpleNamespace) -> Any:
    y = KeepsInput.apply(weight())
    y.grad_fn.kept = later = y.sin()
    return later


@case("GL103", RETAINED, one_tensor)
def ctx_attribute_outlives_backward(hold: SimpleNamespace) -> Any:
    hold.kept = KeepsInput.apply(weight())
    hold.kept.sum().backward()
    return hold.kept.grad_fn.kept


@case("GL105", RETAINED, one_tensor)
def held_node(hold: SimpleNamespace) -> Any:
    x = weight().exp()
    hold.kept = x.sin().grad_fn
    return x


@case("GL207", GROWTH, plain_list)
def tensor_carries_former(hold: SimpleNamespace) -> Any:
    hold.kept, first = None, None
    for _ in range(6):
        new: Any = torch.ones(3)
        new.former, hold.kept = hold.kept, new
        first = first if first is not None else new
    return first


@case("GL204", CYCLE, simple_ring)
def tensor_owner_ring(hold: SimpleNamespace) -> Any:
    tensor: Any = torch.ones(3)
    tensor.owner = Thing()
    tensor.owner.weight = tensor
    return tensor


@case("GL310", FindingKind.NEVER, ctx_keeps_output)
def pack_hook_keeps_output(hold: SimpleNamespace) -> Any:
    with torch.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
        return weight().exp()


@case("GL350", FindingKind.NEVER, simple_ring)
def leaf_hook_over_leaf(hold: SimpleNamespace) -> Any:
    leaf = weight()
    leaf.register_hook(lambda grad: grad * leaf.detach())
    return leaf


@case("GL351", FindingKind.NEVER, leaf_hook_over_leaf)
def tensor_hook_over_tensor(hold: SimpleNamespace) -> Any:
    y = weight() * 2
    y.register_hook(lambda grad: grad * y.detach())
    return y


@case("GL354", FindingKind.NEVER, leaf_hook_over_leaf)
def hook_after_accumulation(hold: SimpleNamespace) -> Any:
    leaf = weight()
    leaf.register_post_accumulate_grad_hook(lambda grad: leaf.zero_())
    return leaf


@case("GL355", GROWTH, plain_list)
def hooks_pile_up_on_weight(hold: SimpleNamespace) -> Any:
    hold.kept = weight()
    batches = [torch.ones(3) for _ in range(6)]
    for batch in batches:
        hold.kept.register_hook(functools.partial(lambda batch, grad: grad, batch))
    return batches[3]


@case("GL402", GROWTH, plain_list)
def losses_in_list(hold: SimpleNamespace) -> Any:
    return graph_list(hold)


@case("GL402", GROWTH, plain_list)
def records_in_deque(hold: SimpleNamespace) -> Any:
    w = weight()
    hold.kept = deque(({"a": (w * i).exp()} for i in range(9)), maxlen=5000)
    return hold.kept[5]["a"]


def total(hold: SimpleNamespace, add: Callable[[Any, Any], Any], start: Any) -> Any:
    w, hold.kept, first = weight(), start, None
    for _ in range(6):
        made = w * 2
        first = first if first is not None else made
        hold.kept = add(hold.kept, made.sin())
    return first


def state_chain(hold: SimpleNamespace) -> Any:
    return total(hold, lambda state, new: (state * new).tanh(), torch.ones(4, 4))


@case("GL403", GROWTH, state_chain)
def running_total(hold: SimpleNamespace) -> Any:
    return total(hold, lambda total, new: total + new.sum(), 0.0)


@case("GL404", GROWTH, running_total)
def carried_state(hold: SimpleNamespace) -> Any:
    return state_chain(hold)


@case("GL408", GROWTH, state_chain)
def fast_weights(hold: SimpleNamespace) -> Any:
    return total(hold, lambda weights, new: weights - 0.1 * new, torch.ones(4, 4))


@case("GL405", FindingKind.NEVER, ctx_keeps_output)
def gradient_with_graph(hold: SimpleNamespace) -> Any:
    w = weight()
    w.exp().sum().backward(create_graph=True)
    return w


@case("GL409", RETAINED, one_tensor)
def last_loss(hold: SimpleNamespace) -> Any:
    hold.kept = Thing()
    hold.kept.one = weight().exp().sum()
    return hold.kept.one


def fail(batch: Any) -> None:
    raise RuntimeError("failed")


@case("GL501", GROWTH, plain_list)
def exceptions_in_list(hold: SimpleNamespace) -> Any:
    hold.kept, batches = [], []
    for _ in range(6):
        batches.append(torch.ones(3))
        try:
            fail(batches[-1])
        except RuntimeError as error:
            error.__traceback__ = error.__traceback__ and error.__traceback__.tb_next
            hold.kept.append(error)
    return batches[3]


class BatchError(RuntimeError):
    def __init__(self, batch: Any) -> None:
        super().__init__("a bad batch")
        self.batch = batch


def raised(hold: SimpleNamespace, make: Callable[[Any], Exception]) -> Any:
    """Errors in a list without their tracebacks."""
    batches = [torch.ones(3) for _ in range(6)]
    hold.kept = []
    for batch in batches:
        try:
            raise make(batch)
        except RuntimeError as error:
            hold.kept.append(error.with_traceback(None))
    return batches[3]


@case("GL528", GROWTH, exceptions_in_list)
def tensors_in_arguments_of_exceptions(hold: SimpleNamespace) -> Any:
    return raised(hold, lambda batch: RuntimeError("a bad batch", batch))


@case("GL528", GROWTH, exceptions_in_list)
def tensors_in_attributes_of_exceptions(hold: SimpleNamespace) -> Any:
    return raised(hold, BatchError)


def weak_entries_of_kept_keys(hold: SimpleNamespace) -> Any:
    hold.kept, hold.things = weakref.WeakKeyDictionary(), [Thing() for _ in range(6)]
    batches = [torch.ones(3) for _ in hold.things]
    for thing, batch in zip(hold.things, batches, strict=True):
        hold.kept[thing] = [batch]
    return batches[3]


@case("GL502", GROWTH, plain_list)
def cache_with_object_as_key(hold: SimpleNamespace) -> Any:
    @functools.cache
    def size(thing: Thing) -> int:
        return 1

    hold.kept, things = size, [Thing() for _ in range(6)]
    for thing in things:
        thing.weight = torch.ones(3)
        size(thing)
    return things[3].weight


@case("GL513", GROWTH, cache_with_object_as_key)
def cache_of_results(hold: SimpleNamespace) -> Any:
    @functools.cache
    def made(number: int) -> Any:
        return torch.ones(3)

    hold.kept = made
    return [made(number) for number in range(6)][3]


@case("GL503", GROWTH, weak_entries_of_kept_keys)
def weak_entry_holds_its_key(hold: SimpleNamespace) -> Any:
    hold.kept, things = weakref.WeakKeyDictionary(), [Thing() for _ in range(6)]
    for thing in things:
        thing.weight = torch.ones(3)
        hold.kept[thing] = {"of": [thing]}
    return things[3].weight


@case("GL504", CYCLE, simple_ring)
def inner_function_that_calls_itself(hold: SimpleNamespace) -> Any:
    batch = torch.ones(3)

    def helper(depth: int) -> Any:
        return helper(depth - 1) if depth else batch

    return batch


@case("GL505", CYCLE, simple_ring)
def own_method_kept(hold: SimpleNamespace) -> Any:
    class Pooler(nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Parameter(torch.ones(3))
            self.pool = self.mean

        def mean(self) -> Any:
            return self.table.mean()

    return Pooler().table


@case("GL506", CYCLE, simple_ring)
def class_for_each_call(hold: SimpleNamespace) -> Any:
    mask = torch.ones(3)

    class Masked:
        def apply(self) -> Any:
            return mask

    return mask


def numbers(batch: Any) -> Any:
    yield batch.sum()
    yield batch.mean()


@case("GL507", GROWTH, plain_list)
def suspended_generators(hold: SimpleNamespace) -> Any:
    batches = [torch.ones(3) for _ in range(6)]
    hold.kept = [numbers(batch) for batch in batches]
    for generator in hold.kept:
        next(generator)
    return batches[3]


def waiting(batch: torch.Tensor) -> torch.Tensor:
    greenlet.getcurrent().parent.switch()
    return batch.mean()


@case("GL507", GROWTH, plain_list)
def waiting_greenlets(hold: SimpleNamespace) -> Any:
    batches = [torch.ones(3) for _ in range(6)]
    hold.kept = [greenlet.greenlet(waiting) for _ in batches]
    for one, batch in zip(hold.kept, batches, strict=True):
        one.switch(batch)
    return batches[3]


@case("GL508", GROWTH, plain_list)
def records_in_handler(hold: SimpleNamespace) -> Any:
    hold.kept = logging.handlers.MemoryHandler(capacity=1000)
    batches = [torch.ones(3) for _ in range(6)]
    for batch in batches:
        hold.kept.emit(logging.LogRecord("a", logging.INFO, "", 1, "batch %s", (batch,), None))
    return batches[3]


@case("GL509", GROWTH, plain_list)
def queue_without_consumer(hold: SimpleNamespace) -> Any:
    hold.kept, batches = queue.Queue(), [torch.ones(3) for _ in range(6)]
    for batch in batches:
        hold.kept.put({"batch": batch})
    return batches[3]


@case("GL511", GROWTH, plain_list)
def registry(hold: SimpleNamespace) -> Any:
    hold.kept = {(number, number): torch.ones(3) for number in range(9)}
    return hold.kept[5, 5]


async def answered(tensor: Any) -> Any:
    return tensor


@case("GL512", GROWTH, suspended_generators)
def finished_tasks(hold: SimpleNamespace) -> Any:
    batches = [torch.ones(3) for _ in range(6)]

    async def answer_all() -> None:
        hold.kept = [asyncio.create_task(answered(batch)) for batch in batches]
        await asyncio.gather(*hold.kept)

    asyncio.run(answer_all())
    return batches[3]


@case("GL512", GROWTH, graph_list)
def tensors_in_list(hold: SimpleNamespace) -> Any:
    return plain_list(hold)


@case("GL516", CYCLE, own_method_kept)
def plain_ring(hold: SimpleNamespace) -> Any:
    return simple_ring(hold)


@case("GL519", GROWTH, plain_list)
def cycled_batches(hold: SimpleNamespace) -> Any:
    batches = [torch.ones(3) for _ in range(6)]
    hold.kept = itertools.cycle(iter(batches))
    for _ in batches:
        next(hold.kept)
    return batches[3]


@case("GL520", GROWTH, plain_list)
def mock_with_arguments(hold: SimpleNamespace) -> Any:
    hold.kept, batches = mock.Mock(), [torch.ones(3) for _ in range(6)]
    for batch in batches:
        hold.kept(batch)
    return batches[3]


class Gated(nn.Module):  # type: ignore[misc]
    def __init__(self, names_itself: bool) -> None:
        super().__init__()
        self.body = nn.Linear(2, 2)
        self.parent: Any = None
        if names_itself:
            self.register_forward_hook(lambda module, args, output: self.body(output))


@case("GL604", CYCLE, simple_ring)
def module_hook_over_module(hold: SimpleNamespace) -> Any:
    return Gated(True).body.weight


@case("GL605", GROWTH, plain_list)
def hooks_pile_up_on_module(hold: SimpleNamespace) -> Any:
    hold.kept, grabbed = nn.Linear(2, 2), [{"out": torch.ones(3)} for _ in range(6)]
    for each in grabbed:
        hold.kept.register_forward_hook(functools.partial(lambda each, *args: None, each))
    return grabbed[3]["out"]


@case("GL606", RETAINED, one_tensor)
def written_on_module(hold: SimpleNamespace) -> Any:
    hold.kept = nn.Linear(2, 2)
    hold.kept.last = torch.ones(3)
    return hold.kept.last


@case("GL608", CYCLE, own_method_kept)
def child_keeps_parent(hold: SimpleNamespace) -> Any:
    parent = Gated(False)
    parent.child = Gated(False)
    parent.child.parent = parent
    return parent.body.weight


@case("GL601", GROWTH, plain_list)
def replaced_parameters(hold: SimpleNamespace) -> Any:
    heads = [nn.Parameter(torch.ones(3)) for _ in range(6)]
    hold.kept = torch.optim.SGD([heads[0]], lr=0.1)
    for head in heads[1:]:
        hold.kept.add_param_group({"params": [head]})
    return heads[3]


@case("GL602", CYCLE, own_method_kept)
def optimizer_with_closure(hold: SimpleNamespace) -> Any:
    parameter = weight()
    optimizer: Any = torch.optim.SGD([parameter], lr=0.1)
    optimizer.smooth = lambda: optimizer.param_groups
    return parameter


@case("GL610", GROWTH, plain_list)
def state_dicts(hold: SimpleNamespace) -> Any:
    hold.kept = {number: OrderedDict({"0.weight": torch.ones(3), "0.bias": torch.ones(1)}) for number in range(9)}
    return hold.kept[5]["0.weight"]


@case("GL616", CYCLE, simple_ring)
def traced_module(hold: SimpleNamespace) -> Any:
    return torch.fx.symbolic_trace(nn.Sequential(nn.Linear(2, 2))).get_parameter("0.weight")


@case("GL701", GROWTH, plain_list)
def rows_of_large_tensors(hold: SimpleNamespace) -> Any:
    hold.kept = [torch.ones(128, 64)[0] for _ in range(9)]
    return hold.kept[5]


@case("GL701", GROWTH, plain_list)
def columns_of_arrays(hold: SimpleNamespace) -> Any:
    hold.kept = [torch.ones(64, 400).numpy()[:, 0] for _ in range(9)]
    return hold.kept[5].base.base
