"""Words of a PyTorch object that were never written, or are stale, hold nothing.

Memory of a dead object is reused as it is: a short name in a tensor's metadata, the base field of a tensor that is no
view, and the padding after a node may all still point to live objects.
"""

from __future__ import annotations

import ctypes
import gc
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from gradlife import _heap
from gradlife.heap import snapshot
from gradlife.heap.tensors import content_bytes
from gradlife.heap.torch_layout import torch as calibration
from gradlife.heap.torch_layout.fields import find_layout
from gradlife.heap.torch_layout.offset_search import meta_of, node_behind, pointer_to_class
from gradlife.heap.torch_layout.specimens import Toys

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

TOYS = Toys(torch)
LAYOUT = find_layout(TOYS)


@pytest.fixture(autouse=True)
def _undisturbed() -> Iterator[None]:
    gc.collect()
    gc.disable()
    calibration.ensure_calibrated()
    yield
    gc.enable()


@contextmanager
def word_changed(address: int, value: int) -> Iterator[None]:
    """For a moment in which nobody else looks there."""
    word = ctypes.c_uint64.from_address(address)
    before = word.value
    word.value = value
    try:
        yield
    finally:
        word.value = before


def told_of(shown: object) -> set[tuple[str, int]]:
    return {(label, address) for label, _, _, address in _heap._torch_references(shown)}


def test_storage_of_a_wrapper_subclass_has_a_size_and_no_memory() -> None:
    description = _heap._torch_description(TOYS.wrapper_storage._cdata)
    assert description is not None
    assert description[1:] == ("123 bytes", "cpu", 0)


def live_objects() -> dict[str, int]:
    """An object of each sort that a word might lead to: by sort, its address."""
    metadata = meta_of(TOYS.leaf)
    packed = node_behind(TOYS.packed_leaf.grad_fn)
    found = {
        "tensor": TOYS.tangent._cdata,
        "node": node_behind(TOYS.product.grad_fn),
        "post-accumulate hook": pointer_to_class(metadata, "PyFunctionTensorPostAccGradHooks", 184)[1],
        "saved hooks": pointer_to_class(packed, "PySavedVariableHooks", 640)[1],
        "vector": node_behind(TOYS.custom.grad_fn),
    }
    return {sort: address for sort, address in found.items() if address}


def words_that_tell(shown: object, base: int, nbytes: int) -> set[int]:
    """The offsets of an object whose words count as references."""
    before = told_of(shown)
    found = set()
    for address in live_objects().values():
        for at in range(8, nbytes, 8):
            with word_changed(base + at, address):
                if told_of(shown) - before:
                    found.add(at)
    return found


def block(address: int | None) -> int:
    assert address is not None
    return _heap._torch_block(address)


LEAF = {LAYOUT[name] for name in ("grad_in_meta", "node_in_meta", "post_accumulate_hook_in_meta")}


def test_metadata_of_a_tensor_holds_what_stands_in_its_known_places_only() -> None:
    plain = torch.ones(2, requires_grad=True)
    meta = meta_of(plain)
    assert words_that_tell(plain._cdata, meta or 0, block(meta)) == LEAF


def test_metadata_of_a_view_has_a_base_too() -> None:
    meta = meta_of(TOYS.view)
    assert words_that_tell(TOYS.view._cdata, meta or 0, block(meta)) == LEAF | {LAYOUT["base_in_meta"]}


def test_base_counts_only_where_there_is_said_to_be_one() -> None:
    meta = meta_of(TOYS.view)
    assert ("base", TOYS.leaf._cdata) in told_of(TOYS.view._cdata)
    with word_changed((meta or 0) + LAYOUT["has_base_in_meta"], 0):
        assert "base" not in {label for label, _ in told_of(TOYS.view._cdata)}


def test_node_holds_what_stands_in_its_slot_and_known_places_only() -> None:
    node = node_behind(TOYS.packed_result.grad_fn) or 0
    slot = LAYOUT["slots_in_node"]
    in_slot = {slot, *(slot + LAYOUT[f"{part}_in_slot"] for part in ("hooks", "grad_fn", "accumulator"))}
    # The begins and ends of the lists of edges and shapes stand here too: what lies between them may be anything.
    lists = {LAYOUT[name] + at for name in ("edges_in_node", "shapes_in_node") for at in (0, 8)}
    assert words_that_tell(node, node, block(node)) - lists == in_slot | {LAYOUT["metadata_in_node"]}


@pytest.mark.parametrize("scale", [1, 0.0, 0.5, 2j], ids=["whole", "zero", "real", "complex"])
def test_half_of_a_scalar_that_was_never_written_is_no_slot(scale: complex) -> None:
    """A linear layer's node has two scalars before what it saved; half of each is written for complex ones only."""
    factor = torch.ones(2, 2, dtype=torch.complex64 if isinstance(scale, complex) else torch.float32)
    kept = factor.clone()
    result = torch.addmm(factor.requires_grad_(), kept, factor, beta=scale, alpha=scale)
    node = node_behind(result.grad_fn) or 0
    before = told_of(node)
    assert {("mat1", kept._cdata), ("mat2", factor._cdata)} & before == {("mat1", kept._cdata)}
    saved = _heap._find_word(node, block(node), kept._cdata)
    assert saved is not None
    for second_half in (saved - 40, saved - 8):
        with word_changed(node + second_half, TOYS.tangent._cdata):
            assert told_of(node) == before, second_half


def test_padding_behind_a_node_is_no_slot() -> None:
    node = node_behind(TOYS.node) or 0
    last = block(node) - 8
    for address in live_objects().values():
        before = told_of(node)
        with word_changed(node + last, address):
            assert told_of(node) == before


def test_context_holds_what_it_saved_and_nothing_of_their_shapes() -> None:
    ctx: Any = TOYS.custom.grad_fn
    before = told_of(ctx)
    skipped = {0, 8, LAYOUT["node_in_context"]}
    for address in live_objects().values():
        for at in range(16, type(ctx).__basicsize__, 8):
            if at in skipped:
                continue
            with word_changed(id(ctx) + at, address):
                assert told_of(ctx) <= before, at


def nested() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that these are a prototype
        return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], requires_grad=True)


def test_sizes_of_a_nested_tensor_are_held_by_the_node_that_made_one_like_it() -> None:
    x = nested()
    result = x * x
    outcome = _heap._torch_references(node_behind(result.grad_fn))
    [held] = [address for label, _, _, address in outcome if label == "input metadata"]
    assert (_heap._class_at(held) or "").endswith("TensorImpl")
    assert not [label for label, *_ in _heap._torch_references(node_behind(TOYS.node)) if label == "input metadata"]


@pytest.mark.parametrize(
    ("make", "count"),
    [
        (lambda: torch.sparse_coo_tensor([[0, 2]], [1.0, 2.0], (3,)), 2),
        (lambda: torch.ones(2, 2).to_sparse_csr(), 3),
        (nested, 3),
        (lambda: torch.ones(3), 0),
    ],
    ids=["sparse", "sparse rows", "nested", "dense"],
)
def test_tensors_that_are_made_of_others_hold_these(make: Callable[[], Any], count: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that sparse rows are new
        made = make()
    assert [label for label, *_ in _heap._torch_references(made._cdata)].count("part") >= count


def test_what_a_change_through_a_view_replays_is_held_by_the_new_node_of_the_base() -> None:
    base = torch.ones(3, requires_grad=True) * 2
    base[0].mul_(3)
    labels = [label for label, *_ in _heap._torch_references(node_behind(base.grad_fn))]
    assert labels.count("replayed operation") == 1


class Silent:
    """Stands for a tensor subclass up to PyTorch 2.9, whose traverse shows nothing while C++ shares the tensor."""

    __slots__ = ("held",)

    held: object


class AlsoSilent(Silent):
    __slots__ = ("more",)

    more: object


TRAVERSE = 184  # offset of tp_traverse in a type


def test_slots_of_a_subclass_whose_traverse_shows_nothing_are_references() -> None:
    nothing = ctypes.cast(ctypes.CDLL(None).sched_yield, ctypes.c_void_p).value  # returns 0
    assert nothing is not None
    wrapper = AlsoSilent()
    wrapper.held, wrapper.more = [], {}
    try:
        _heap._set_torch_layout({**LAYOUT, "tensor_type": Silent})
        with word_changed(id(AlsoSilent) + TRAVERSE, nothing):
            graph = _heap.walk()
    finally:
        calibration.calibrate(torch)
    node = graph.find(id(wrapper))
    assert node is not None
    found = {graph.describe(target)[2] for target in graph.referents(node)}
    assert {id(wrapper.held), id(wrapper.more)} <= found


def test_contents_of_a_storage_do_not_depend_on_the_block_that_malloc_gave() -> None:
    """malloc gives a block of two words more than requested where it finds one."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype, libc.malloc.argtypes, libc.free.argtypes = (
        ctypes.c_void_p,
        [ctypes.c_size_t],
        [ctypes.c_void_p],
    )
    blocks = [libc.malloc(LAYOUT["storage_block"] + 16) for _ in range(4000)]
    for larger in blocks[::2]:
        libc.free(larger)
    libc.free(libc.malloc(1 << 16))  # the free ones go to the list that smaller requests search
    kept = [torch.ones(number + 1, dtype=torch.uint8) for number in range(3000)]
    addresses = [one.untyped_storage()._cdata for one in kept]
    graph = snapshot()._graph
    found = [content_bytes(graph, node) for node in map(graph.find, addresses) if node is not None]
    for rest in blocks[1::2]:
        libc.free(rest)
    assert found == [*range(1, 3001)]
