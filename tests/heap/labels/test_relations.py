"""Each reference that modules, optimizers, tensors, nodes and contexts have, by the name it has in a report.

The same programs for PyTorch and for the engine: `refs` names who refers and how, `why` leads there.
"""

from __future__ import annotations

import gc
import importlib
from collections.abc import Iterator
from typing import Any

import pytest

from gradlife.heap import Snapshot, refs, snapshot, why
from gradlife.heap.torch_layout.fields import context_owns_node
from gradlife.heap.torch_layout.specimens import Toys

KEPT: dict[str, Any] = {}


class Mark:
    """Something to be held."""

    def __call__(self, *arguments: Any, **options: Any) -> None:
        """As a hook it does nothing."""


@pytest.fixture(params=[pytest.param("torch", marks=pytest.mark.torch), "gradlife.engine"])
def torch(request: pytest.FixtureRequest) -> Any:
    if request.param == "torch":
        return pytest.importorskip("torch")
    importlib.import_module("gradlife.engine.optim")
    return importlib.import_module(request.param)


@pytest.fixture(autouse=True)
def _collector_off() -> Iterator[None]:
    gc.disable()
    yield
    KEPT.clear()
    gc.enable()
    gc.collect()


def leaf(torch: Any) -> Any:
    return torch.ones(3, requires_grad=True)


# --- modules ---


def network(torch: Any) -> Any:
    class Network(torch.nn.Module):  # type: ignore[misc]
        def __init__(self) -> None:
            super().__init__()
            self.encoder = torch.nn.Linear(3, 2)
            self.layers = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.Linear(2, 2))
            self.register_buffer("mean", torch.ones(2))

    return Network()


MODULE_HOOKS = {
    "register_forward_hook": "forward hook",
    "register_forward_pre_hook": "forward pre-hook",
    "register_full_backward_hook": "backward hook",
    "register_full_backward_pre_hook": "backward pre-hook",
    "register_state_dict_pre_hook": "state_dict pre-hook",
    "register_state_dict_post_hook": "state_dict hook",
    "register_load_state_dict_post_hook": "load_state_dict post-hook",
}


@pytest.mark.whole
@pytest.mark.parametrize("register", MODULE_HOOKS)
def test_hook_of_a_module(torch: Any, register: str) -> None:
    model, mark = network(torch), Mark()
    handle = getattr(model.encoder, register)(mark)
    KEPT["model"] = model
    path = f"{MODULE_HOOKS[register]} {handle.id}"
    assert ("Linear", path) in referrers(mark)
    address = mark
    del mark, model, handle
    trace = why(address)
    del address
    assert ("Linear", path) in referrers_of(trace)


def test_parameter_buffer_and_module_are_attributes_of_their_module(torch: Any) -> None:
    model = KEPT["model"] = network(torch)
    assert ("Linear", ".weight") in referrers(model.encoder.weight)
    assert ("Network", ".mean") in referrers(model.mean)
    assert ("Network", ".encoder") in referrers(model.encoder)
    assert ("Sequential", "[1]") in referrers(model.layers[1])


def test_path_to_a_parameter_is_as_one_writes_it(torch: Any) -> None:
    KEPT["model"] = network(torch)
    steps = why(KEPT["model"].layers[1].bias).steps
    assert [(step.object, step.via) for step in steps][-4:-1] == [
        ("dict", "['model']"),
        ("Network", ".layers[1]"),
        ("Linear", ".bias"),
    ]


# --- optimizers ---


def trained(torch: Any) -> Any:
    model = network(torch)
    groups = [{"params": [*part.parameters()]} for part in (model.encoder, model.layers)]
    optimizer = torch.optim.SGD(groups, lr=0.1, momentum=0.9)
    model.layers(model.encoder(torch.ones(3))).sum().backward()
    optimizer.step()
    return model, optimizer


def test_state_and_parameters_of_an_optimizer(torch: Any) -> None:
    model, optimizer = trained(torch)
    gc.collect()  # the first step imports modules, whose tracebacks hold frames
    weight = model.layers[0].weight
    holders = referrers(optimizer.state[weight]["momentum_buffer"])
    assert ("SGD", "optimizer state 'momentum_buffer' of Parameter float32 [2, 2]") in holders
    assert ("SGD", ".param_groups[1]['params'][0]") in referrers(weight)
    assert ("SGD", "a key of its state") in referrers(weight)


def test_hook_of_an_optimizer(torch: Any) -> None:
    _, optimizer = trained(torch)
    mark = Mark()
    handle = optimizer.register_step_post_hook(mark)
    assert ("SGD", f"step post-hook {handle.id}") in referrers(mark)


# --- tensors ---


def test_tensor_hooks(torch: Any) -> None:
    x, mark, other = leaf(torch), Mark(), Mark()
    handle = x.register_hook(mark)
    late = x.register_post_accumulate_grad_hook(other)
    assert ("Tensor", f"tensor hook {handle.id}") in referrers(mark)
    assert ("Tensor", f"post-accumulate hook {late.id}") in referrers(other)


def test_hook_of_a_result_belongs_to_its_node(torch: Any) -> None:
    y, mark = leaf(torch).sin(), Mark()
    handle = y.register_hook(mark)
    assert ("SinBackward0", f"tensor hook {handle.id}") in referrers(mark)


def test_gradient_and_base(torch: Any) -> None:
    x = leaf(torch)
    x.grad = gradient = torch.ones(3)
    assert "grad" in paths(native_referrers_of_impl(gradient))
    whole = torch.ones(4, 2)
    view = whole.view(8)
    assert "base" in paths(native_referrers_of_impl(whole))
    assert view is not None


def test_storage(torch: Any) -> None:
    x = torch.ones(3)
    taken = snapshot()
    kinds = [row.type for row in taken.types() if row.kind == "storage"]
    holders = {(holder.type.rpartition("::")[2], holder.kind) for kind in kinds for holder in taken.holders(kind)}
    assert ("TensorImpl", "tensor") in holders or ("Tensor", "tensor") in holders
    assert x is not None


# --- nodes ---


def test_hooks_of_a_node(torch: Any) -> None:
    y, mark, before = leaf(torch).sin(), Mark(), Mark()
    after_handle = y.grad_fn.register_hook(mark)
    before_handle = y.grad_fn.register_prehook(before)
    assert ("SinBackward0", f"node hook {after_handle.id}") in referrers(mark)
    assert ("SinBackward0", f"node prehook {before_handle.id}") in referrers(before)


def register(owner: Any, how: str) -> tuple[int, int]:
    """Register a hook that only its table holds, and return its number."""
    mark = Mark()
    return id(mark), getattr(owner, how)(mark).id


def owns_its_node(torch: Any) -> bool:
    """Whether a ctx keeps its node, and so its hooks, as newer releases and the engine do."""
    return torch.__name__ != "torch" or context_owns_node(Toys(torch))


@pytest.mark.parametrize("is_custom", [False, True])
def test_tables_that_a_wrapper_shows_are_called_as_its_node_calls_them(torch: Any, is_custom: bool) -> None:
    y = custom(torch).apply(leaf(torch), None) if is_custom else leaf(torch).sin()
    KEPT["node"] = node = y.grad_fn
    after = register(node, "register_hook")
    before = register(node, "register_prehook")
    of_tensor = register(y, "register_hook")
    KEPT["result"] = y if is_custom and not owns_its_node(torch) else None
    del y
    taken = snapshot()
    assert [taken.why(address).steps[-2].via for address, _ in (after, before, of_tensor)] == [
        f"node hook {after[1]}",
        f"node prehook {before[1]}",
        f"tensor hook {of_tensor[1]}",
    ]


def test_tensors_of_a_saved_list_have_their_places(torch: Any) -> None:
    x = leaf(torch)
    y = x[torch.tensor([0, 2])]
    assert y.grad_fn.name() == "IndexBackward0"
    indices = y.grad_fn._saved_indices
    assert "saved tensor 'indices'[0]" in paths(native_referrers_of_impl(indices[0]))


def test_two_saved_tensors_of_one_node_have_names_of_their_own(torch: Any) -> None:
    x = leaf(torch)
    y = x * x
    assert sorted(path for holder, path in native_referrers_of_impl(x) if holder == "MulBackward0") == [
        "saved tensor 'other'",
        "saved tensor 'self'",
    ]
    assert y is not None


def test_accumulator_holds_its_variable(torch: Any) -> None:
    x = leaf(torch)
    y = x * 2
    assert ("AccumulateGrad", "variable") in native_referrers_of_impl(x)
    assert y is not None


@pytest.mark.whole
def test_node_is_the_grad_fn_of_its_result_and_the_next_edge_of_others(torch: Any) -> None:
    older = nodes_of("SinBackward0")
    x = leaf(torch).sin()
    y = x.exp()
    found = native_referrers_of_node("SinBackward0", older)
    assert ("ExpBackward0", "next edge") in found
    assert "grad_fn" in paths(found)
    assert x is not None
    assert y is not None


def test_metadata_of_a_node(torch: Any) -> None:
    y, mark = leaf(torch).sin(), Mark()
    y.grad_fn.metadata["mark"] = mark
    assert ("SinBackward0", "metadata") in referrers(y.grad_fn.metadata)
    assert "['mark']" in {path for _, path in referrers(mark)}


def test_pack_and_unpack_hooks_and_what_was_packed(torch: Any) -> None:
    packed = Mark()

    def pack(_: Any) -> Any:
        return packed

    def unpack(_: Any) -> Any:
        raise AssertionError("never called here")

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = leaf(torch).sin()
    found = {path for held in (pack, unpack, packed) for holder, path in referrers(held) if holder == "SinBackward0"}
    assert found == {"pack hook", "unpack hook", "packed"}
    assert y is not None


@pytest.mark.whole
def test_packed_tensor_keeps_the_node_that_it_came_from(torch: Any) -> None:
    older = nodes_of("SinBackward0")
    x = leaf(torch).sin()
    with torch.autograd.graph.saved_tensors_hooks(lambda value: value.detach(), lambda value: value):
        y = x.cos()
    assert ("CosBackward0", "saved grad_fn") in native_referrers_of_node("SinBackward0", older)
    assert x is not None
    assert y is not None


# --- custom Functions ---


def custom(torch: Any) -> Any:
    class Keeps(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any, mark: Any) -> Any:
            ctx.mark = mark
            ctx.save_for_backward(x, None, x)
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad, None

    return Keeps


def test_attribute_of_a_ctx(torch: Any) -> None:
    mark = Mark()
    y = custom(torch).apply(leaf(torch), mark)
    assert ("KeepsBackward", ".mark") in referrers(mark)
    assert y is not None


def test_tensors_that_a_ctx_saved(torch: Any) -> None:
    x = leaf(torch)
    y = custom(torch).apply(x, None)
    found = [path for _, path in native_referrers_of_impl(x) if "saved" in path]
    assert sorted(found) == [".saved_tensors[0]", ".saved_tensors[2]"]
    assert y is not None


# --- what they are read from ---


def referrers(held: object) -> set[tuple[str, str]]:
    return {(referrer.object, referrer.via) for referrer in refs(held).referrers}


def paths(found: list[tuple[str, str]]) -> set[str]:
    return {path for _, path in found}


def referrers_of(trace: Any) -> set[tuple[str, str]]:
    return {(referrer.object, referrer.via) for referrer in trace.ledger.referrers}


def native_referrers_of_impl(tensor: Any) -> list[tuple[str, str]]:
    """Who refers to what stands behind a tensor, and how."""
    taken = snapshot()
    node = taken._graph.find(id(tensor))
    assert node is not None
    impl = next(target for target in taken._graph.referents(node) if taken._graph.describe(target)[0] == "tensor")
    return paths_to(taken, impl)


def nodes_of(name: str) -> set[int]:
    """The addresses of all nodes of a class: other tests may have left some."""
    graph = snapshot()._graph
    return {
        graph.describe(node)[2] for framework in ("torch", "engine") for node in graph.of_type(f"{framework}::{name}")
    }


def native_referrers_of_node(name: str, older: set[int]) -> list[tuple[str, str]]:
    """Who refers to the only node of a class that is not among the older ones."""
    [address] = nodes_of(name) - older
    taken = snapshot()
    node = taken._graph.find(address)
    assert node is not None
    return paths_to(taken, node)


def paths_to(taken: Snapshot, node: int) -> list[tuple[str, str]]:
    ledger = taken.why(taken._graph.describe(node)[2]).ledger
    return [(referrer.object, referrer.via) for referrer in ledger.referrers]
