"""Small torch objects with known contents, used to find and check the layout."""

from __future__ import annotations

import functools
import sys
from typing import Any

from gradlife import _heap

DTYPES = (
    *("float32", "float64", "float16", "bfloat16", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2"),
    *("uint8", "int8", "int16", "int32", "int64", "bool", "uint16", "uint32", "uint64"),
)
#: Attributes of a ctx during forward.
CONTEXT_TUPLES = ("to_save", "saved_for_forward", "non_differentiable", "dirty_tensors")


class Toys:
    """Specimens, made on demand: if a release lacks one, only the fields found on it are missing."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.fields_in_forward: dict[str, int | None] = {}
        self.labels_in_forward: dict[str, str | None] = {}
        self.packed = object()
        packed = self.packed
        self.pack: Any = lambda _: packed
        self.unpack: Any = nothing

    def _ones(self, *sizes: int, **options: Any) -> Any:
        return self.torch.ones(*sizes, **{"device": "cpu", "dtype": self.torch.float32, **options})

    @functools.cached_property
    def leaf(self) -> Any:
        """A leaf with a gradient and both kinds of hooks."""
        leaf = self._ones(3, requires_grad=True)
        leaf.grad = self._ones(3)
        leaf.register_hook(nothing)
        if hasattr(leaf, "register_post_accumulate_grad_hook"):
            leaf.register_post_accumulate_grad_hook(nothing)
        return leaf

    @functools.cached_property
    def storage(self) -> Any:
        return self.leaf.untyped_storage()

    @functools.cached_property
    def result(self) -> Any:
        return self.leaf.sin()

    @functools.cached_property
    def node(self) -> Any:
        """A node with metadata."""
        node = self.result.grad_fn
        assert node.metadata is not None
        return node

    @functools.cached_property
    def hooked(self) -> tuple[Any, Any, Any]:
        """A result, and the dicts of its node's hooks and prehooks."""
        result = self.leaf.exp()
        handles = (result.grad_fn.register_hook(nothing), result.grad_fn.register_prehook(nothing))
        result.register_hook(nothing)
        hooks, prehooks = (handle.hooks_dict_ref() for handle in handles)
        return result, hooks, prehooks

    @functools.cached_property
    def product(self) -> Any:
        """A product of two tensors: it has two edges and two saved tensors."""
        return self.leaf * self.result

    @functools.cached_property
    def view(self) -> Any:
        return self.leaf.view(3)

    @functools.cached_property
    def other_view(self) -> Any:
        return self.leaf.view(3, 1)

    @functools.cached_property
    def view_of_result(self) -> Any:
        return self.result.view(1, 3)

    @functools.cached_property
    def twofold(self) -> Any:
        """Make a tensor that is one of two results of its node."""
        return self.torch.std_mean(self.leaf)[0]

    @functools.cached_property
    def sparse(self) -> Any:
        """A sparse tensor, made of two others. Torch warns once of one that is not checked: that is the program's to hear."""
        return self.torch.sparse_coo_tensor(self.indices[None], self.indices, (3,), check_invariants=True)

    @functools.cached_property
    def picked(self) -> Any:
        """Make a tensor whose node saves a list of tensors."""
        return self.leaf[self.indices]

    @functools.cached_property
    def indices(self) -> Any:
        return self.torch.zeros(2, dtype=self.torch.int64, device="cpu")

    @functools.cached_property
    def tangent(self) -> Any:
        return self._ones(3)

    @property
    def dual(self) -> Any:
        """Make a leaf with that tangent, on the program's level of forward-mode differentiation."""
        leaf = self._ones(3, requires_grad=True)
        return self.torch._make_dual(leaf, self.tangent, level=0)

    @property
    def dual_result(self) -> tuple[Any, Any]:
        """A result that its own node saves, and its tangent, without the graph by which the tangent would hold itself."""
        result = self.dual.exp()
        tangent = self.torch._unpack_dual(result, level=0)[1]
        return result, tangent.detach_()

    @functools.cached_property
    def buffer(self) -> bytearray:
        return bytearray(64)

    @functools.cached_property
    def borrowing(self) -> Any:
        """Make a tensor over a buffer's memory."""
        return self.torch.frombuffer(self.buffer, dtype=self.torch.uint8)

    @functools.cached_property
    def array(self) -> Any:
        """A numpy array, if the program has loaded numpy."""
        return sys.modules["numpy"].ones(3)

    @property
    def handed_over(self) -> Any:
        """Make a tensor over another's memory, by DLPack."""
        return self.torch._C._from_dlpack(self.torch._C._to_dlpack(self.big))

    @property
    def handed_over_by_version(self) -> Any:
        """Make a tensor by the versioned DLPack protocol."""
        return self.torch._C._from_dlpack(self.torch._C._to_dlpack_versioned(self.big))

    @property
    def part(self) -> Any:
        """A storage that is a part of another."""
        return self.big_storage[8:16]

    @functools.cached_property
    def big(self) -> Any:
        return self.torch.empty(123_457, dtype=self.torch.uint8, device="cpu")

    @functools.cached_property
    def big_storage(self) -> Any:
        return self.big.untyped_storage()

    @functools.cached_property
    def meta_storage(self) -> Any:
        return self.torch.empty(123, dtype=self.torch.uint8, device="meta").untyped_storage()

    @functools.cached_property
    def wrapper_storage(self) -> Any:
        """The storage of a wrapper subclass's instance, such as a DTensor: it has a size and no memory."""
        cls = wrapper_class_of(self.torch)
        wrapper = self.torch.Tensor._make_wrapper_subclass(cls, (123,), dtype=self.torch.uint8, device="cpu")
        return wrapper.untyped_storage()

    @functools.cached_property
    def shaped(self) -> Any:
        return self._ones(3, 5, 7, 2, 4)

    @functools.cached_property
    def deep(self) -> Any:
        """A tensor with enough dimensions that its sizes are on the heap."""
        return self._ones(3, 5, 7, 2, 4, 6)

    def tensors_of_dtypes(self) -> dict[str, tuple[Any, Any]]:
        """Return two tensors of each dtype of this release."""
        dtypes = {name: getattr(self.torch, name) for name in DTYPES if hasattr(self.torch, name)}
        return {
            name: (self.torch.empty(1, dtype=dtype, device="cpu"), self.torch.empty(1, dtype=dtype, device="cpu"))
            for name, dtype in dtypes.items()
        }

    def device_names(self) -> dict[int, str]:
        """Return the numbers of device types: from torch's enumeration, or the certain ones."""
        members = getattr(getattr(self.torch._C._autograd, "DeviceType", None), "__members__", None)
        if not members:
            return {0: "cpu", 14: "meta"}
        return {int(value): name.lower() for name, value in members.items()} | self._private_device(members)

    def _private_device(self, members: Any) -> dict[int, str]:
        """Return the name that an extension gave to the PrivateUse1 device type."""
        name = getattr(self.torch._C, "_get_privateuse1_backend_name", None)
        return {int(members["PrivateUse1"]): name()} if name is not None and "PrivateUse1" in members else {}

    def apply(self, *inputs: Any) -> Any:
        """Return the result of a custom Function."""
        return function_of(self.torch).apply((self.fields_in_forward, self.labels_in_forward), *inputs)

    @functools.cached_property
    def custom(self) -> Any:
        """Make a tensor whose ctx saved the leaf and the result."""
        return self.apply(self.leaf, self.result)

    @property
    def packing(self) -> Any:
        """Pack saved tensors within this block."""
        return self.torch.autograd.graph.saved_tensors_hooks(self.pack, self.unpack)

    @functools.cached_property
    def packed_leaf(self) -> Any:
        """Make a tensor whose node packed a leaf."""
        with self.packing:
            return self.leaf.sin()

    @functools.cached_property
    def packed_result(self) -> Any:
        """Make a tensor whose node packed its result."""
        with self.packing:
            return self.result.cos()

    @functools.cached_property
    def saved(self) -> Any:
        """A SavedTensor that owns its slot, as checkpoints keep their inputs."""
        return self.torch._C._autograd._make_saved_tensor(self.leaf, is_output=False)

    @functools.cached_property
    def shown(self) -> Any:
        """A SavedTensor that shows a slot of a node."""
        return self.node._raw_saved_self


def has_level(torch: Any) -> bool:
    """Whether the program is within a level of forward-mode differentiation. Only then does a tensor have tangents.

    There is one level at a time for all threads: calibration must not enter one, or the program's own could not be entered.
    """
    return bool(getattr(getattr(torch.autograd, "forward_ad", None), "_current_level", -1) >= 0)


def nothing(*_: Any) -> None:
    """Do nothing: a hook."""


#: The custom Function of each torch seen. Kept, because a dropped class is garbage that waits for the collector.
_functions: dict[int, Any] = {}


def function_of(torch: Any) -> Any:
    """Return a custom Function that saves its inputs, and records in its first argument where its ctx stores them."""
    if id(torch) not in _functions:
        _functions[id(torch)] = make_function(torch)
    return _functions[id(torch)]


def make_function(torch: Any) -> Any:
    """Make the function of `function_of`."""

    class Toy(torch.autograd.Function):  # type: ignore[misc]
        @staticmethod
        def forward(ctx: Any, found: tuple[dict[str, int | None], dict[str, str | None]], *inputs: Any) -> Any:
            fields, labels = found
            result = inputs[0] * 2
            fields["to_save"] = changed_field(ctx, ctx.save_for_backward, inputs)
            fields["non_differentiable"] = changed_field(ctx, ctx.mark_non_differentiable, inputs[:1])
            fields["dirty"] = changed_field(ctx, ctx.mark_dirty, inputs[-1:])
            if hasattr(ctx, "save_for_forward"):
                fields["saved_for_forward"] = changed_field(ctx, ctx.save_for_forward, inputs[1:])
            for name in CONTEXT_TUPLES:
                labels[name] = _heap._torch_label(ctx, getattr(ctx, name, None))
            ctx.non_differentiable = ctx.dirty_tensors = None  # undo: the marks were false
            return result

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return None, grad

    return Toy


@functools.cache
def wrapper_class_of(torch: Any) -> Any:
    """Return a wrapper subclass. Kept, as the custom Function is."""

    class Wrapper(torch.Tensor):  # type: ignore[misc]
        @classmethod
        def __torch_dispatch__(cls, *_: Any) -> Any:
            raise NotImplementedError

    return Wrapper


def changed_field(ctx: Any, call: Any, tensors: tuple[Any, ...]) -> int | None:
    """Return the offset of the only word in a ctx that `call` changes; None unless exactly one changes."""
    places = range(16, type(ctx).__basicsize__, 8)
    before = [_heap._read_word(id(ctx) + at) for at in places]
    call(*tensors)
    changed = [at for at, was in zip(places, before, strict=True) if _heap._read_word(id(ctx) + at) != was]
    return changed[0] if len(changed) == 1 else None
