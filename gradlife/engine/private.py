"""The private names of ``torch._C`` that lifetime tests and tools reach for."""

from __future__ import annotations

from typing import Any

from gradlife import _engine
from gradlife._engine import (
    StorageBase as StorageBase,
    TensorBase as TensorBase,
    _add_cached_tensor as _add_cached_tensor,
    _current_autograd_node as _current_autograd_node,
    _current_graph_task_id as _current_graph_task_id,
    _FunctionBase as _FunctionBase,
    _is_cached_tensor as _is_cached_tensor,
    _remove_cached_tensor as _remove_cached_tensor,
    _set_cached_tensors_enabled as _set_cached_tensors_enabled,
    _set_grad_enabled as _set_grad_enabled,
    _WeakTensorRef as _WeakTensorRef,
    _will_engine_execute_node as _will_engine_execute_node,
    is_anomaly_check_nan_enabled as is_anomaly_check_nan_enabled,
    is_anomaly_enabled as is_anomaly_enabled,
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
    set_anomaly_enabled as set_anomaly_enabled,
)
from gradlife.engine.autograd.graph import Node
from gradlife.engine.grad_mode import is_multithreading_enabled as _is_multithreading_enabled
from gradlife.engine.overrides import (
    DisableTorchFunctionSubclass as DisableTorchFunctionSubclass,
    disabled_torch_function_impl,
)
from gradlife.engine.releases import PRIVATE_AUTOGRAD, limited_module
from gradlife.engine.tensors import Tensor

_disabled_torch_function_impl = disabled_torch_function_impl
has_lapack = False
"""No factorisations of matrices: what PyTorch itself says when it is built without LAPACK."""


def _current_graph_task_execution_order() -> list[Any]:
    """Return the nodes that the current backward runs, in order. Multithreading must be off, as in PyTorch."""
    if _engine._current_graph_task_id() != -1 and _is_multithreading_enabled():
        raise RuntimeError(
            "get_current_graph_task_execution_order expects the current backward to be executed with multithreading "
            "disabled, e.g. by running:\n\n>>> with torch.autograd.set_multithreading_enabled(False):\n...     "
            "torch.autograd.grad(...)\n"
        )
    return _engine._current_graph_task_execution_order()


def _unsafe_set_version_counter(tensors: Any, versions: Any) -> None:
    """Reset tensors' version counters, as if they had not been changed since."""
    if isinstance(tensors, Tensor):
        tensors, versions = (tensors,), (versions,)
    _engine._unsafe_set_version_counter(tuple(tensors), tuple(versions))


class _StandIn:
    def __call__(self, *tensors: Tensor | None) -> Any:
        outputs = self._apply(tensors)
        return outputs[0] if len(outputs) == 1 else outputs

    def _apply(self, tensors: tuple[Tensor | None, ...]) -> tuple[Any, ...]:
        raise NotImplementedError


class DelayedError(_StandIn):
    """Called with tensors: return the same data behind a node that raises ``message`` when run."""

    def __init__(self, message: str, num_inputs: int) -> None:
        self.message = message
        self.num_inputs = num_inputs

    def _apply(self, tensors: tuple[Tensor | None, ...]) -> tuple[Any, ...]:
        return _engine._delayed_error(self.message, tensors)


class UndefinedGrad(_StandIn):
    """Called with tensors: return the same data behind a node that blocks gradients."""

    def _apply(self, tensors: tuple[Tensor | None, ...]) -> tuple[Any, ...]:
        return _engine._undefined_grad(tensors)


Node.register(_StandIn)


class _NodeTypes:
    """Node types by name; each is made when its first node gets a wrapper."""

    DelayedError = DelayedError
    UndefinedGrad = UndefinedGrad

    @property
    def AccumulateGrad(self) -> Any:
        return type(_engine._gradient_edge(_engine.ones(()).requires_grad_())[0])

    def __getattr__(self, name: str) -> Any:
        try:
            return _engine._node_types[name]
        except KeyError:
            raise AttributeError(f"no node of type '{name}' has been seen yet") from None


_functions = _NodeTypes()
_autograd = limited_module(
    "torch._C._autograd",
    {
        "SavedTensor": property(lambda module: _engine._saved_tensor_type()),
        "_get_current_graph_task_keep_graph": _engine._get_current_graph_task_keep_graph,
        "_unsafe_set_version_counter": _unsafe_set_version_counter,
        "_register_saved_tensors_default_hooks": _engine._push_saved_tensors_default_hooks,
        "_reset_saved_tensors_default_hooks": _engine._pop_saved_tensors_default_hooks,
        "_push_saved_tensors_default_hooks": _engine._push_saved_tensors_default_hooks,
        "_pop_saved_tensors_default_hooks": _engine._pop_saved_tensors_default_hooks,
        "_top_saved_tensors_default_hooks": _engine._top_saved_tensors_default_hooks,
        "_saved_tensors_hooks_set_tracing": _engine._saved_tensors_hooks_set_tracing,
        "_saved_tensors_hooks_is_enabled": lambda: _engine._saved_tensors_hooks_get_disabled_error_message() is None,
        "_saved_tensors_hooks_enable": _engine._saved_tensors_hooks_enable,
        "_saved_tensors_hooks_disable": _engine._saved_tensors_hooks_disable,
        "_saved_tensors_hooks_get_disabled_error_message": _engine._saved_tensors_hooks_get_disabled_error_message,
    },
    PRIVATE_AUTOGRAD,
)
