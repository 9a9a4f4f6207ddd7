"""Offsets of fields without a public name, found on specimens with known contents.

Offsets differ between releases, so none is written here. Each is where a known address lies in a known object.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterator
from typing import Any

from gradlife import _heap
from gradlife.heap.torch_layout import node_fields
from gradlife.heap.torch_layout.node_fields import NOWHERE
from gradlife.heap.torch_layout.offset_search import (
    find,
    halves_of,
    meta_of,
    node_behind,
    node_of_context,
    pointer_to_class,
    word_at,
)
from gradlife.heap.torch_layout.specimens import Toys, has_level

Fields = Iterator[tuple[str, Any]]

#: The role of each class in the walk, which recognizes a class by its name and its bases' names.
CLASSES = {
    "undefined_class": "c10::UndefinedTensorImpl",
    "tensor_class": "c10::TensorImpl",
    "storage_class": "c10::StorageImpl",
    "meta_class": "torch::autograd::AutogradMeta",
    "node_class": "torch::autograd::Node",
    "accumulator_class": "torch::autograd::AccumulateGrad",
    "context_node_class": "torch::autograd::PyNode",
    "tensor_hook_class": "torch::autograd::PyFunctionTensorPreHook",
    "prehook_class": "torch::autograd::PyFunctionPreHook",
    "hook_class": "torch::autograd::PyFunctionPostHook",
    "post_accumulate_hook_class": "torch::autograd::PyFunctionTensorPostAccGradHooks",
    "saved_hooks_class": "torch::autograd::PySavedVariableHooks",
    "metadata_class": "torch::autograd::PyAnomalyMetadata",
    "mapping_class": "at::MapAllocator",
}


#: Bytes of a callable that a `std::function` stores inline; the address of its code follows.
FUNCTION_BYTES = 16
#: The offset of the producer's context in a DLPack structure, by version. The layout is public.
MAKER = {"plain": 48, "versioned": 8}
#: Tensors over borrowed memory, by the kind of owner: makes the tensor and returns the owner's address.
BORROWERS: dict[str, Callable[[Toys], tuple[Any, int]]] = {
    "object of a buffer": lambda toys: (toys.borrowing, id(toys.buffer)),
    "object of an array": lambda toys: (toys.torch.from_numpy(toys.array), id(toys.array)),
    "plain": lambda toys: (toys.handed_over, toys.big._cdata),
    "versioned": lambda toys: (toys.handed_over_by_version, toys.big._cdata),
}

# --- groups of fields: if one fails, the others are still found ------------------------------------------------------


def of_types(toys: Toys) -> Fields:
    """Find the Python types with C++ objects behind their instances, and the C++ classes."""
    yield "tensor_type", toys.torch._C.TensorBase
    yield "storage_type", toys.torch._C.StorageBase
    yield "context_type", toys.torch._C._FunctionBase
    yield "node_wrapper_type", type(toys.node)
    yield from CLASSES.items()


def of_tensors(toys: Toys) -> Fields:
    """Find fields of tensors, storages and their autograd metadata."""
    leaf, storage = toys.leaf, toys.storage
    yield "impl_in_wrapper", find(id(leaf), leaf._cdata, "TensorImpl", type(leaf).__basicsize__)
    yield "tensor_hooks_in_wrapper", find(id(leaf), id(leaf._backward_hooks), nbytes=64)
    yield "impl_in_storage_wrapper", find(id(storage), storage._cdata, "StorageImpl", 48)
    yield "storage_in_impl", find(leaf._cdata, storage._cdata, "StorageImpl", 160)
    yield "wrapper_in_impl", find(leaf._cdata, id(leaf), nbytes=160)
    yield "wrapper_in_storage", find(storage._cdata, id(storage), nbytes=104)
    yield "meta_in_impl", pointer_to_class(leaf._cdata, "AutogradMeta", 160)[0]
    yield "grad_in_meta", find(meta_of(leaf), leaf.grad._cdata, "TensorImpl", 160)
    yield "node_in_meta", find(meta_of(toys.result), node_behind(toys.node), "SinBackward0", 160)
    # one word too few is safer than one too many: malloc may give a word more than requested
    blocks = (_heap._torch_block(tensor._cdata) for tensor in (leaf, toys.tangent, toys.big, toys.result))
    yield "impl_bytes", min((nbytes - 8 for nbytes in blocks if nbytes), default=None)


def of_views(toys: Toys) -> Fields:
    """Find the base of a view, and the byte after it that says whether there is one; otherwise the field may be
    unwritten.
    """
    views = (toys.view, toys.other_view, toys.view_of_result)
    bases = (toys.leaf, toys.leaf, toys.result)
    places = {find(meta_of(view), base._cdata, "TensorImpl", 400) for view, base in zip(views, bases, strict=True)}
    at = places.pop() if len(places) == 1 else None
    yield "base_in_meta", at
    flags = range(at + 8, at + 96, 8) if at is not None else ()
    yield (
        "has_base_in_meta",
        next((flag for flag in flags if all((word_at(meta_of(view), flag) or 0) & 0xFF == 1 for view in views)), None),
    )


def of_tangents(toys: Toys) -> Fields:
    """Find forward-mode tangents: a block with a list of entries, whose third word is the tensor. A node that saves its
    own result has such a block in the slot.
    """
    if not has_level(toys.torch):
        yield from dict.fromkeys(("tangents_in_meta", "list_in_tangents", "tangents_in_slot"), NOWHERE).items()
        return
    dual = toys.dual
    in_meta, in_block = tangent_offsets(meta_of(dual), toys.tangent._cdata)
    yield "tangents_in_meta", in_meta
    yield "list_in_tangents", in_block
    result, tangent = toys.dual_result
    slot = find(node_behind(toys.node), toys.leaf._cdata, "TensorImpl")  # of the same place in each node
    node = node_behind(result.grad_fn)
    in_slot, _ = tangent_offsets(node + slot if node is not None and slot is not None else None, tangent._cdata)
    yield "tangents_in_slot", in_slot


def tangent_offsets(meta: int | None, tangent: int) -> tuple[int | None, int | None]:
    """Find the offset of the block's address in metadata or a slot, and of the first entry in the block."""
    for in_meta in range(8, 184, 8) if meta is not None else ():
        block = word_at(meta, in_meta)
        for in_block in range(0, 64, 8) if block and block % 8 == 0 else ():
            entry = word_at(block, in_block)
            if entry and entry % 8 == 0 and word_at(entry, 16) == tangent:
                return in_meta, in_block
    return None, None


def of_descriptions(toys: Toys) -> Fields:
    """Find the fields of sizes, dtypes and devices."""
    big, meta = toys.big_storage._cdata, toys.meta_storage._cdata
    yield "bytes_in_storage", find(big, toys.big_storage.nbytes(), nbytes=104)
    yield "storage_block", block_of_empty(toys.torch.UntypedStorage)
    numbers = toys.device_names()
    cpu, other = ({name: number for number, name in numbers.items()}.get(name) for name in ("cpu", "meta"))
    wanted = 0xFF00 | (cpu or 0), 0xFF00 | (other or 0)
    halves = list(zip(halves_of(big, 104), halves_of(meta, 104), strict=True))
    yield "device_in_storage", next((2 * at for at in range(4, 52) if halves[at] == wanted), None)
    yield "device_names", numbers
    sizes = toys.shaped._cdata
    at = next(
        (at for at in range(8, 160, 8) if [word_at(sizes, at + 8 * i) for i in range(5)] == [*toys.shaped.shape]), None
    )
    yield "sizes_in_impl", at
    counts = [at for at in range(8, 160, 8) if word_at(sizes, at) == 5 and word_at(toys.big._cdata, at) == 1]
    yield "dimensions_in_impl", next((at for at in counts if word_at(toys.deep._cdata, at) == 6), None)
    yield from of_dtypes(toys)


@functools.cache
def block_of_empty(kind: Any) -> int:
    """Return the size of malloc's block for an empty storage. malloc may give two words more than requested, and what a
    step adds must not depend on that: graphs count this much for each storage.
    """
    empties = [kind(0) for _ in range(8)]
    return min(_heap._torch_block(empty._cdata) for empty in empties)


def of_memory(toys: Toys) -> Fields:
    """Find where a storage keeps the owner of borrowed memory: in the closure of its C++ deleter."""
    storage, data = toys.borrowing.untyped_storage()._cdata, toys.borrowing.data_ptr()
    at = find(storage, data, nbytes=64)
    yield "data_in_storage", at
    if at is None:
        return
    for context, deleter in ((at + 8, at + 16), (at + 16, at + 8)):
        function = word_at(storage, context)
        owner = find(function, id(toys.buffer), nbytes=64)
        if owner is None or word_at(function, 0) != data:
            continue
        yield "context_in_storage", context
        yield "deleter_in_storage", deleter
        yield "function_deleter", word_at(storage, deleter)
        yield "owner_in_function", owner
        yield "code_in_function", owner + FUNCTION_BYTES
        yield "closures", closures(toys, context, owner)


def closures(toys: Toys, context: int, owner: int) -> dict[int, str]:
    """Find the code and the closure of functions that this torch makes."""
    found: dict[int, str] = {}
    for sort, tensor, address in borrowed_memory(toys):
        function = word_at(tensor.untyped_storage()._cdata, context)
        held = word_at(function, owner)
        made_over = word_at(word_at(held, MAKER[sort]), 0) if sort in MAKER else held
        code = word_at(function, owner + FUNCTION_BYTES)
        if code and is_maker(toys, made_over, address):
            found[code] = sort.partition(" ")[0]
    return found


def borrowed_memory(toys: Toys) -> Iterator[tuple[str, Any, int]]:
    """Yield the kind of owner, the tensor and the owner's address, for the kinds that this release has."""
    for sort, make in BORROWERS.items():
        try:
            tensor, address = make(toys)
        except Exception:  # no numpy, or a release without this
            continue
        yield sort, tensor, address


def is_maker(toys: Toys, found: int | None, expected: int) -> bool:
    """Whether this is the expected owner. Older releases hand over a view, another tensor over the same storage."""
    storage = find(toys.leaf._cdata, toys.storage._cdata, "StorageImpl", 160)
    return found == expected or (found is not None and word_at(found, storage) == toys.big_storage._cdata)


def of_dtypes(toys: Toys) -> Fields:
    """Find the number that identifies a tensor's dtype: small, different for each dtype, equal for equal dtypes."""
    halves = {name: [halves_of(each._cdata, 240) for each in pair] for name, pair in toys.tensors_of_dtypes().items()}
    for at in range(4, 120):
        names = {first[at]: name for name, (first, _) in halves.items()}
        same = all(first[at] == second[at] < 256 for first, second in halves.values())
        if same and len(names) == len(halves):
            yield "dtype_in_impl", 2 * at
            yield "dtype_names", names
            return
    yield "dtype_in_impl", None
    yield "dtype_names", None


def of_counts(toys: Toys) -> Fields:
    """Find the reference counts."""
    yield "are_counts_coupled", are_counts_coupled(toys.torch)
    yield "are_nodes_coupled", are_nodes_coupled(toys)
    yield "context_owns_node", context_owns_node(toys)
    yield "count_in_target", count_offset(toys.torch)


def are_counts_coupled(torch: Any) -> bool:
    """Whether, as since 2.10, a second C++ owner adds exactly one to the wrapper's count."""
    tensor = torch.ones(2, device="cpu")
    before = sys.getrefcount(tensor)
    other = torch.ones(2, device="cpu", requires_grad=True)
    other.grad = tensor
    return sys.getrefcount(tensor) == before + 1


def are_nodes_coupled(toys: Toys) -> bool:
    """Whether the same holds for a node and its wrapper."""
    result = toys.leaf.sin()
    node = result.grad_fn
    before = sys.getrefcount(node)
    del result
    return sys.getrefcount(node) == before - 1


def context_owns_node(toys: Toys) -> bool:
    """Whether a ctx owns its node, as it does since nodes are counted like tensors, or only borrows it."""
    ctx = toys.apply(toys.leaf).grad_fn
    node = node_of_context(ctx)  # its original owner is gone by now
    return node is not None and find(node, id(ctx)) is not None


def count_offset(torch: Any) -> int | None:
    """Find the strong count of an impl: the low half of a word that follows `_use_count()`."""
    tensor = torch.ones(2, device="cpu")
    owners = []
    candidates = set(range(8, 32, 8))
    for _ in range(3):
        candidates = {
            at for at in candidates if ((word_at(tensor._cdata, at) or 0) & 0xFFFFFFFF) == tensor._use_count()
        }
        owner = torch.ones(2, device="cpu", requires_grad=True)
        owner.grad = tensor
        owners.append(owner)
    return min(candidates, default=None)


GROUPS = (
    of_types,
    of_tensors,
    of_views,
    of_tangents,
    of_descriptions,
    of_memory,
    of_counts,
    *node_fields.GROUPS,
)


def find_layout(toys: Toys) -> dict[str, Any]:
    """Return all fields of the layout that were found. A group of fields that raises is omitted."""
    found: dict[str, Any] = {}
    for group in GROUPS:
        try:
            for name, value in group(toys):
                if value is not None:
                    found[name] = value
        except Exception:  # a torch with other private names must not break the user's question
            continue
    return found
