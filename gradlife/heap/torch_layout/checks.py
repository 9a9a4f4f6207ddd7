"""Check the layout that was found: compare the extension's answers about specimens with the known ones.

A field that leads to a wrong answer is dropped: a missing part of the heap is better than a wrong one.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gradlife import _heap
from gradlife.heap.torch_layout.fields import (
    are_counts_coupled,
    are_nodes_coupled,
    borrowed_memory,
    context_owns_node,
    is_maker,
)
from gradlife.heap.torch_layout.labels import (
    HOOKS,
    ITS_IMPL,
    ITS_WRAPPER,
    MEMORY_OF,
    METADATA,
    NEXT_EDGE,
    PACK_HOOK,
    PACKED,
    POST_ACCUMULATE_HOOKS,
    PREHOOKS,
    SAVED_ACCUMULATOR,
    SAVED_GRAD_FN,
    TENSOR_HOOKS,
    UNPACK_HOOK,
    VARIABLE,
)
from gradlife.heap.torch_layout.offset_search import node_behind, node_of_context
from gradlife.heap.torch_layout.specimens import CONTEXT_TUPLES, Toys, has_level


@dataclass(frozen=True)
class Check:
    """The expected and the actual result, and the fields it depends on, the most specific first."""

    fields: tuple[str, ...]
    expected: object
    shown: object


Checks = Iterator[Check]


def description_of(shown: object) -> dict[tuple[str, int], int]:
    """Return the references of a Python object, or of the C++ object at an address, by label and index."""
    return {(label, index): address for label, index, _, address in _heap._torch_references(shown)}


def references(shown: object, known: dict[tuple[str, int], tuple[object, tuple[str, ...]]]) -> Checks:
    """Yield a check for each reference that an object has, and one that it has no others.

    `known`: by label and index the address, None if there must be no reference, and the fields it depends on.
    """
    result = description_of(shown)
    for key, (address, fields) in known.items():
        yield Check(fields, address, result.get(key))
    every = tuple(dict.fromkeys(field for _, fields in known.values() for field in fields))
    yield Check(every, set(), {key for key in result if key not in known})


def of_wrappers(toys: Toys) -> Checks:
    """Check the references from Python objects to the C++ objects behind them."""
    impl = ITS_IMPL, -1
    leaf, storage, node = toys.leaf, toys.storage, toys.node
    tensor_fields = ("impl_in_wrapper", "tensor_type", "tensor_class")
    yield from references(leaf, {impl: (leaf._cdata, tensor_fields)})
    storage_fields = ("impl_in_storage_wrapper", "storage_type", "storage_class")
    yield from references(storage, {impl: (storage._cdata, storage_fields)})
    node_fields = ("node_in_wrapper", "node_wrapper_type", "node_class")
    yield from references(node, {impl: (node_behind(node), node_fields)})
    yield Check(("tensor_hooks_in_wrapper",), TENSOR_HOOKS, _heap._torch_label(leaf, leaf._backward_hooks))
    posted = _heap._torch_label(leaf, leaf._post_accumulate_grad_hooks)
    yield Check(("post_accumulate_hooks_in_wrapper",), POST_ACCUMULATE_HOOKS, posted)
    others = [base for base in (dict, object, int) if _heap._torch_references(base())]
    yield Check(("tensor_type", "storage_type", "context_type", "node_wrapper_type"), [], others)


def of_contexts(toys: Toys) -> Checks:
    """Check the references from a ctx to its node and saved tensors, and back."""
    ctx = toys.custom.grad_fn
    node = node_of_context(ctx)
    owned = node if context_owns_node(toys) else None
    saved = ("saved_in_context", "slot_bytes", "context_type", "tensor_class")
    node_fields = ("node_in_context", "context_in_node", "context_owns_node", "context_node_class")
    yield from references(
        ctx,
        {
            (ITS_IMPL, -1): (owned, node_fields),
            ("saved_tensors", 0): (toys.leaf._cdata, saved),
            ("saved_tensors", 1): (toys.result._cdata, saved),
        },
    )
    toys.apply(toys.leaf, toys.result)  # with the layout in use
    for name in CONTEXT_TUPLES:
        yield Check((f"{name.removesuffix('_tensors')}_in_context",), name, toys.labels_in_forward.get(name))
    by_name = description_of(node) if node is not None else {}
    yield Check(node_fields, id(ctx), by_name.get((ITS_WRAPPER, -1)))


def of_tensors(toys: Toys) -> Checks:
    """Check the references from an impl to its storage and autograd metadata."""
    leaf, meta = toys.leaf, ("meta_in_impl", "meta_class")
    coupled = ("wrapper_in_impl", "are_counts_coupled", "count_in_target")
    is_coupled = are_counts_coupled(toys.torch)
    yield from references(
        leaf._cdata,
        {
            ("storage", -1): (toys.storage._cdata, ("storage_in_impl", "storage_class")),
            ("grad", -1): (leaf.grad._cdata, ("grad_in_meta", *meta)),
            (TENSOR_HOOKS, -1): (
                id(leaf._backward_hooks),
                ("hooks_in_meta", "tensor_hook_class", "dict_in_hook", *meta),
            ),
            (POST_ACCUMULATE_HOOKS, -1): (
                id(leaf._post_accumulate_grad_hooks),
                ("post_accumulate_hook_in_meta", "post_accumulate_hook_class", "dict_in_hook", *meta),
            ),
            (ITS_WRAPPER, -1): (id(leaf) if is_coupled else None, coupled),
        },
    )
    lone = toys.torch.ones(2, device="cpu")
    yield Check(coupled, None, description_of(lone._cdata).get((ITS_WRAPPER, -1)))
    held = toys.storage
    result = description_of(held._cdata).get((ITS_WRAPPER, -1))
    yield Check(
        ("wrapper_in_storage", "are_counts_coupled", "count_in_target"), id(held) if is_coupled else None, result
    )
    shown_result = description_of(toys.result._cdata).get(("grad_fn", -1))
    yield Check(("node_in_meta", "node_class", *meta), node_behind(toys.node), shown_result)
    base = ("base_in_meta", "has_base_in_meta", *meta)
    yield Check(base, leaf._cdata, description_of(toys.view._cdata).get(("base", -1)))
    labels = [label for label, *_ in _heap._torch_references(toys.sparse._cdata)]
    yield Check(("impl_bytes", "tensor_class"), True, labels.count("part") >= 2)  # a padding word may look like one
    yield Check(("undefined_class",), {}, description_of_undefined(toys))


def description_of_undefined(toys: Toys) -> dict[tuple[str, int], int]:
    """Check the impl of an undefined tensor: it is not a tensor and has no references."""
    packed = node_behind(toys.packed_leaf.grad_fn)
    if packed is None:
        return {}
    return {key: address for key, address in description_of(packed).items() if key[0] in {"self", "saved"}}


def of_tangents(toys: Toys) -> Checks:
    """Check the references from an impl and from a saved result to their tangents."""
    if not has_level(toys.torch):
        return
    fields = ("tangents_in_meta", "list_in_tangents", "meta_in_impl", "meta_class")
    dual = toys.dual
    yield Check(fields, toys.tangent._cdata, description_of(dual._cdata).get(("tangent", -1)))
    result, tangent = toys.dual_result
    shown = description_of(node_behind(result.grad_fn)).get(("tangent", -1))
    yield Check(("tangents_in_slot", "list_in_tangents", "slots_in_node"), tangent._cdata, shown)


def of_nodes(toys: Toys) -> Checks:
    """Check the references from a node to its neighbours, hooks and saved tensors."""
    node, leaf = node_behind(toys.node), toys.leaf._cdata
    edges = ("edges_in_node", "edge_bytes")
    accumulator = description_of(node).get((NEXT_EDGE, 0)) if node is not None else None
    wrapper = id(toys.node) if are_nodes_coupled(toys) else None
    yield from references(
        node,
        {
            (NEXT_EDGE, 0): (accumulator, (*edges, "accumulator_class")),
            ("self", -1): (leaf, ("slots_in_node", "saved_names", "tensor_class")),
            (METADATA, -1): (id(toys.node.metadata), ("metadata_in_node", "dict_in_metadata", "metadata_class")),
            (ITS_WRAPPER, -1): (wrapper, ("wrapper_in_node", "are_nodes_coupled", "count_in_target")),
        },
    )
    fields = ("variable_in_accumulator", "accumulator_class", *edges)
    yield Check(fields, {(VARIABLE, -1): leaf}, without_wrapper(accumulator))
    result, hooks, prehooks = toys.hooked
    outcome = description_of(node_behind(result.grad_fn))
    yield Check(("hooks_in_node", "hook_class", "dict_in_hook"), id(hooks), outcome.get((HOOKS, -1)))
    yield Check(("prehooks_in_node", "prehook_class", "dict_in_hook"), id(prehooks), outcome.get((PREHOOKS, -1)))
    of_tensor = ("tensor_hooks_in_node", "tensor_hook_class", "dict_in_hook")
    yield Check(of_tensor, id(result._backward_hooks), outcome.get((TENSOR_HOOKS, -1)))
    yield from of_saved_names(toys)


def without_wrapper(address: int | None) -> dict[tuple[str, int], int]:
    """Return a node's references except to its wrapper and hooks."""
    inner = {ITS_WRAPPER, TENSOR_HOOKS, POST_ACCUMULATE_HOOKS}
    return (
        {key: value for key, value in description_of(address).items() if key[0] not in inner}
        if address is not None
        else {}
    )


def of_saved_names(toys: Toys) -> Checks:
    """Check a node of two slots and two edges, and one with a list of slots."""
    outcome = description_of(node_behind(toys.product.grad_fn))
    leaf, result = toys.leaf._cdata, toys.result._cdata
    found = {key: outcome.get(key) for key in (("self", -1), ("other", -1))}
    yield Check(("saved_names", "tensor_class"), {("self", -1): leaf, ("other", -1): result}, found)
    fields = ("edges_in_node", "edge_bytes", "node_class", "accumulator_class")
    yield Check(fields, {0, 1}, {index for label, index in outcome if label == NEXT_EDGE})
    yield Check(fields, node_behind(toys.node), outcome.get((NEXT_EDGE, 1)))
    picked = description_of(node_behind(toys.picked.grad_fn))
    yield Check(("saved_names", "slot_bytes", "tensor_class"), toys.indices._cdata, picked.get(("indices", 0)))


def of_saved(toys: Toys) -> Checks:
    """Check the references from a node to packed data and to the original tensor's graph."""
    node = node_behind(toys.packed_leaf.grad_fn)
    result = description_of(node)
    holders = {PACK_HOOK: toys.pack, UNPACK_HOOK: toys.unpack, PACKED: toys.packed}
    for label, known in holders.items():
        fields = (f"{label.split()[0]}_in_hooks", "hooks_in_slot", "saved_hooks_class")
        yield Check(fields, id(known), result.get((label, -1)))
    accumulator = ("accumulator_in_slot", "undefined_class", "accumulator_class")
    yield Check(accumulator, result.get((NEXT_EDGE, 0)), result.get((SAVED_ACCUMULATOR, -1)))
    yield Check(accumulator, None, result.get((SAVED_GRAD_FN, -1)))
    result = description_of(node_behind(toys.packed_result.grad_fn))
    yield Check(
        ("grad_fn_in_slot", "undefined_class", "node_class"), node_behind(toys.node), result.get((SAVED_GRAD_FN, -1))
    )


def of_saved_tensors(toys: Toys) -> Checks:
    """Check the reference from a Python SavedTensor to its tensor; none if it only shows a slot of a node."""
    fields = ("ownership_of_saved_tensor", "slot_in_saved_tensor", "saved_tensor_type", "slot_bytes", "tensor_class")
    yield Check(fields, toys.leaf._cdata, description_of(toys.saved).get(("saved tensor", -1)))
    yield Check(fields, {}, description_of(toys.shown))


def of_memory(toys: Toys) -> Checks:
    """Check the reference from a storage to the owner of borrowed memory."""
    places = ("closures", "code_in_function", "owner_in_function", "function_deleter", "deleter_in_storage")
    fields = (*places, "context_in_storage", "data_in_storage", "storage_class")
    own = ITS_WRAPPER, -1
    for _, tensor, address in borrowed_memory(toys):
        storage = tensor.untyped_storage()
        by_name = {key: value for key, value in description_of(storage._cdata).items() if key != own}
        if is_maker(toys, by_name.get((MEMORY_OF, -1)), address):
            by_name[MEMORY_OF, -1] = address
        yield Check(fields, {(MEMORY_OF, -1): address}, by_name)
    of_part = ("context_in_storage", "data_in_storage", "storage_class")
    part = toys.part
    yield Check(of_part, toys.big_storage._cdata, description_of(part._cdata).get((MEMORY_OF, -1)))
    yield Check(of_part, None, description_of(toys.big_storage._cdata).get((MEMORY_OF, -1)))


def of_descriptions(toys: Toys) -> Checks:
    """Check sizes, dtypes, devices and bytes."""
    sizes = ("dimensions_in_impl", "sizes_in_impl")
    for tensor in (toys.shaped, toys.deep, toys.big):
        text = _heap._torch_description(tensor._cdata)
        result = text[0].partition(" ")[2] if text else None
        yield Check(sizes, str([*tensor.shape]), result)
    for name, (tensor, _) in toys.tensors_of_dtypes().items():
        text = _heap._torch_description(tensor._cdata)
        yield Check(("dtype_in_impl", "dtype_names"), name, text[0].partition(" ")[0] if text else None)
    memory = ("device_in_storage", "device_names", "bytes_in_storage")
    for storage, device, nbytes in (
        (toys.big_storage, "cpu", toys.big_storage.nbytes()),
        (toys.meta_storage, "meta", 0),
    ):
        shown_storage = _heap._torch_description(storage._cdata)
        yield Check(memory, (f"{storage.nbytes()} bytes", device, nbytes), shown_storage[1:] if shown_storage else None)
    wrapped = _heap._torch_description(toys.wrapper_storage._cdata)
    yield Check(("data_in_storage",), 0, wrapped[3] if wrapped else None)


GROUPS = (
    of_wrappers,
    of_contexts,
    of_tensors,
    of_tangents,
    of_nodes,
    of_saved,
    of_saved_tensors,
    of_memory,
    of_descriptions,
)


def is_nothing(shown: object) -> bool:
    """Whether there was no answer, right or wrong."""
    return not shown or (isinstance(shown, dict) and not any(shown.values()))


def failed_fields(toys: Toys, known: set[str]) -> set[str]:
    """Return the fields to drop first, one per wrong answer of the current layout. `known`: the fields in use."""
    failed: set[str] = set()
    for group in GROUPS:
        try:
            for check in group(toys):
                in_use = [field for field in check.fields if field in known]
                is_silent = len(in_use) < len(check.fields) and is_nothing(check.shown)
                if check.shown != check.expected and in_use and not is_silent:
                    failed.add(in_use[0])
        except Exception:  # a release that lacks the feature has no field for it
            continue
    return failed


__all__ = ["failed_fields"]
