"""Where this torch keeps what its public names do not show: found on toy objects whose parts are known.

The offsets differ from release to release, so none is written down here. Each is the place of a known address in a known
object.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

from gradlife import _heap
from gradlife.heap.torch_toys import Toys

Fields = Iterator[tuple[str, Any]]

#: As much of an object as is searched, in bytes: more than any of these classes has before its subclasses' own fields.
SEARCHED_BYTES = 640

#: What each class is to the walk, which tells classes by their own names and those of their bases.
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


#: The lists of hooks that every node has, and the class of what stands in each.
HOOK_LISTS = {
    "tensor_hooks_in_node": "PyFunctionTensorPreHook",
    "prehooks_in_node": "PyFunctionPreHook",
    "hooks_in_node": "PyFunctionPostHook",
}

#: Of what a `std::function` is made over, if it is no more than this, it keeps a copy; then comes the address of its code.
FUNCTION_BYTES = 16
#: Where a DLPack structure has its maker's word, by the sort of it: the layout is public.
MAKER = {"plain": 48, "versioned": 8}
#: How a tensor comes to memory of others: by the sort of what it is made over, the tensor and the owner's address.
BORROWERS: dict[str, Callable[[Toys], tuple[Any, int]]] = {
    "object of a buffer": lambda toys: (toys.borrowing, id(toys.buffer)),
    "object of an array": lambda toys: (toys.torch.from_numpy(toys.array), id(toys.array)),
    "plain": lambda toys: (toys.handed_over, toys.big._cdata),
    "versioned": lambda toys: (toys.handed_over_by_version, toys.big._cdata),
}


def find(base: int | None, value: int | None, class_name: str = "", nbytes: int = SEARCHED_BYTES) -> int | None:
    """Where `value` stands in the object at `base`; with `class_name`, only if an object of that class is there."""
    if base is None or value is None or (class_name and class_name not in (_heap._class_at(value) or "")):
        return None
    return _heap._find_word(base, nbytes, value)


def word_at(base: int | None, offset: int | None) -> int | None:
    """The word there, or None where nothing can be read."""
    return _heap._read_word(base + offset) if base is not None and offset is not None else None


def pointer_to_class(base: int | None, class_name: str, nbytes: int) -> tuple[int | None, int | None]:
    """The first word in an object that points at one of this class: its offset, and the word."""
    for offset in range(0, nbytes, 8) if base is not None else ():
        value = word_at(base, offset)
        if value and value % 8 == 0 and class_name in (_heap._class_at(value) or ""):
            return offset, value
    return None, None


def vector_of_class(base: int | None, class_name: str, start: int, stop: int) -> int | None:
    """Where the vector begins, in an object, whose first word points at one of this class."""
    for offset in range(start, stop, 8) if base is not None else ():
        begin, end = word_at(base, offset), word_at(base, offset + 8)
        if begin and end and begin % 8 == 0 and begin < end and not _heap._class_at(begin):
            first = word_at(begin, 0)
            if first and class_name in (_heap._class_at(first) or ""):
                return offset
    return None


def meta_of(tensor: Any) -> int | None:
    """The address of what differentiation knows of a tensor."""
    found = pointer_to_class(tensor._cdata, "AutogradMeta", 160)[1]
    return found if found is not None else pointer_to_class(tensor._cdata, "DifferentiableViewMeta", 160)[1]


def node_behind(wrapper: Any) -> int | None:
    """The address of the node that a `grad_fn` stands for, which has the same class name."""
    return pointer_to_class(id(wrapper), type(wrapper).__name__, 48)[1]


def node_of_context(ctx: Any) -> int | None:
    """The address of the node of a custom Function's ctx."""
    return pointer_to_class(id(ctx), "PyNode", type(ctx).__basicsize__)[1]


# --- groups of fields: each stands by itself where another fails -----------------------------------------------------


def of_types(toys: Toys) -> Fields:
    """The Python types whose instances have C++ objects behind them, and the C++ classes."""
    yield "tensor_type", toys.torch._C.TensorBase
    yield "storage_type", toys.torch._C.StorageBase
    yield "context_type", toys.torch._C._FunctionBase
    yield "node_wrapper_type", type(toys.node)
    yield from CLASSES.items()


def of_tensors(toys: Toys) -> Fields:
    """Fields of tensors, storages and what differentiation knows of them."""
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
    # One word too few rather than one too many: what malloc can give is up to a word more than was asked for.
    blocks = (_heap._torch_block(tensor._cdata) for tensor in (leaf, toys.tangent, toys.big, toys.result))
    yield "impl_bytes", min((nbytes - 8 for nbytes in blocks if nbytes), default=None)


def of_views(toys: Toys) -> Fields:
    """Where a view's base stands, and the byte behind it that says so: nothing else of that place need be written."""
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
    """Forward-mode tangents: a block that has the first of a list of entries, whose third word is the tensor."""
    with toys.dual() as dual:
        in_meta, in_block = tangent_offsets(meta_of(dual), toys.tangent._cdata)
    yield "tangents_in_meta", in_meta
    yield "list_in_tangents", in_block


def tangent_offsets(meta: int | None, tangent: int) -> tuple[int | None, int | None]:
    """Where the block's address stands, and in the block that of the first entry."""
    for in_meta in range(8, 184, 8) if meta is not None else ():
        block = word_at(meta, in_meta)
        for in_block in range(0, 64, 8) if block and block % 8 == 0 else ():
            entry = word_at(block, in_block)
            if entry and entry % 8 == 0 and word_at(entry, 16) == tangent:
                return in_meta, in_block
    return None, None


def of_descriptions(toys: Toys) -> Fields:
    """Sizes, dtypes, devices."""
    big, meta = toys.big_storage._cdata, toys.meta_storage._cdata
    yield "bytes_in_storage", find(big, toys.big_storage.nbytes(), nbytes=104)
    numbers = toys.device_names()
    cpu, other = ({name: number for number, name in numbers.items()}.get(name) for name in ("cpu", "meta"))
    places = (
        at
        for at in range(8, 104, 2)
        if (half_at(big, at), half_at(meta, at)) == (0xFF00 | (cpu or 0), 0xFF00 | (other or 0))
    )
    yield "device_in_storage", next(places, None)
    yield "device_names", numbers
    sizes = toys.shaped._cdata
    at = next(
        (at for at in range(8, 160, 8) if [word_at(sizes, at + 8 * i) for i in range(5)] == [*toys.shaped.shape]), None
    )
    yield "sizes_in_impl", at
    counts = [at for at in range(8, 160, 8) if word_at(sizes, at) == 5 and word_at(toys.big._cdata, at) == 1]
    yield "dimensions_in_impl", next((at for at in counts if word_at(toys.deep._cdata, at) == 6), None)
    yield from of_dtypes(toys)


def of_memory(toys: Toys) -> Fields:
    """Where a storage keeps the owner of memory that is not its own: a C++ function was made over it, to give it back."""
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
    """Of the functions that this torch makes the code, and over what each is made."""
    found: dict[int, str] = {}
    for sort, make in BORROWERS.items():
        try:
            tensor, address = make(toys)
        except Exception:  # no numpy, or a release without this
            continue
        function = word_at(tensor.untyped_storage()._cdata, context)
        held = word_at(function, owner)
        made_over = word_at(word_at(held, MAKER[sort]), 0) if sort in MAKER else held
        code = word_at(function, owner + FUNCTION_BYTES)
        if made_over == address and code:
            found[code] = sort.partition(" ")[0]
    return found


def half_at(base: int, offset: int) -> int:
    """Two bytes there; 0 where nothing can be read."""
    return ((word_at(base, offset & ~7) or 0) >> 8 * (offset & 7)) & 0xFFFF


def of_dtypes(toys: Toys) -> Fields:
    """The number that tells a tensor's dtype: small, different for each, and the same for two tensors of one."""
    tensors = toys.tensors_of_dtypes()
    for at in range(8, 240, 2):
        names = {half_at(first._cdata, at): name for name, (first, _) in tensors.items()}
        same = all(half_at(first._cdata, at) == half_at(second._cdata, at) < 256 for first, second in tensors.values())
        if same and len(names) == len(tensors):
            yield "dtype_in_impl", at
            yield "dtype_names", names
            return
    yield "dtype_in_impl", None
    yield "dtype_names", None


def of_counts(toys: Toys) -> Fields:
    """Who owns whom, and where that is counted."""
    yield "are_counts_coupled", are_counts_coupled(toys.torch)
    yield "are_nodes_coupled", are_nodes_coupled(toys)
    yield "context_owns_node", context_owns_node(toys)
    yield "count_in_target", count_offset(toys.torch)


def are_counts_coupled(torch: Any) -> bool:
    """Since 2.10 a second owner in C++ adds one to the wrapper's count, and only one."""
    tensor = torch.ones(2, device="cpu")
    before = sys.getrefcount(tensor)
    other = torch.ones(2, device="cpu", requires_grad=True)
    other.grad = tensor
    return sys.getrefcount(tensor) == before + 1


def are_nodes_coupled(toys: Toys) -> bool:
    """The same of a node and its wrapper."""
    result = toys.leaf.sin()
    node = result.grad_fn
    before = sys.getrefcount(node)
    del result
    return sys.getrefcount(node) == before - 1


def context_owns_node(toys: Toys) -> bool:
    """Does a ctx keep its node, as it does since nodes are counted as tensors are, or merely know it?"""
    ctx = toys.apply(toys.leaf).grad_fn
    node = node_of_context(ctx)  # what it was made for is gone by now
    return node is not None and find(node, id(ctx)) is not None


def count_offset(torch: Any) -> int | None:
    """Where the strong count of an impl stands: the low half of a word that follows `_use_count()`."""
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


def of_nodes(toys: Toys) -> Fields:
    """Fields of nodes, their edges and contexts."""
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


def of_shapes(toys: Toys) -> Fields:
    """Of what a node's outputs are: a vector that has room for two in itself, of sizes with room for a few, or a tensor of
    them; the byte behind says which.
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
    """The vector of edges: its first word points at an edge, whose first word points at the accumulator."""
    for offset in range(0, 256, 8) if node is not None else ():
        begin = word_at(node, offset)
        if not begin or begin % 8 or _heap._class_at(begin):
            continue
        accumulator = word_at(begin, 0)
        if accumulator and "AccumulateGrad" in (_heap._class_at(accumulator) or ""):
            return offset
    return None


def edge_bytes(toys: Toys, edges: int | None) -> int | None:
    """The size of one edge: a node of two inputs has two."""
    address = node_behind(toys.product.grad_fn)
    begin, end = word_at(address, edges), word_at(address, edges + 8 if edges is not None else None)
    return (end - begin) // 2 if begin and end and 16 <= (end - begin) // 2 <= 32 else None


def of_contexts(toys: Toys) -> Fields:
    """Fields of the ctx of a custom Function, some of them full while its forward runs only."""
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
    """The size of one saved tensor's place: a ctx has two of them in a row, and the second has this tensor."""
    begin, end = word_at(ctx, saved), word_at(ctx, saved + 8 if saved is not None else None)
    nbytes = (end - begin) // 2 if begin and end else 0
    return nbytes if 0 < nbytes <= 256 and word_at(begin, nbytes) == second else None


def of_hooks(toys: Toys) -> Fields:
    """Fields of the small objects that hold Python's hooks."""
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
    """The dict of a node's metadata."""
    _, held = pointer_to_class(node_behind(toys.node), "PyAnomalyMetadata", 464)
    yield "dict_in_metadata", find(held, id(toys.node.metadata), nbytes=128)


def of_saved(toys: Toys) -> Fields:
    """Fields of a saved tensor, and of its pair of hooks."""
    of_leaf, of_result = (node_behind(packed.grad_fn) for packed in (toys.packed_leaf, toys.packed_result))
    at, hooks = pointer_to_class(of_leaf, "PySavedVariableHooks", SEARCHED_BYTES)
    yield "pack_in_hooks", find(hooks, id(toys.pack), nbytes=64)
    yield "unpack_in_hooks", find(hooks, id(toys.unpack), nbytes=64)
    yield "packed_in_hooks", find(hooks, id(toys.packed), nbytes=64)
    slot = find(node_behind(toys.node), toys.leaf._cdata, "TensorImpl")  # of the same class
    yield "hooks_in_slot", at - slot if at is not None and slot is not None else None
    for name, node, owner in (
        ("accumulator_in_slot", of_leaf, "AccumulateGrad"),
        ("grad_fn_in_slot", of_result, "SinBackward0"),
    ):
        found = pointer_to_class(node + at, owner, 64)[0] if node is not None and at is not None else None
        yield name, at + found - slot if at is not None and found is not None and slot is not None else None


def saved_names(toys: Toys) -> Fields:
    """The saved tensors of every node class, in the order in which they stand in it."""
    prefix = "_raw_saved_"
    classes = {name: value for name, value in vars(toys.torch._C._functions).items() if isinstance(value, type)}
    yield (
        "saved_names",
        {
            name: [field.removeprefix(prefix) for field in vars(value) if field.startswith(prefix)]
            for name, value in classes.items()
        },
    )


GROUPS = (
    of_types,
    of_tensors,
    of_views,
    of_tangents,
    of_descriptions,
    of_memory,
    of_counts,
    of_nodes,
    of_shapes,
    of_contexts,
    of_hooks,
    of_metadata,
    of_saved,
    saved_names,
)


def find_layout(toys: Toys) -> dict[str, Any]:
    """Every field of the extension's layout that was found. A group that fails is left out, whatever its failure."""
    found: dict[str, Any] = {}
    for group in GROUPS:
        try:
            for name, value in group(toys):
                if value is not None:
                    found[name] = value
        except Exception:  # a torch whose private names moved must not break the question that was asked
            continue
    return found
