"""Small leaks that are met less often, made for real as those of `cases` are."""

from __future__ import annotations

import atexit
import contextvars
import logging
import sys
import threading
import weakref
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from gradlife.model.hunt import FindingKind
from patterns.cases import (
    CASES,
    CYCLE,
    GROWTH,
    RETAINED,
    KeepsInput,
    Thing,
    case,
    child_keeps_parent,
    ctx_keeps_output,
    graph_list,
    hooks_pile_up_on_weight,
    last_loss,
    leaf_hook_over_leaf,
    one_tensor,
    own_method_kept,
    plain_list,
    records_in_handler,
    simple_ring,
    tensor_hook_over_tensor,
    tensor_owner_ring,
    tensors_in_list,
    weight,
    written_on_module,
)

NEVER, NATIVE = FindingKind.NEVER, FindingKind.NATIVE


def same_as(name: str) -> Any:
    """An object of a class with the full name of one of a framework's, which is not installed or dear to make."""
    module, _, own = name.rpartition(".")
    return type(own, (), {"__module__": module})()


def several(hold: SimpleNamespace, make: Callable[[Any], Any]) -> Any:
    """A list of what is made of a tensor each; the tensor of one of them."""
    batches = [torch.ones(3) for _ in range(9)]
    hold.kept = [make(batch) for batch in batches]
    return batches[4]


class SavesViewOfOutput(torch.autograd.Function):  # type: ignore[misc]
    @staticmethod
    def forward(ctx: Any, x: Any) -> Any:
        result = x.exp()
        ctx.save_for_backward(result.view(-1))
        return result

    @staticmethod
    def backward(ctx: Any, grad: Any) -> Any:
        return grad


@case("GL104", NEVER, ctx_keeps_output)
def ctx_saves_view_of_output(hold: SimpleNamespace) -> Any:
    return SavesViewOfOutput.apply(weight())


@case("GL109", CYCLE, simple_ring)
def ctx_and_its_layer(hold: SimpleNamespace) -> Any:
    layer = Thing()
    layer.kept = KeepsInput.apply(weight()).grad_fn
    layer.kept.layer = layer
    layer.weight = torch.ones(3)
    return layer.weight


@case("GL203", NEVER, tensor_owner_ring)
def tensor_with_a_result_of_itself(hold: SimpleNamespace) -> Any:
    tensor: Any = weight()
    tensor.result = tensor * 2
    return tensor


@case("GL320", RETAINED, one_tensor)
def checkpoint_without_backward(hold: SimpleNamespace) -> Any:
    batch = torch.ones(4, 4)
    hold.kept = checkpoint(lambda w: (w * batch).sin().sum(), weight(), use_reentrant=False)
    return batch


@case("GL321", CYCLE, ctx_keeps_output)
def checkpoint_closes_over_its_output(hold: SimpleNamespace) -> Any:
    features: dict[str, Any] = {"in": torch.ones(4, 4)}
    features["out"] = checkpoint(lambda w: w * features["in"], weight(), use_reentrant=True)
    return features["in"]


@case("GL352", NEVER, leaf_hook_over_leaf)
def node_hook_over_what_was_computed_later(hold: SimpleNamespace) -> Any:
    y = weight().sin()
    later = y.exp()
    y.grad_fn.register_hook(lambda inputs, outputs: later.detach())
    return later


@case("GL353", NEVER, leaf_hook_over_leaf)
def weight_hook_over_a_loss(hold: SimpleNamespace) -> Any:
    leaf = weight()
    loss = (leaf * 2).sum()
    leaf.register_hook(lambda grad: grad * loss.detach())
    return loss


@case("GL356", GROWTH, hooks_pile_up_on_weight)
def hooks_pile_up_on_node(hold: SimpleNamespace) -> Any:
    hold.kept = weight().exp().grad_fn
    batches = [torch.ones(3) for _ in range(6)]
    for batch in batches:
        hold.kept.register_hook(partial(lambda batch, *grads: None, batch))
    return batches[3]


@case("GL357", NEVER, tensor_hook_over_tensor)
def hook_over_several_tensors(hold: SimpleNamespace) -> Any:
    batch, tensors = torch.ones(3), [weight().sin(), weight().cos()]
    torch.autograd.graph.register_multi_grad_hook(tensors, partial(lambda batch, grads: None, batch))
    return batch


@case("GL407", RETAINED, last_loss)
def leaf_in_a_graph(hold: SimpleNamespace) -> Any:
    leaf = weight()
    hold.kept = (leaf * 2).sum()
    return leaf


@case("GL410", NEVER, ctx_keeps_output)
def metadata_lead_back(hold: SimpleNamespace) -> Any:
    y = weight().sin()
    y.grad_fn.metadata["parent"] = y
    return y


@case("GL411", GROWTH, graph_list)
def edges_in_list(hold: SimpleNamespace) -> Any:
    kept = [weight().exp() for _ in range(9)]
    hold.kept = [torch.autograd.graph.get_gradient_edge(one.sin()) for one in kept]
    return kept[4]


@case("GL510", GROWTH, plain_list)
def session_with_results(hold: SimpleNamespace) -> Any:
    hold.kept = same_as("IPython.core.interactiveshell.InteractiveShell")
    hold.kept.user_ns = {"Out": {number: torch.ones(3) for number in range(9)}}
    return hold.kept.user_ns["Out"][4]


def frame_of(batch: Any) -> Any:
    return sys._getframe()


@case("GL517", GROWTH, plain_list)
def frames_in_list(hold: SimpleNamespace) -> Any:
    return several(hold, frame_of)


def frame_in_its_own_local(batch: Any) -> Any:
    here = sys._getframe()
    return here.f_lineno


def error_in_its_own_local(batch: Any) -> bool:
    error = None
    try:
        raise RuntimeError("failed")
    except RuntimeError as problem:
        error = problem
    return error is None


@case("GL501", CYCLE, simple_ring)
def error_that_keeps_itself(hold: SimpleNamespace) -> Any:
    batch = torch.ones(3)
    error_in_its_own_local(batch)
    return batch


@case("GL517", CYCLE, error_that_keeps_itself)
def frame_that_keeps_itself(hold: SimpleNamespace) -> Any:
    batch = torch.ones(3)
    frame_in_its_own_local(batch)
    return batch


@case("GL518", GROWTH, plain_list)
def chain_of_objects(hold: SimpleNamespace) -> Any:
    hold.kept, batches = None, [torch.ones(3) for _ in range(6)]
    for batch in batches:
        new = Thing()
        new.one, new.weight, hold.kept = hold.kept, batch, new
    return batches[1]


@case("GL521", GROWTH, plain_list)
def finalizers(hold: SimpleNamespace) -> Any:
    hold.kept, batches = Thing(), [torch.ones(3) for _ in range(6)]
    for batch in batches:
        weakref.finalize(hold.kept, print, batch).atexit = False
    return batches[3]


@case("GL521", GROWTH, plain_list)
def handlers_in_list(hold: SimpleNamespace) -> Any:
    batches = [torch.ones(3) for _ in range(6)]
    hold.kept = [partial(print, batch) for batch in batches]
    return batches[3]


class Unregisters:
    def __init__(self, callback: Any) -> None:
        self.callback = weakref.ref(callback)

    def __del__(self) -> None:
        atexit.unregister(self.callback() or print)


@case("GL521", GROWTH, plain_list)
def callbacks_at_exit(hold: SimpleNamespace) -> Any:
    batch = torch.ones(3)
    callback = partial(lambda batch: None, batch)
    hold.kept = Unregisters(atexit.register(callback))
    return batch


CURRENT: contextvars.ContextVar[Any] = contextvars.ContextVar("CURRENT")


@case("GL522", GROWTH, plain_list)
def contexts_in_list(hold: SimpleNamespace) -> Any:
    def context(batch: Any) -> contextvars.Context:
        copied = contextvars.copy_context()
        copied.run(CURRENT.set, batch)
        return copied

    return several(hold, context)


@case("GL522", GROWTH, plain_list)
def thread_local_list(hold: SimpleNamespace) -> Any:
    hold.kept = threading.local()
    hold.kept.buffers = [torch.ones(3) for _ in range(9)]
    return hold.kept.buffers[4]


@case("GL523", GROWTH, plain_list)
def threads_in_list(hold: SimpleNamespace) -> Any:
    return several(hold, lambda batch: threading.Thread(target=print, args=(batch,)))


def held_by(name: str) -> Callable[[SimpleNamespace], Any]:
    """Objects of a framework's class in a list, each with a tensor."""

    def leak(hold: SimpleNamespace) -> Any:
        def make(batch: Any) -> Any:
            holder = same_as(name)
            holder.value = batch
            return holder

        return several(hold, make)

    leak.__name__ = f"objects_of_{name.replace('.', '_')}"
    return leak


for code, name in (
    ("GL524", "torch._dynamo.types.CacheEntry"),
    ("GL804", "torch.profiler.profiler.profile"),
    ("GL901", "torch.multiprocessing.queue.ConnectionWrapper"),
    ("GL902", "torch.distributed.distributed_c10d.Handle"),
    ("GL903", "torch.cuda.graphs.CUDAGraph"),
):
    case(code, GROWTH, tensors_in_list)(held_by(name))


@case("GL525", RETAINED, written_on_module)
def attribute_of_the_last_step(hold: SimpleNamespace) -> Any:
    hold.kept = Thing()
    hold.kept.weight = torch.ones(3)
    return hold.kept.weight


@case("GL526", GROWTH, records_in_handler)
def filters_on_logger(hold: SimpleNamespace) -> Any:
    hold.kept, batches = logging.Logger("of its own"), [torch.ones(3) for _ in range(6)]
    for batch in batches:
        hold.kept.addFilter(partial(lambda batch, record: True, batch))
    return batches[3]


@case("GL902", GROWTH, plain_list)
def handles_in_list(hold: SimpleNamespace) -> Any:
    hold.kept = [same_as("torch._C._distributed_c10d.Work") for _ in range(9)]
    return hold.kept[4]


@case("GL911", GROWTH, handles_in_list)
def remote_references_in_list(hold: SimpleNamespace) -> Any:
    hold.kept = [same_as("torch._C._distributed_rpc.PyRRef") for _ in range(9)]
    return hold.kept[4]


@case("GL617", GROWTH, tensors_in_list)
def stagers_in_list(hold: SimpleNamespace) -> Any:
    def stager(batch: Any) -> Any:
        made = same_as("torch.distributed.checkpoint.staging.DefaultStager")
        made.copies = weakref.WeakKeyDictionary({made: batch})
        return made

    return several(hold, stager)


@case("GL910", GROWTH, plain_list)
def process_groups_in_table(hold: SimpleNamespace) -> Any:
    groups = [same_as("torch.distributed.distributed_c10d.ProcessGroup") for _ in range(9)]
    hold.kept = dict.fromkeys(groups, ("gloo", None))
    return groups[4]


@case("GL805", GROWTH, plain_list)
def capsules_in_list(hold: SimpleNamespace) -> Any:
    hold.kept = [torch.utils.dlpack.to_dlpack(torch.ones(3)) for _ in range(9)]
    return hold.kept[4]


@case("GL607", NEVER, child_keeps_parent)
def full_backward_hook_with_output(hold: SimpleNamespace) -> Any:
    net: Any = nn.Linear(2, 2)
    net.register_full_backward_hook(lambda module, inputs, outputs: None)
    net.last = net(torch.ones(2, 2))
    return net.weight


def optimizer_of(*parameters: Any) -> Any:
    return torch.optim.SGD(parameters or [weight()], lr=0.1)


@case("GL610", GROWTH, plain_list)
def copies_of_a_model(hold: SimpleNamespace) -> Any:
    hold.kept = [nn.Linear(2, 2) for _ in range(9)]
    return hold.kept[4].weight


@case("GL612", GROWTH, plain_list)
def hooks_pile_up_on_optimizer(hold: SimpleNamespace) -> Any:
    hold.kept, batches = optimizer_of(), [torch.ones(3) for _ in range(6)]
    for batch in batches:
        hold.kept.register_step_post_hook(partial(lambda batch, *args: None, batch))
    return batches[3]


@case("GL613", CYCLE, own_method_kept)
def scheduler_on_its_optimizer(hold: SimpleNamespace) -> Any:
    parameter = weight()
    optimizer = optimizer_of(parameter)
    optimizer.scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
    return parameter


@case("GL614", GROWTH, plain_list)
def iterators_in_list(hold: SimpleNamespace) -> Any:
    return several(hold, lambda batch: iter(torch.utils.data.DataLoader(list(batch), collate_fn=partial(max, batch))))


@case("GL702", NEVER, tensor_owner_ring)
def tensor_with_a_view_of_itself(hold: SimpleNamespace) -> Any:
    tensor: Any = torch.ones(4, 4)
    tensor.head = tensor[:2]
    return tensor


@case("GL703", NEVER, tensor_owner_ring)
def storage_with_its_tensor(hold: SimpleNamespace) -> Any:
    tensor = torch.ones(4, 4)
    tensor.untyped_storage().owner = tensor
    return tensor


__all__ = ["CASES"]
