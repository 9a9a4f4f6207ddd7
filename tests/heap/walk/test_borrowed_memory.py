"""Storages over memory that is not their own: who owns it is found behind them, and nothing is where nobody does."""

from __future__ import annotations

import array
import ctypes
import gc
import mmap
import subprocess
import sys
import weakref
from collections.abc import Callable
from typing import Any

import pytest

import gradlife.engine as engine
from gradlife import _heap
from gradlife.heap import open_snapshot, refs, snapshot, why
from gradlife.heap.torch_layout.torch import ensure_calibrated
from gradlife.model.trace import Lifetime, Referrer

pytestmark = pytest.mark.whole

numpy: Any = pytest.importorskip("numpy")
torch: Any = pytest.importorskip("torch")
needs_torch = pytest.mark.torch


class Exchanged:
    """Hands over what something else has, by its own capsule."""

    def __init__(self, source: Any) -> None:
        self.source = source

    def __dlpack__(self, **options: Any) -> Any:
        return self.source.__dlpack__(**options)

    def __dlpack_device__(self) -> Any:
        return self.source.__dlpack_device__()


def mapped_page() -> Any:
    return mmap.mmap(-1, 4096)


#: What owns the memory, and how a tensor comes to use it.
BORROWED: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "from_numpy": (lambda: numpy.ones(4), lambda owner: torch.from_numpy(owner)),
    "as_tensor": (lambda: numpy.ones(4), lambda owner: torch.as_tensor(owner)),
    "asarray": (lambda: numpy.ones(4), lambda owner: torch.asarray(owner)),
    "asarray of a buffer": (lambda: array.array("f", [1, 2]), lambda owner: torch.asarray(owner, dtype=torch.float32)),
    "frombuffer": (lambda: bytearray(16), lambda owner: torch.frombuffer(owner, dtype=torch.uint8)),
    "a view of a buffer": (
        lambda: memoryview(bytearray(16)),
        lambda owner: torch.frombuffer(owner, dtype=torch.uint8),
    ),
    "a mapped file": (mapped_page, lambda owner: torch.frombuffer(owner, dtype=torch.uint8)),
    "memory of ctypes": (ctypes.c_double * 2, lambda owner: torch.frombuffer(owner, dtype=torch.float64)),
    "from_dlpack": (lambda: numpy.ones(4), lambda owner: torch.from_dlpack(owner)),
    "from_dlpack of another": (lambda: numpy.ones(4), lambda owner: torch.from_dlpack(Exchanged(owner))),
    "a capsule of the first version": (
        lambda: numpy.ones(4),
        lambda owner: torch.utils.dlpack.from_dlpack(owner.__dlpack__()),
    ),
}


def told_of(native: int) -> list[tuple[str, int]]:
    """Return what stands behind a storage, without its wrapper."""
    ensure_calibrated()
    return [(label, address) for label, _, _, address in _heap._torch_references(native) if label != "its wrapper"]


@needs_torch
@pytest.mark.parametrize("path", BORROWED)
def test_owner_of_memory_that_a_tensor_uses_is_kept_by_its_storage(path: str) -> None:
    make, borrow = BORROWED[path]
    owner = make()
    tensor = borrow(owner)
    ledger = refs(owner)
    assert ledger.unaccounted == 0
    detail = f"{str(tensor.dtype).partition('.')[2]} {[*tensor.shape]}"
    native = [row for row in ledger.referrers if row.is_native]
    assert native == [Referrer("TensorImpl", detail, "its storage uses the memory of", is_native=True)]


@needs_torch
def test_array_is_named_on_the_path_from_the_name_of_its_tensor() -> None:
    class Named(numpy.ndarray):  # type: ignore[misc]
        pass

    owner = numpy.ones(4).view(Named)
    kept = torch.from_numpy(owner)
    reference = weakref.ref(owner)
    del owner
    trace = why(reference())
    assert [(step.object, step.via) for step in trace.steps][1:] == [
        ("Tensor", "its storage uses the memory of"),
        ("Named", ""),
    ]
    assert trace.steps[0].via == "local variable 'kept'"
    del kept
    assert reference() is None


@needs_torch
@pytest.mark.parametrize("borrow", [lambda fw, owner: fw.from_numpy(owner)], ids=["from_numpy"])
@pytest.mark.parametrize("name", ["torch", "engine"])
def test_array_with_an_attribute_that_uses_its_memory_is_never_freed(name: str, borrow: Any) -> None:
    class Named(numpy.ndarray):  # type: ignore[misc]
        pass

    owner = numpy.ones(4).view(Named)
    owner.tensor = borrow({"torch": torch, "engine": engine}[name], owner)
    reference: Any = weakref.ref(owner)
    del owner
    gc.collect()
    trace = why(reference())
    assert trace.lifetime is Lifetime.NEVER
    assert [step.object for step in trace.cycle] == ["Named", "Tensor"]
    assert trace.cycle[1].via == "its storage uses the memory of"
    reference().__dict__.clear()
    assert reference() is None


@needs_torch
def test_part_of_a_storage_keeps_the_whole() -> None:
    whole = torch.UntypedStorage(64)
    part = whole[8:16]
    assert told_of(part._cdata) == [("memory of", whole._cdata)]
    assert told_of(whole._cdata) == []


@needs_torch
def test_tensor_whose_memory_an_array_uses_is_kept_by_the_capsule_behind_it() -> None:
    tensor = torch.ones(4)
    array_of_it = numpy.from_dlpack(tensor)
    [(label, _, _, maker)] = _heap._torch_references(array_of_it.base)
    is_view = ("base", tensor._cdata) in told_of(maker)  # up to 2.7 a view is handed over
    assert (label, maker == tensor._cdata) == ("memory of", not is_view)
    behind = refs(tensor).behind
    assert behind is not None
    owner = ("TensorImpl", "base") if is_view else ("PyCapsule", "uses the memory of")
    assert [(row.object, row.via) for row in behind.referrers] == [owner]


@needs_torch
def test_capsule_holds_a_tensor_until_it_is_taken_over() -> None:
    tensor = torch.ones(4)
    capsule = tensor.__dlpack__()
    [(_, _, _, maker)] = _heap._torch_references(capsule)
    assert maker == tensor._cdata or ("base", tensor._cdata) in told_of(maker)  # up to 2.7 a view is handed over
    other = torch.from_dlpack(capsule)
    assert _heap._torch_references(capsule) == []
    assert told_of(other.untyped_storage()._cdata) == [("memory of", maker)]


def million() -> Any:
    return numpy.zeros(1_000_000, numpy.uint8)


def parts_of_a_storage() -> Any:
    whole = torch.UntypedStorage(1_000_000)
    return [whole[:500_000], whole[500_000:], whole[:10]]


#: What uses a million bytes that something else owns.
MILLIONS: dict[str, Callable[[], Any]] = {
    "an array": lambda: torch.from_numpy(million()),
    "an array twice": lambda: [torch.from_numpy(one) for one in [million()] * 2],
    "a view of an array": lambda: torch.from_numpy(million()[::2]),
    "a buffer": lambda: torch.frombuffer(bytearray(1_000_000), dtype=torch.uint8),
    "a view of a buffer": lambda: torch.frombuffer(memoryview(bytearray(1_000_000))[4:], dtype=torch.uint8),
    "numbers": lambda: torch.frombuffer(array.array("b", [0]) * 1_000_000, dtype=torch.uint8),
    "memory of ctypes": lambda: torch.frombuffer((ctypes.c_char * 1_000_000)(), dtype=torch.uint8),
    "a mapped file": lambda: torch.frombuffer(mmap.mmap(-1, 1_000_000), dtype=torch.uint8),
    "DLPack": lambda: torch.from_dlpack(million()),
    "DLPack of a tensor": lambda: torch.from_dlpack(torch.zeros(1_000_000, dtype=torch.uint8)),
    "an array of a tensor": lambda: torch.from_numpy(torch.zeros(1_000_000, dtype=torch.uint8).numpy()),
    "parts of a storage": parts_of_a_storage,
}


@needs_torch
@pytest.mark.parametrize("name", MILLIONS)
def test_memory_that_a_storage_uses_counts_once(name: str, tmp_path: Any) -> None:
    kept = [MILLIONS[name]()]
    taken = snapshot()
    assert taken.retained(id(kept)) // 10_000 == 100
    taken.save(tmp_path / "heap.glheap")
    assert open_snapshot(tmp_path / "heap.glheap").retained(id(kept)) == taken.retained(id(kept))


@needs_torch
def test_storage_of_memory_that_counts_elsewhere_has_its_size_all_the_same(tmp_path: Any) -> None:
    kept = [torch.from_numpy(million()), torch.from_numpy(million()[10:20])]
    taken = snapshot()
    taken.save(tmp_path / "heap.glheap")
    for read in (taken, open_snapshot(tmp_path / "heap.glheap")):
        facts = [read.why(id(tensor)).tensor for tensor in kept]
        assert [one.storage_bytes for one in facts if one is not None] == [1_000_000, 10]
        assert read._graph.borrowed_bytes >= 1_000_010


@needs_torch
def test_memory_of_its_own_and_of_a_mapped_file_has_no_owner(tmp_path: Any) -> None:
    file = tmp_path / "numbers"
    file.write_bytes(bytes(400))
    mapped = torch.from_file(str(file), shared=True, size=100)
    own, shared = torch.ones(4), torch.ones(4).share_memory_()
    for tensor in (own, shared, mapped, torch.empty(0), torch.ones(4, device="meta")):
        assert told_of(tensor.untyped_storage()._cdata) == []
    storages = [row.detail for row in snapshot().instances("StorageImpl", 100_000)]
    assert "400 bytes of mapped memory" in storages
    assert "16 bytes" in storages


@needs_torch
def test_memory_that_is_shared_by_the_name_of_a_file_is_mapped() -> None:
    """The allocator's class names another base before the one that shows it to be mapped."""
    strategy = torch.multiprocessing.get_sharing_strategy()
    torch.multiprocessing.set_sharing_strategy("file_system")
    try:
        shared = torch.ones(1237).share_memory_()
    except RuntimeError as error:
        pytest.skip(f"nothing can be shared here: {error}")
    finally:
        torch.multiprocessing.set_sharing_strategy(strategy)
    [row] = [row for row in snapshot().instances("StorageImpl", 100_000) if row.detail.startswith("4948 bytes")]
    assert row.detail == "4948 bytes of mapped memory"
    assert shared.is_shared()


class Handed(ctypes.Structure):
    """A DLPack structure of the first version."""

    _fields_ = [
        ("data", ctypes.c_void_p),
        ("device", ctypes.c_int64),
        ("dimensions", ctypes.c_int32),
        ("dtype", ctypes.c_uint8 * 4),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("offset", ctypes.c_uint64),
        ("maker", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    ]


def capsule_of(structure: Any, name: bytes) -> Any:
    new = ctypes.pythonapi.PyCapsule_New
    new.restype, new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
    return new(ctypes.addressof(structure), name, None)


@needs_torch
@pytest.mark.parametrize("maker", [0, 1, 8, 1 << 46, "words", "itself", "an object"])
def test_word_of_an_unknown_maker_is_followed_to_an_object_only(maker: int | str) -> None:
    words = (ctypes.c_uint64 * 4)(0, 16, 1 << 47, 7)
    structure, known = Handed(), object()
    places = {"words": ctypes.addressof(words), "itself": ctypes.addressof(structure), "an object": id(known)}
    structure.maker = places[maker] if isinstance(maker, str) else maker
    name = b"dltensor"
    capsule = capsule_of(structure, name)
    ensure_calibrated()
    found = [address for *_, address in _heap._torch_references(capsule)]
    assert found == ([id(known)] if maker == "an object" else [])


@needs_torch
def test_capsule_of_another_name_is_left_alone() -> None:
    structure, known = Handed(), object()
    structure.maker = id(known)
    for name in (b"used_dltensor", b"dltensor_", b"", b"a name that is longer than any that is known here"):
        capsule = capsule_of(structure, name)
        assert _heap._torch_references(capsule) == []


def test_capsule_between_two_arrays_is_followed_without_torch() -> None:
    program = """
import numpy, sys
from gradlife.heap import refs
owner = numpy.ones(4)
other = numpy.from_dlpack(owner)
assert "torch" not in sys.modules
[row] = [row for row in refs(owner).referrers if "memory" in row.via]
print(row.object, refs(owner).unaccounted)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "PyCapsule 0\n"
