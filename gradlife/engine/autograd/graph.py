"""Graph tools: saved-tensor hooks, edges, counters."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import Any, NamedTuple

from gradlife import _engine
from gradlife.engine.autograd.function import BackwardCFunction
from gradlife.engine.autograd.multi_grad_hooks import node_behind, register_multi_grad_hook
from gradlife.engine.autograd.mutation import allow_mutation_on_saved_tensors
from gradlife.engine.autograd.saved_hooks import disable_saved_tensors_hooks, save_on_cpu, saved_tensors_hooks
from gradlife.engine.grad_mode import enable_grad
from gradlife.engine.hooks import RemovableHandle
from gradlife.engine.tensors import Tensor

__all__ = [
    "GradientEdge",
    "Node",
    "allow_mutation_on_saved_tensors",
    "disable_saved_tensors_hooks",
    "get_gradient_edge",
    "increment_version",
    "register_multi_grad_hook",
    "save_on_cpu",
    "saved_tensors_hooks",
]


class Node(abc.ABC):
    """The abstract type of ``grad_fn``: a node of the backward graph. Every node's class counts as a subclass."""

    @abc.abstractmethod
    def name(self) -> str:
        """The name of the node's class."""

    @property
    @abc.abstractmethod
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        """The next nodes, each with the index of its input."""

    @abc.abstractmethod
    def metadata(self) -> dict[str, Any]:
        """The node's own dict, used by anomaly mode."""

    @property
    @abc.abstractmethod
    def _input_metadata(self) -> tuple[Any, ...]:
        """Shape and dtype of each output of the forward operation."""

    @abc.abstractmethod
    def _register_hook_dict(self, tensor: Tensor) -> None:
        """Tie a tensor's hook dict to this node."""

    @abc.abstractmethod
    def register_hook(self, fn: Any) -> RemovableHandle:
        """Calls ``fn`` with the gradients of the inputs and of the outputs after the node has run."""

    @abc.abstractmethod
    def register_prehook(self, fn: Any) -> RemovableHandle:
        """Calls ``fn`` with the gradients of the outputs before the node runs."""

    @abc.abstractmethod
    def _sequence_nr(self) -> int:
        """The number that orders ready nodes: the latest made runs first."""

    @classmethod
    def __subclasshook__(cls, subclass: type) -> Any:
        is_node = issubclass(subclass, BackwardCFunction) or subclass in _engine._node_types.values()
        return True if is_node and cls is _Node else NotImplemented


class GradientEdge(NamedTuple):
    """An edge of the backward graph: a node and the index of its input."""

    node: Any
    output_nr: int
    # keeps the graph alive for a node that is its own context and would not
    ownership_token: Any = None


# Functions here use these names: the public ones depend on the profile, and a module's own dict does not have them.
_Node, _GradientEdge = Node, GradientEdge


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Return the edge that carries the gradient of ``tensor``. Makes a leaf's accumulator if needed."""
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not require gradients")
    node, token = node_behind(tensor), None
    if isinstance(node, _engine._FunctionBase):
        with enable_grad():
            token = tensor.view_as(tensor).grad_fn
    return _GradientEdge(node, tensor.output_nr, ownership_token=token)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Record an in-place change that the engine did not see."""
    _engine._increment_version((tensor,) if isinstance(tensor, Tensor) else tensor)
