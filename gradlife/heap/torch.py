"""Where this torch keeps what its public names do not show: found once, on toy objects whose parts are known.

The offsets differ from release to release, so none is written down here. Each is the place of a known address in a known
object, and what the walk finds at such a place must be of the right C++ class, or it is not followed.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gradlife import _heap

#: As much of an object as is searched, in bytes: more than any of these classes has before its subclasses' own fields.
SEARCHED_BYTES = 640

_state: dict[str, Any] = {}


def ensure_calibrated() -> tuple[str, ...]:
    """Calibrates for the torch that this process has loaded, once; imports nothing. Returns what could not be found."""
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "_C") or not hasattr(torch, "autograd"):
        return ()
    if _state.get("torch") is not torch:
        _state["torch"] = torch
        _state["limits"] = calibrate(torch)
    return tuple(_state["limits"])


def calibrate(torch: Any) -> tuple[str, ...]:
    """Finds the layout and hands it to the extension. What did not verify is left out, and said."""
    try:
        with quiet(torch):
            layout = dict(find_layout(torch))
    except Exception as error:  # a torch whose private names moved must not break the question that was asked
        _heap._set_torch_layout(None)
        return (f"torch's C++ objects: its layout could not be found ({type(error).__name__}: {error})",)
    missing = sorted(name for name, value in layout.items() if value is None)
    _heap._set_torch_layout({name: value for name, value in layout.items() if value is not None})
    return (f"in torch's C++ objects: {', '.join(missing)}",) if missing else ()


@contextmanager
def quiet(torch: Any) -> Iterator[None]:
    """No mode or hook of the program sees the toys being made."""
    with torch._C._DisableTorchDispatch(), torch._C.DisableTorchFunctionSubclass(), torch.enable_grad():
        yield


def find_layout(torch: Any) -> Iterator[tuple[str, Any]]:
    """Every field of the extension's layout; None for what is not where it is looked for."""
    leaf = torch.ones(3, requires_grad=True)
    leaf.grad = torch.zeros(3)
    result = leaf.sin()
    node = result.grad_fn
    custom = make_function(torch).apply(leaf)
    yield from types(torch, node)
    yield from of_tensors(torch, leaf, result)
    yield from of_nodes(torch, leaf, result, node, custom)
    yield from of_hooks(torch, leaf, node)
    yield "saved_names", saved_names(torch)


def types(torch: Any, node: Any) -> Iterator[tuple[str, Any]]:
    """The Python types whose instances have C++ objects behind them."""
    yield "tensor_type", torch._C.TensorBase
    yield "storage_type", torch._C.StorageBase
    yield "context_type", torch._C._FunctionBase
    yield "node_wrapper_type", type(node)


def make_function(torch: Any) -> Any:
    """A custom Function that does little."""

    class Toy(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            return x * 2

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return grad * 2

    return Toy


def find(base: int | None, value: int, class_name: str = "", nbytes: int = SEARCHED_BYTES) -> int | None:
    """Where `value` stands in the object at `base`; with `class_name`, only if an object of that class is there."""
    if base is None or (class_name and class_name not in (_heap._class_at(value) or "")):
        return None
    return _heap._find_word(base, nbytes, value)


def word_at(base: int | None, offset: int | None) -> int | None:
    """The word there, or None where nothing can be read."""
    return _heap._read_word(base + offset) if base is not None and offset is not None else None


def of_tensors(torch: Any, leaf: Any, result: Any) -> Iterator[tuple[str, Any]]:
    """Fields of tensors, storages and what differentiation knows of them."""
    impl, storage = leaf._cdata, leaf.untyped_storage()
    yield "impl_in_wrapper", find(id(leaf), impl, "TensorImpl", type(leaf).__basicsize__)
    yield "impl_in_storage_wrapper", find(id(storage), storage._cdata, "StorageImpl", 48)
    yield "storage_in_impl", find(impl, storage._cdata, "StorageImpl", 160)
    yield "wrapper_in_impl", find(impl, id(leaf), nbytes=160)
    yield "wrapper_in_storage", find(storage._cdata, id(storage), nbytes=104)
    big = torch.empty(123_457, dtype=torch.uint8).untyped_storage()
    yield "bytes_in_storage", find(big._cdata, 123_457, nbytes=104)
    meta_offset, meta = pointer_to_class(impl, "AutogradMeta", 160)
    yield "meta_in_impl", meta_offset
    yield "grad_in_meta", find(meta, leaf.grad._cdata, "TensorImpl", 160)
    yield "are_counts_coupled", are_counts_coupled(torch)
    yield "count_in_target", count_offset(torch)


def pointer_to_class(base: int | None, class_name: str, nbytes: int) -> tuple[int | None, int | None]:
    """The first word in an object that points at one of this class: its offset, and the word."""
    for offset in range(0, nbytes, 8) if base is not None else ():
        value = word_at(base, offset)
        if value and value % 8 == 0 and class_name in (_heap._class_at(value) or ""):
            return offset, value
    return None, None


def are_counts_coupled(torch: Any) -> bool:
    """Since 2.10 a second owner in C++ adds one to the wrapper's count, and only one."""
    tensor = torch.ones(2)
    before = sys.getrefcount(tensor)
    other = torch.ones(2, requires_grad=True)
    other.grad = tensor
    return sys.getrefcount(tensor) == before + 1


def count_offset(torch: Any) -> int | None:
    """Where the strong count of an impl stands: the low half of a word that follows `_use_count()`."""
    tensor = torch.ones(2)
    owners = []
    candidates = set(range(8, 32, 8))
    for _ in range(3):
        candidates = {
            offset
            for offset in candidates
            if ((word_at(tensor._cdata, offset) or 0) & 0xFFFFFFFF) == tensor._use_count()
        }
        owner = torch.ones(2, requires_grad=True)
        owner.grad = tensor
        owners.append(owner)
    return min(candidates, default=None)


def of_nodes(torch: Any, leaf: Any, result: Any, node: Any, custom: Any) -> Iterator[tuple[str, Any]]:
    """Fields of nodes, their edges and contexts."""
    offset, address = pointer_to_class(id(node), "SinBackward0", 48)
    yield "node_in_wrapper", offset
    _, meta = pointer_to_class(result._cdata, "AutogradMeta", 160)
    yield "node_in_meta", find(meta, address, "SinBackward0", 160) if address else None
    edges = edges_offset(address)
    yield "edges_in_node", edges
    yield "edge_bytes", edge_bytes(torch, edges)
    yield "wrapper_in_node", find(address, id(node))
    accumulator = word_at(word_at(address, edges), 0)
    yield "variable_in_accumulator", find(accumulator, leaf._cdata, "TensorImpl")
    ctx = custom.grad_fn
    in_context, py_node = pointer_to_class(id(ctx), "PyNode", type(ctx).__basicsize__)
    yield "node_in_context", in_context
    yield "context_in_node", find(py_node, id(ctx))


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


def edge_bytes(torch: Any, edges: int | None) -> int | None:
    """The size of one edge: a node of two inputs has two."""
    x = torch.ones(3, requires_grad=True)
    node = (x * x.exp()).grad_fn
    _, address = pointer_to_class(id(node), "MulBackward0", 48)
    begin, end = word_at(address, edges), word_at(address, edges + 8 if edges is not None else None)
    return (end - begin) // 2 if begin and end and 16 <= (end - begin) // 2 <= 32 else None


def of_hooks(torch: Any, leaf: Any, node: Any) -> Iterator[tuple[str, Any]]:
    """Fields of the small objects that hold Python's hooks."""
    leaf.register_post_accumulate_grad_hook(lambda _: None)
    _, meta = pointer_to_class(leaf._cdata, "AutogradMeta", 160)
    _, hooks = pointer_to_class(meta, "PyFunctionTensorPostAccGradHooks", 184)
    yield "dict_in_hook", find(hooks, id(leaf._post_accumulate_grad_hooks), nbytes=32)
    metadata = node.metadata
    _, address = pointer_to_class(id(node), "SinBackward0", 48)
    _, held = pointer_to_class(address, "PyAnomalyMetadata", 464)
    yield "dict_in_metadata", find(held, id(metadata), nbytes=128)
    yield from of_saved_hooks(torch, object())


def of_saved_hooks(torch: Any, packed: object) -> Iterator[tuple[str, Any]]:
    """Fields of a saved tensor's pair of hooks."""

    def pack(_: Any) -> object:
        return packed

    def unpack(_: Any) -> Any:
        return torch.ones(3)

    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        node = torch.ones(3, requires_grad=True).sin().grad_fn
    _, address = pointer_to_class(id(node), "SinBackward0", 48)
    _, hooks = pointer_to_class(address, "PySavedVariableHooks", SEARCHED_BYTES)
    yield "pack_in_hooks", find(hooks, id(pack), nbytes=64)
    yield "unpack_in_hooks", find(hooks, id(unpack), nbytes=64)
    yield "packed_in_hooks", find(hooks, id(packed), nbytes=64)


def saved_names(torch: Any) -> dict[str, list[str]]:
    """The saved tensors of every node class, in the order in which they stand in it."""
    prefix = "_raw_saved_"
    classes = {name: value for name, value in vars(torch._C._functions).items() if isinstance(value, type)}
    return {
        name: [field.removeprefix(prefix) for field in vars(value) if field.startswith(prefix)]
        for name, value in classes.items()
    }
