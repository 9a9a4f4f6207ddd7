"""Offsets of fields in torch's grad nodes and ctx objects: neighbours, hooks and saved values, found on specimens."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

from gradlife import _heap
from gradlife.heap.torch_layout.offset_search import (
    SEARCHED_BYTES,
    find,
    meta_of,
    node_behind,
    node_of_context,
    pointer_to_class,
    vector_of_class,
    word_at,
)
from gradlife.heap.torch_layout.specimens import Toys

Fields = Iterator[tuple[str, Any]]

#: The offset of a field that this release lacks.
NOWHERE = 2**32 - 1

#: The first nodes of a thread have small numbers. So many later ones must have theirs at the same place.
FIRST_NUMBERS = 8
AGREEING = 4

#: Bytes of a saved slot that are searched for its flags, and what they are for a leaf.
SLOT_BYTES = 96
FLAGS_OF_LEAF = 0x01010000

#: The sequence number is within this many bytes of a node's start.
NODE_HEAD = 64

#: The hook lists of every node, and the class of their elements.
HOOK_LISTS = {
    "tensor_hooks_in_node": "PyFunctionTensorPreHook",
    "prehooks_in_node": "PyFunctionPreHook",
    "hooks_in_node": "PyFunctionPostHook",
}


def of_nodes(toys: Toys) -> Fields:
    """Find fields of nodes, their edges and contexts."""
    node = node_behind(toys.node)
    yield "node_in_wrapper", pointer_to_class(id(toys.node), "SinBackward0", 48)[0]
    edges = edges_offset(node)
    yield "edges_in_node", edges
    yield "edge_bytes", edge_bytes(toys, edges)
    yield "slots_in_node", find(node, toys.leaf._cdata, "TensorImpl")
    yield "wrapper_in_node", find(node, id(toys.node))
    accumulator = word_at(word_at(node, edges), 0)
    yield "variable_in_accumulator", find(accumulator, toys.leaf._cdata, "TensorImpl")
    yield "metadata_in_node", pointer_to_class(node, "PyAnomalyMetadata", 464)[0]


def of_sequence_numbers(toys: Toys) -> Fields:
    """Find the number that a node got when it was made."""
    yield "sequence_number_in_node", sequence_offset(toys.leaf) if hasattr(toys.node, "_sequence_nr") else NOWHERE


def sequence_offset(leaf: Any) -> int | None:
    """Find the offset of a node's sequence number, which must agree for several nodes: small numbers occur elsewhere."""
    nodes = [(leaf * 2).grad_fn for _ in range(FIRST_NUMBERS + AGREEING)]
    found = {word_offset(node_behind(node), node._sequence_nr()) for node in nodes[FIRST_NUMBERS:]}
    return found.pop() if len(found) == 1 else None


def word_offset(base: int | None, value: int) -> int | None:
    """Find a word at the beginning of a node."""
    return _heap._find_word(base, NODE_HEAD, value) if base is not None else None


def of_shapes(toys: Toys) -> Fields:
    """Find the metadata of a node's outputs: a vector with inline room for two, whose elements have sizes with inline
    room for a few, or a tensor of sizes; the byte after the sizes says which.
    """
    node = node_behind(toys.twofold.grad_fn)
    own = [at for at in range(8, 400, 8) if node is not None and word_at(node, at) == node + at + 16]
    at = next((at for at in own if word_at(node, at + 8) == 2 << 32 | 2), None)
    yield "shapes_in_node", at
    if at is None:
        return
    sizes = [inner for inner in own if inner > at and (word_at(node, inner + 8) or 0) >> 32 > 2]
    if len(sizes) != 2:
        return
    room = (word_at(node, sizes[0] + 8) or 0) >> 32
    yield "shape_bytes", sizes[1] - sizes[0]
    yield "sizes_in_shape", sizes[0] - at - 16
    yield "sort_in_shape", sizes[0] - at - 16 + 16 + 8 * room


def edges_offset(node: int | None) -> int | None:
    """Find the vector of edges: its first word points at an edge, whose first word points at the accumulator."""
    for offset in range(0, 256, 8) if node is not None else ():
        begin = word_at(node, offset)
        if not begin or begin % 8 or _heap._class_at(begin):
            continue
        accumulator = word_at(begin, 0)
        if accumulator and "AccumulateGrad" in (_heap._class_at(accumulator) or ""):
            return offset
    return None


def edge_bytes(toys: Toys, edges: int | None) -> int | None:
    """Find the size of one edge, on a node of two inputs."""
    address = node_behind(toys.product.grad_fn)
    begin, end = word_at(address, edges), word_at(address, edges + 8 if edges is not None else None)
    return (end - begin) // 2 if begin and end and 16 <= (end - begin) // 2 <= 32 else None


def of_contexts(toys: Toys) -> Fields:
    """Find fields of a custom Function's ctx; some are set only during forward."""
    ctx = toys.custom.grad_fn
    yield "node_in_context", pointer_to_class(id(ctx), "PyNode", type(ctx).__basicsize__)[0]
    places = range(16, type(ctx).__basicsize__, 8)
    saved = next((at for at in places if word_at(word_at(id(ctx), at), 0) == toys.leaf._cdata), None)
    yield "saved_in_context", saved
    yield "slot_bytes", saved_bytes(id(ctx), saved, toys.result._cdata)
    yield "context_in_node", find(node_of_context(ctx), id(ctx))
    for name in ("to_save", "saved_for_forward", "non_differentiable", "dirty"):
        yield f"{name}_in_context", toys.fields_in_forward.get(name)


def saved_bytes(ctx: int, saved: int | None, second: int) -> int | None:
    """Find the size of a saved slot: a ctx has two of them in a row, and the second holds this tensor."""
    begin, end = word_at(ctx, saved), word_at(ctx, saved + 8 if saved is not None else None)
    nbytes = (end - begin) // 2 if begin and end else 0
    return nbytes if 0 < nbytes <= 256 and word_at(begin, nbytes) == second else None


def of_hooks(toys: Toys) -> Fields:
    """Find fields of the small objects that hold Python hooks."""
    _, hooks = pointer_to_class(meta_of(toys.leaf), "PyFunctionTensorPostAccGradHooks", 184)
    yield (
        "post_accumulate_hook_in_meta",
        pointer_to_class(meta_of(toys.leaf), "PyFunctionTensorPostAccGradHooks", 184)[0],
    )
    yield "hooks_in_meta", vector_of_class(meta_of(toys.leaf), "PyFunctionTensorPreHook", 8, 184)
    node = node_behind(toys.hooked[0].grad_fn)
    for name, class_name in HOOK_LISTS.items():
        yield name, vector_of_class(node, class_name, 8, 400)
    dict_ = toys.leaf._post_accumulate_grad_hooks
    yield "post_accumulate_hooks_in_wrapper", find(id(toys.leaf), id(dict_), nbytes=64)
    yield "dict_in_hook", find(hooks, id(dict_), nbytes=32)


def of_metadata(toys: Toys) -> Fields:
    """Find the dict of a node's metadata."""
    _, held = pointer_to_class(node_behind(toys.node), "PyAnomalyMetadata", 464)
    yield "dict_in_metadata", find(held, id(toys.node.metadata), nbytes=128)


def of_saved(toys: Toys) -> Fields:
    """Find fields of a saved slot and of its pair of hooks."""
    of_leaf, of_result = (node_behind(packed.grad_fn) for packed in (toys.packed_leaf, toys.packed_result))
    at, hooks = pointer_to_class(of_leaf, "PySavedVariableHooks", SEARCHED_BYTES)
    yield "pack_in_hooks", find(hooks, id(toys.pack), nbytes=64)
    yield "unpack_in_hooks", find(hooks, id(toys.unpack), nbytes=64)
    yield "packed_in_hooks", find(hooks, id(toys.packed), nbytes=64)
    slot = find(node_behind(toys.node), toys.leaf._cdata, "TensorImpl")  # of the same class
    yield "hooks_in_slot", at - slot if at is not None and slot is not None else None
    yield "flags_in_slot", flags_offset(node_behind(toys.node), slot)
    for name, node, owner in (
        ("accumulator_in_slot", of_leaf, "AccumulateGrad"),
        ("grad_fn_in_slot", of_result, "SinBackward0"),
    ):
        found = pointer_to_class(node + at, owner, 64)[0] if node is not None and at is not None else None
        yield name, at + found - slot if at is not None and found is not None and slot is not None else None


def flags_offset(node: int | None, slot: int | None) -> int | None:
    """Find the truths of a slot that holds a leaf as it is: not empty, not made by an in-place operation on a view; the
    original, a leaf.
    """
    if node is None or slot is None:
        return None
    found = (at for at in range(8, SLOT_BYTES, 8) if (word_at(node, slot + at) or 0) & 0xFFFFFFFF == FLAGS_OF_LEAF)
    return next(found, None)


def of_saved_tensors(toys: Toys) -> Fields:
    """Find the slot of a Python SavedTensor, and the bit that says who owns it."""
    if not hasattr(toys.torch._C._autograd, "_make_saved_tensor"):  # checkpoints keep their inputs in a ctx
        yield "saved_tensor_type", toys.torch._C._FunctionBase
        yield from (("slot_in_saved_tensor", NOWHERE), ("ownership_of_saved_tensor", NOWHERE))
        return
    saved, shown = toys.saved, toys.shown
    places = range(16, type(saved).__basicsize__, 8)
    at = next((at for at in places if word_at(word_at(id(saved), at), 0) == toys.leaf._cdata), None)
    bits = {at: tuple((word_at(id(one), at) or 0) & 1 for one in (saved, shown)) for at in reversed(places)}
    yield "saved_tensor_type", type(saved)
    yield "slot_in_saved_tensor", at
    yield "ownership_of_saved_tensor", next((at for at, pair in bits.items() if pair == (1, 0)), None)


def saved_names(toys: Toys) -> Fields:
    """Return the names of saved tensors for each node class, in memory order."""
    yield "saved_names", names_in_classes(toys.torch)


@functools.cache
def names_in_classes(torch: Any) -> dict[str, list[str]]:
    """Return field names by the class name of a node."""
    prefix = "_raw_saved_"
    classes = {name: value for name, value in vars(torch._C._functions).items() if isinstance(value, type)}
    return {
        name: [field.removeprefix(prefix) for field in vars(value) if field.startswith(prefix)]
        for name, value in classes.items()
    }


GROUPS = (
    of_nodes,
    of_sequence_numbers,
    of_shapes,
    of_contexts,
    of_hooks,
    of_metadata,
    of_saved,
    of_saved_tensors,
    saved_names,
)
