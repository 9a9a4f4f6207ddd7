"""Observe the engine: living objects, events, and who owns whom. Observing changes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gradlife import _engine
from gradlife.errors import UsageError


@dataclass(frozen=True)
class Event:
    """One entry of the event log. ``object`` is the engine's number of the object; ``time`` is in seconds, monotonic."""

    seq: int
    kind: str
    object: int
    object_kind: str
    name: str
    detail: str
    strong: int
    weak: int
    time: float


def events(clear: bool = False) -> list[Event]:
    """Return the events since the log was last cleared, oldest first: at most the last 65,536."""
    rows = _engine._events()
    if clear:
        _engine._clear_events()
    return [
        Event(seq, kind, number, object_kind, name, detail or "", strong, weak, nanoseconds / 1e9)
        for seq, kind, number, object_kind, name, detail, strong, weak, nanoseconds in rows
    ]


def clear_events() -> None:
    """Clear the event log."""
    _engine._clear_events()


def log_events(enabled: bool) -> None:
    """Switch the event log off, for timing, or on again."""
    _engine._log_events(enabled)


def live_counts() -> dict[str, int]:
    """Return exact counts of live engine objects by kind: tensor, storage, node, block, saved, hook, context."""
    return dict(_engine._live_counts())


def live_bytes() -> int:
    """Return the bytes of all live storages."""
    return int(_engine._live_bytes())


def use_count(obj: Any) -> int:
    """Return the count of C++ owners of the engine object behind ``obj`` (tensor, storage or node), its wrapper included."""
    return int(_engine._use_count(obj))


@dataclass(frozen=True)
class OwnerTree:
    """The ownership tree below one object; ``str()`` draws it.

    ``ownership`` says how the object above holds this one: strong, weak, borrowed or coupled. ``is_seen`` marks an
    object that has its own line elsewhere in the tree.
    """

    label: str
    ownership: str
    name: str
    counts: str = ""
    is_seen: bool = False
    children: tuple[OwnerTree, ...] = ()

    def __str__(self) -> str:
        return "\n".join(_draw(self, "", ""))


def owners(obj: Any, depth: int = 6) -> OwnerTree:
    """Return the ownership tree of a tensor, storage, node or context. Cost: one pass over all live engine objects."""
    number = _engine._object_id(obj)
    if number is None and not hasattr(obj, "__dict__"):
        raise UsageError(
            f"a {type(obj).__name__} has no owners in the engine", hint="a tensor, a storage, a grad_fn or a ctx"
        )
    table = {row[0]: row for row in _engine._live_graph()}
    if number is None:
        gone = "impl" if isinstance(obj, _engine.TensorBase) else "node"
        return OwnerTree("", "", f"{type(obj).__name__} (its {gone} is gone)")
    return _Tree(table).grow("", "", number, depth)


class _Tree:
    def __init__(self, table: dict[int, Any]) -> None:
        self.table = table
        self.seen: set[int] = set()

    def grow(self, label: str, ownership: str, number: int, depth: int) -> OwnerTree:
        _, kind, name, strong, weak, identity, wrapper, edges = self.table[number]
        title = f"{name} #{number}" if kind != "tensor" else f"tensor #{number}"
        counts = f"{strong} strong" + (f", {weak} weak" if weak else "")
        if number in self.seen or depth == 0:
            return OwnerTree(label, ownership, title, counts, is_seen=True)
        self.seen.add(number)
        children = [] if wrapper is None else [self._wrapper(wrapper, identity)]
        children += [self._child(edge, depth) for edge in edges]
        return OwnerTree(label, ownership, title, counts, children=tuple(children))

    def _wrapper(self, wrapper: Any, identity: str) -> OwnerTree:
        type_name, _, refcount, to_impl, to_wrapper = wrapper
        back = OwnerTree("back to it", to_impl or "nothing (emptied)", "impl", is_seen=True)
        return OwnerTree(
            "wrapper", to_wrapper or "unknown to it", type_name, f"refcount {refcount}, {identity}", children=(back,)
        )

    def _child(self, edge: Any, depth: int) -> OwnerTree:
        label, ownership, number, name, _ = edge
        if number is None:
            return OwnerTree(label, ownership, f"Python {name}")
        if number not in self.table:
            return OwnerTree(label, ownership, name, "dying")
        return self.grow(label, ownership, number, depth - 1)


_ARROWS = {"strong": "━▶", "weak": "┄▶", "borrowed": "╌▷", "coupled": "═▶"}


def _draw(tree: OwnerTree, indent: str, branch: str) -> list[str]:
    arrow = _ARROWS.get(tree.ownership, "  ") + " " if tree.ownership else ""
    label = f"{tree.label} ({tree.ownership}) " if tree.ownership else ""
    tail = f"  [{tree.counts}]" if tree.counts else ""
    seen = "  ↑ above" if tree.is_seen and tree.label != "back to it" else ""
    lines = [f"{indent}{branch}{arrow}{label}{tree.name}{tail}{seen}"]
    below = indent + {"": "", "├─ ": "│  ", "└─ ": "   "}[branch]
    for i, child in enumerate(tree.children):
        lines += _draw(child, below, "└─ " if i == len(tree.children) - 1 else "├─ ")
    return lines
