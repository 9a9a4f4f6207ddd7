"""Snapshots made up for tests of pages: nothing is walked."""

from __future__ import annotations

from dataclasses import replace

from fabricated_hunts import CTX, HISTORY
from gradlife.model.heap import Cycle, HeapDiff, HeapView, LargeObject, PathChange, TypeChange, TypeCount
from gradlife.model.heap_map import Area, HeapMap, MappedObject, OtherEnd
from gradlife.model.trace import Lifetime

NOTES = (("taken", "2026-01-02 03:04:05 +0000"), ("python", "3.11.7"), ("limit", "hooks in C++ are not seen"))


def other_end(node: int, name: str = "list", detail: str = "", via: str = "", retained: int = 1000) -> OtherEnd:
    """An object at the other end of a reference."""
    return OtherEnd(node, name, detail or f"len {node}", 4096 + 16 * node, retained, via or f".items_{node}")


def mapped(node: int, above: int = 0, retained: int = 1000, name: str = "app.Store", **more: object) -> MappedObject:
    """An object that keeps and is referred to by the next ones by number."""
    values: dict[str, object] = {
        "node": node,
        "above": above,
        "kind": "python",
        "type": name,
        "detail": f"number {node}",
        "address": 4096 + 16 * node,
        "bytes": 64,
        "retained": retained,
        "via": f".store_{node}",
        "storages": (),
        "kept": (other_end(node + 1),),
        "kept_count": 40,
        "referrers": (other_end(node + 2, "dict", via="['store']"),),
        "referrer_count": 1,
        "referents": (),
        "referent_count": 0,
        **more,
    }
    return MappedObject(**values)  # type: ignore[arg-type]


def heap(count: int = 6, name: str = "app.Store", detail: str = "") -> HeapMap:
    """So many objects, each kept by the one before it; half of what the first retains are storages."""
    objects = tuple(
        mapped(number, number - 1, 10**6 // number, name, detail=detail or f"number {number}", via=detail or ".store")
        for number in range(1, count + 1)
    )
    objects = (replace(objects[0], storages=(("cuda:0", 600_000), ("cpu", 100))), *objects[1:])
    areas = tuple(
        Area(other_end(one.node, name, one.detail, one.via, one.retained), one.retained // 2, (other_end(999),))
        for one in objects[:20]
    )
    return HeapMap(objects, areas, 5 * 10**6, 4096, 12, 24)


def view(types: int = 3, **more: object) -> HeapView:
    """Tables with so many types, and two cycles."""
    values: dict[str, object] = {
        "file": "run/x.glheap",
        "notes": NOTES,
        "objects": 1_234_567,
        "references": 2_345_678,
        "bytes": 5 * 10**6,
        "devices": (("cuda:0", 600_000), ("cpu", 100)),
        "types": tuple(TypeCount(f"app.Type{number}", "python", 10, 1000 - number) for number in range(types)),
        "largest": (),
        "cycles": (
            Cycle(4, 4096, Lifetime.NEVER, True, CTX.cycle),
            Cycle(9, 100, Lifetime.HELD, False, HISTORY.steps[1:]),
        ),
        "instances": (),
        "holders": (),
        **more,
    }
    return HeapView(**values)  # type: ignore[arg-type]


EXAMPLE = LargeObject("app.Order", "python", "", 4096, 64, 640, HISTORY.steps)
DIFF = HeapDiff(
    True,
    (
        TypeChange("app.Order", "python", 70, 7000, 2, 200, 1, 64, (EXAMPLE,)),
        TypeChange("torch::StorageImpl cuda:0", "storage", 3, 3_000_000, 0, 0, 0, 0),
        TypeChange("app.Old", "python", 0, 0, 5, 500, 0, 0),
    ),
    (PathChange("module app: global variable 'shop'.orders[*]", "app.Order", 30, 100, 3000, 10000, is_program=True),),
)
