"""Facts about a tensor in a snapshot: its grad node, its storage, whether it is a view."""

from __future__ import annotations

from gradlife import _heap
from gradlife.heap.ownership_links import short_type
from gradlife.heap.torch_layout.fields import block_of_empty
from gradlife.model.trace import TensorFacts
from gradlife.safe_access import member


def tensor_facts(graph: _heap.Graph, node: int) -> TensorFacts | None:
    """Return the facts about a tensor node, or about its Python wrapper."""
    impl = node if graph.kind(node) == "tensor" else first_of_kind(graph, node, "tensor")
    if impl is None:
        return None
    storage = first_of_kind(graph, impl, "storage")
    return TensorFacts(
        grad_fn=grad_fn_of(graph, impl) or grad_fn_of(graph, node),
        is_view=storage is not None and any(has_storage(graph, other, storage) for other in tensors_of(graph, impl)),
        storage_bytes=content_bytes(graph, storage) if storage is not None else None,
    )


def content_bytes(graph: _heap.Graph, storage: int) -> int | None:
    """Return the size of a storage's contents alone, whoever owns them; None if sizes were not measured."""
    found = graph.describe(storage)
    if found.bytes is None or found.type.startswith("engine::"):
        return found.bytes
    return max(0, found.bytes - storage_header()) + graph.borrowed(storage)


def storage_header() -> int:
    """Return the size of an empty storage object, which a graph counts with the storage's contents."""
    kind = member("torch", "UntypedStorage")
    return block_of_empty(kind) if kind is not None else 0


def first_of_kind(graph: _heap.Graph, node: int, kind: str) -> int | None:
    """Return the first referent of a kind: a tensor's storage or node."""
    return next((target for target in graph.referents(node) if graph.kind(target) == kind), None)


def tensors_of(graph: _heap.Graph, impl: int) -> list[int]:
    """Return other tensors that a tensor holds: its gradient, its base."""
    return [other for other in graph.referents(impl) if other != impl and graph.kind(other) == "tensor"]


def has_storage(graph: _heap.Graph, impl: int, storage: int) -> bool:
    """Whether this tensor is a base, not a gradient."""
    return storage in graph.referents(impl)


def grad_fn_of(graph: _heap.Graph, node: int) -> str:
    """Return the type of a tensor's grad node; for a custom Function, of its ctx."""
    found = first_of_kind(graph, node, "grad_node")
    if found is None:
        return ""
    name = short_type(graph.type(found))
    if name != "PyNode":
        return name
    ctx = first_of_kind(graph, found, "python")
    return short_type(graph.type(ctx)) if ctx is not None else name
