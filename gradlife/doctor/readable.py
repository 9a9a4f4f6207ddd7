"""Signs of what gradlife can read in this process: torch's C++ objects, and memory with native references."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

from gradlife import _heap
from gradlife.doctor.installation import one_line
from gradlife.heap.native_census import native_census
from gradlife.heap.scan import scan
from gradlife.heap.torch_layout.torch import MEANINGS, NEWEST_TESTED, ensure_calibrated, missing_fields
from gradlife.model.checkup import Health, Sign

SECTION, MACHINE = "What gradlife can read of torch", "This machine"

#: The fields of torch's objects that every answer needs.
NEEDED = {
    *(
        "tensors",
        "grad nodes",
        "the C++ object behind a tensor",
        "the C++ object behind a grad_fn",
        "storages of tensors",
    ),
    *("grad_fn of tensors", "next edges", "saved tensors of nodes", "ctx objects", "bytes of storages"),
}
REMEDY = f"use a release of PyTorch that gradlife was tested with (up to {NEWEST_TESTED[0]}.{NEWEST_TESTED[1]}), or report this"


def layout() -> Iterator[Sign]:
    """Check each kind of reference in torch's objects: calibrated and verified, or not readable in this release."""
    if sys.modules.get("torch") is None:
        return
    limits = ensure_calibrated()
    missing = missing_fields()
    if missing is None:
        yield Sign(SECTION, "the layout of its objects", "; ".join(limits), Health.BROKEN, REMEDY)
        return
    fields: dict[str, list[str]] = {}
    for field, meaning in MEANINGS.items():
        fields.setdefault(meaning, []).append(field)
    for meaning, names in fields.items():
        lost = [name for name in names if name in missing]
        if lost:
            health = Health.BROKEN if meaning in NEEDED else Health.LESS
            yield Sign(SECTION, meaning, f"not found: {', '.join(lost)}", health, REMEDY)
        else:
            yield Sign(SECTION, meaning, "can be read")


def memory() -> Iterator[Sign]:
    """Check the memory searches: for native holders, and for unreachable C++ objects."""
    probe = object()
    is_readable = _heap._read_word(id(probe)) is not None
    text = "process_vm_readv works" if is_readable else "process_vm_readv is refused or missing"
    yield Sign(MACHINE, "reading its own memory", text, *health_of(is_readable))
    yield tried("native scan", lambda: f"{len(scan([probe])[0])} holders of a lone object")
    yield tried("native census", lambda: f"{sum(row.count for row in native_census().classes):,} C++ objects")
    given = _heap.malloc_bytes()
    text = f"malloc reports its use: {given:,} bytes" if given is not None else "malloc reports nothing"
    yield Sign(MACHINE, "malloc", text, *health_of(given is not None, "run with glibc's malloc"))


def tried(name: str, work: Callable[[], str]) -> Sign:
    """Try one way to read memory."""
    try:
        result = work()
    except (RuntimeError, OSError, MemoryError) as error:
        return Sign(MACHINE, name, f"not possible: {one_line(error)}", *health_of(False))
    return Sign(MACHINE, name, f"possible: {result}")


def health_of(is_well: bool, remedy: str = "") -> tuple[Health, str]:
    """Rate a missing capability: a loss on Linux, expected elsewhere."""
    if is_well:
        return Health.WELL, ""
    if not sys.platform.startswith("linux"):
        return Health.ABSENT, ""
    return Health.LESS, remedy or "run it where the sandbox lets a process read itself (seccomp: process_vm_readv)"
