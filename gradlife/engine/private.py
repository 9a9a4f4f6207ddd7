"""The private names of ``torch._C`` that lifetime tests and tools reach for."""

from __future__ import annotations

from typing import Any

from gradlife import _engine
from gradlife._engine import TensorBase, _current_autograd_node, _current_graph_task_id, _FunctionBase
from gradlife.engine.releases import PRIVATE_AUTOGRAD, limited_module

__all__ = ["TensorBase", "_FunctionBase", "_autograd", "_current_autograd_node", "_current_graph_task_id", "_functions"]


class _NodeTypes:
    """Types of nodes by name; each is made when its first node gets a wrapper."""

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
