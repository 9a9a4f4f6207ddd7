"""Checkpoints by saved-tensor hooks: saved tensors become empty holders, which recomputation refills.

Who owns whom: a saved slot owns its holder and, through the unpack hook, its checkpoint's frame. The frame owns the
function and the inputs (as saved tensors of its own node), and its holders only weakly: freed slots are not refilled. A
recomputed tensor is kept under a handle that its holder owns, until it is unpacked once.
"""

from __future__ import annotations

import contextlib
import uuid
import weakref
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from gradlife import _engine
from gradlife.engine.autograd.function import Function
from gradlife.engine.autograd.graph import saved_tensors_hooks
from gradlife.engine.grad_mode import enable_grad
from gradlife.engine.tensors import Tensor
from gradlife.engine.utils.checkpoint import errors
from gradlife.engine.utils.checkpoint.debugging import Trails

Metadata = Callable[[Tensor], Any]


class _Handle:
    """The key of one recomputed tensor."""


class _Holder:
    """The content of a saved slot whose tensor will be recomputed: a handle for each backward that needs it."""

    def __init__(self) -> None:
        self.handles: dict[Any, _Handle | None] = {}


class _NoopSaveInputs(Function):
    """A node that saves the inputs of a checkpoint, so that outer hooks and version checks apply to them."""

    @staticmethod
    def forward(ctx: Any, *inputs: Any) -> Any:  # no setup_context: some releases lack it
        first = 1 if _engine._current_release() >= ("torch", 213) else 0  # earlier releases save that one, too
        places = [i for i, item in enumerate(inputs) if i >= first and isinstance(item, Tensor)]
        others = [None if isinstance(item, Tensor) else item for item in inputs]

        def get_args(tensors: tuple[Any, ...]) -> list[Any]:
            arguments = list(others)
            for place, tensor in zip(places, tensors, strict=True):
                arguments[place] = tensor
            return arguments[1:]  # without the first, which only makes the node require grad

        ctx.get_args = get_args
        ctx.save_for_backward(*[inputs[place] for place in places])
        return _engine.empty((0,))

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        raise AssertionError("Did not expect to backward on this graph")


class _CheckpointFrame:
    """One call of a checkpoint."""

    def __init__(
        self, recompute: Callable[..., None], early_stop: bool, metadata: Metadata | None, trails: Trails | None
    ) -> None:
        self.trails = trails
        self.recompute_fn = recompute
        self.early_stop = early_stop
        self.metadata = metadata
        self.input_saver: Any = None
        self.weak_holders: list[weakref.ref[_Holder]] = []
        self.x_metadatas: list[Any] = []
        self.recomputed: defaultdict[Any, weakref.WeakKeyDictionary[_Handle, Tensor]] = defaultdict(
            weakref.WeakKeyDictionary
        )
        self.recomp_counter: defaultdict[Any, int] = defaultdict(int)
        self.is_recomputed: defaultdict[Any, bool] = defaultdict(bool)
        self.forward_completed = False
        self.ignore_saved_mismatch = False

    def hold(self, tensor: Tensor) -> _Holder:
        """Return a new holder for a tensor that the forward saves."""
        if self.trails is not None:
            self.trails.forward.add(tensor)
        holder = _Holder()
        self.weak_holders.append(weakref.ref(holder))
        if self.metadata is not None:
            self.x_metadatas.append(self.metadata(tensor))
        return holder

    def recompute(self, task: Any) -> None:
        """Run the forward again, once for each backward."""
        if self.is_recomputed[task]:
            return
        node = self.input_saver.grad_fn
        arguments = node.get_args(node.saved_tensors)
        with contextlib.suppress(errors.StopRecomputation), refilling(self, task), enable_grad():
            self.recompute_fn(*arguments)
        self.is_recomputed[task] = True
        self.check(task)

    def refill(self, task: Any, tensor: Tensor) -> Tensor:
        """Keep the next tensor that the recomputation saves."""
        if self.trails is not None:
            self.trails.recomputed.add(tensor)
        place = self.recomp_counter[task]
        self.recomp_counter[task] += 1
        kept = tensor.detach() if tensor.requires_grad else tensor
        if place >= len(self.weak_holders):
            if not self.forward_completed:
                self.ignore_saved_mismatch = True
                return kept
            raise errors.CheckpointError(errors.MORE_SAVED)
        holder = self.weak_holders[place]()
        if holder is not None:
            handle = holder.handles.get(task) or _Handle()
            holder.handles[task] = handle
            self.recomputed[task][handle] = kept
        if self.early_stop and self.recomp_counter[task] == len(self.weak_holders):
            raise errors.StopRecomputation
        return kept

    def take(self, task: Any, holder: _Holder) -> Tensor:
        """Return a holder's recomputed tensor, once."""
        handle = holder.handles.get(task)
        if handle is None:
            raise errors.CheckpointError(errors.UNPACKED_TWICE)
        tensor = self.recomputed[task][handle]
        holder.handles[task] = None
        return tensor

    def check(self, task: Any) -> None:
        """Raise if the recomputation saved other tensors than the forward."""
        if self.ignore_saved_mismatch:
            return
        if len(self.weak_holders) != self.recomp_counter[task]:
            raise errors.CheckpointError(errors.count_differs(len(self.weak_holders), self.recomp_counter[task]))
        if self.metadata is None:
            return
        differences = []
        for place, reference in enumerate(self.weak_holders):
            holder = reference()
            handle = None if holder is None else holder.handles.get(task)
            if handle is None:
                continue
            found = self.metadata(self.recomputed[task][handle])
            if found != self.x_metadatas[place]:
                differences.append((place, self.x_metadatas[place], found))
        if differences:
            raise errors.CheckpointError(errors.metadata_differs(differences))


def holding(frame: _CheckpointFrame) -> saved_tensors_hooks:
    """Return hooks under which saved slots keep holders of ``frame`` instead of tensors."""

    def unpack(holder: _Holder) -> Tensor:
        task: Any = _engine._current_graph_task_id()
        if task == -1:
            task = uuid.uuid4()  # read outside a backward: recomputed for this read alone
        try:
            frame.recompute(task)
            return frame.take(task, holder)
        except errors.CheckpointError as error:
            if frame.trails is None:
                raise
            frame.trails.explain(error)

    return saved_tensors_hooks(frame.hold, unpack)


def refilling(frame: _CheckpointFrame, task: Any) -> saved_tensors_hooks:
    """Return hooks under which saving fills the holders of ``frame``, without keeping them."""
    reference = weakref.ref(frame)

    def pack(tensor: Tensor) -> Tensor:
        alive = reference()
        if alive is None:
            raise AssertionError("the checkpoint that recomputes is gone")
        return alive.refill(task, tensor)

    return saved_tensors_hooks(pack, _itself)


def _itself(tensor: Tensor) -> Tensor:
    return tensor


@contextlib.contextmanager
def checkpointed(frame: _CheckpointFrame, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Iterator[None]:
    """Run the forward of a checkpoint inside this block."""
    grad_source = _engine.empty((0,), requires_grad=True)
    frame.input_saver = _NoopSaveInputs.apply(grad_source, kwargs, *args)
    if frame.input_saver.grad_fn is None:  # nothing is recorded, so nothing will be recomputed
        yield
        return
    with holding(frame):
        yield
    frame.forward_completed = True
