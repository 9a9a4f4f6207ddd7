"""Names that some releases lack: absent under their profiles, even for ``hasattr`` and ``dir``.

One table has the first and last release of each name. A name of a module or class becomes a data descriptor, so that
other names stay fast.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from types import ModuleType
from typing import Any, NamedTuple

from gradlife import _engine

NEWEST = 999
NO_ATTRIBUTE = "'{type}' object has no attribute '{name}'"


class Span(NamedTuple):
    """The releases of PyTorch that have a name, as ``major * 100 + minor``, and the first of OneFlow that has it, 8 or 9."""

    first: int = 0
    last: int = NEWEST
    oneflow: int = NEWEST

    def holds(self) -> bool:
        """Whether the release of this thread's profile has the name."""
        framework, release = _engine._current_release()
        return self.oneflow <= release if framework == "oneflow" else self.first <= release <= self.last


# No profile lies between 1.13 and 2.9: for names added there, only the side of the gap matters.
GRAPH = {
    "saved_tensors_hooks": Span(110, oneflow=9),
    "save_on_cpu": Span(110),
    "disable_saved_tensors_hooks": Span(113),
    "register_multi_grad_hook": Span(200),
    "allow_mutation_on_saved_tensors": Span(200),
    "Node": Span(200),
    "GradientEdge": Span(201),
    "get_gradient_edge": Span(201),
    "increment_version": Span(201),
}
AUTOGRAD = {
    "graph": Span(110, oneflow=9),
    "inference_mode": Span(109),
    "is_multithreading_enabled": Span(209),
    "set_multithreading_enabled": Span(200),
}
TORCH = {
    "inference_mode": Span(109),
    "is_inference": Span(109),
    "is_inference_mode_enabled": Span(109),
    "UntypedStorage": Span(200),
    "UntypedTensorStorage": Span(200),
    "set_warn_always": Span(108),
    "is_warn_always_enabled": Span(108),
    "ops": Span(112),
    "_ops": Span(112),
}
PRIVATE = {"_autograd": Span(108)}
PRIVATE_AUTOGRAD = {
    "SavedTensor": Span(110),
    "_register_saved_tensors_default_hooks": Span(110, 110),
    "_reset_saved_tensors_default_hooks": Span(110, 110),
    "_push_saved_tensors_default_hooks": Span(113),
    "_pop_saved_tensors_default_hooks": Span(113),
    "_saved_tensors_hooks_is_enabled": Span(113),
    "_saved_tensors_hooks_enable": Span(113),
    "_saved_tensors_hooks_disable": Span(113),
    "_saved_tensors_hooks_get_disabled_error_message": Span(113),
    "_saved_tensors_hooks_set_tracing": Span(209),
    "_top_saved_tensors_default_hooks": Span(209),
}
TENSOR = {
    "_base": Span(),
    "_version": Span(),
    "logsumexp": Span(0, oneflow=9),
    "detach_": Span(),
    "data_ptr": Span(),
    "_make_subclass": Span(),
    "storage": Span(),
    "as_subclass": Span(107),
    "_typed_storage": Span(200),
    "register_post_accumulate_grad_hook": Span(201),
    "_post_accumulate_grad_hooks": Span(201),
    "untyped_storage": Span(200),
    "_use_count": Span(209),
    "grad_dtype": Span(210),
    "mT": Span(111),
}
OVERRIDES = {"TorchFunctionMode": Span(113)}
UTILS = {"weak": Span(200), "checkpoint": Span(oneflow=9), "_python_dispatch": Span(200)}
WEAK = dict.fromkeys(
    ("WeakIdRef", "WeakIdKeyDictionary", "WeakTensorKeyDictionary", "WeakTensorRef", "TensorWeakRef"), Span(200)
)
CHECKPOINT = {
    "checkpoint": Span(oneflow=9),
    "checkpoint_sequential": Span(),
    "CheckpointPolicy": Span(204),
    "SelectiveCheckpointContext": Span(204),
    "create_selective_checkpoint_contexts": Span(204),
}
CONTEXT = {"mark_dirty": Span()}
NN = {"Buffer": Span(205)}
MODULE = {"register_full_backward_hook": Span()}
FUNCTION = {"setup_context": Span(200)}
FUNCTION_CLASS = {
    "generate_vmap_rule": Span(200),
    "vmap": Span(200),
    "clear_saved_tensors_on_access": Span(213),
    "boxed_grads_call": Span(213),
}
FUNCTIONS = {"once_differentiable": Span()}


class _ClassName:
    """An attribute of a class, absent under the profiles whose release lacks it."""

    def __init__(self, inner: Any, name: str, span: Span, absent: str) -> None:
        self.inner = inner
        self.name = name
        self.span = span
        self.absent = absent

    def __get__(self, instance: object, owner: type) -> Any:
        if self.span.holds():
            getter = getattr(type(self.inner), "__get__", None)
            return self.inner if getter is None else getter(self.inner, instance, owner)
        if instance is None:
            raise AttributeError(f"type object '{owner.__name__}' has no attribute '{self.name}'")
        raise self.error(owner)

    def error(self, owner: type) -> AttributeError:
        """Return the error that an instance raises instead."""
        return AttributeError(self.absent.format(type=owner.__name__, name=self.name))


class _ClassProperty(_ClassName):
    """The same for attributes that can be set, such as properties."""

    def __set__(self, instance: object, value: Any) -> None:
        if not self.span.holds():
            raise self.error(type(instance))
        self.inner.__set__(instance, value)

    def __delete__(self, instance: object) -> None:
        if not self.span.holds():
            raise self.error(type(instance))
        self.inner.__delete__(instance)


_UNSET = object()


class _ModuleName:
    """A module's name, absent under profiles whose release lacks it.

    It keeps the value or property itself: from 3.14 on CPython reads a name that is in a module's dict there, past any
    descriptor. The module's own functions, which read that dict, need another name for it.
    """

    def __init__(self, name: str, span: Span, value: Any) -> None:
        self.name = name
        self.span = span
        self.value = value

    def __get__(self, module: ModuleType | None, owner: type) -> Any:
        if module is None:
            return self
        if self.value is not _UNSET and self.span.holds():
            return self.value.__get__(module) if isinstance(self.value, property) else self.value
        raise AttributeError(f"module '{module.__name__}' has no attribute '{self.name}'")

    def __set__(self, module: ModuleType, value: Any) -> None:
        self.value = value

    def __delete__(self, module: ModuleType) -> None:
        self.value = _UNSET


class _Module(ModuleType):
    """A module some of whose names depend on the profile."""

    def __dir__(self) -> list[str]:
        limited = {name: value for name, value in vars(type(self)).items() if isinstance(value, _ModuleName)}
        present = {name for name, item in limited.items() if item.span.holds()}
        return sorted({name for name in super().__dir__() if name not in limited} | present)


def _limit(module: ModuleType, spans: Mapping[str, Span]) -> None:
    """Limit these names of the module to their releases, and take their values out of its dict."""
    names = {name: _ModuleName(name, span, module.__dict__.pop(name, _UNSET)) for name, span in spans.items()}
    module.__class__ = type("module", (_Module,), names)


def limit_module(name: str, spans: Mapping[str, Span]) -> None:
    """Limit these names of the loaded module ``name`` to their releases."""
    _limit(sys.modules[name], spans)


def limited_module(name: str, members: Mapping[str, Any], spans: Mapping[str, Span]) -> ModuleType:
    """Make a module of these members, some limited to their releases."""
    module = _Module(name)
    module.__dict__.update(members)
    _limit(module, spans)
    return module


def limit_class(cls: type, spans: Mapping[str, Span], absent: str = NO_ATTRIBUTE) -> None:
    """Limit these attributes of ``cls`` to their releases."""
    for name, span in spans.items():
        inner = next(base.__dict__[name] for base in cls.__mro__ if name in base.__dict__)
        kind = _ClassProperty if hasattr(type(inner), "__set__") else _ClassName
        setattr(cls, name, kind(inner, name, span, absent))
    cls.__dir__ = _present_names  # type: ignore[method-assign, assignment]


def _present_names(instance: object) -> list[str]:
    return sorted(name for name in object.__dir__(instance) if not _is_absent(type(instance), name))


def _is_absent(cls: type, name: str) -> bool:
    found = next((base.__dict__[name] for base in cls.__mro__ if name in base.__dict__), None)
    return isinstance(found, _ClassName) and not found.span.holds()


def refuse_absent_module(name: str, span: Span) -> None:
    """Refuse to import a module that the release lacks; call it at the module's top."""
    if span.holds():
        return
    is_oneflow = _engine._current_release()[0] == "oneflow"  # some of ``utils`` needs an installed PyTorch
    missing = "torch" if is_oneflow else f"torch.{name}"
    raise ModuleNotFoundError(f"No module named '{missing}'", name=f"gradlife.engine.{name}")


def limit_names() -> None:
    """Apply the tables above once the modules they name are loaded."""
    from gradlife.engine.autograd.function import Function, FunctionCtx, _SingleLevelFunction
    from gradlife.engine.nn.modules.module import Module
    from gradlife.engine.tensors import Tensor

    tables = {
        "": TORCH,
        ".private": PRIVATE,
        ".autograd": AUTOGRAD,
        ".autograd.graph": GRAPH,
        ".autograd.function": FUNCTIONS,
        ".nn": NN,
        ".overrides": OVERRIDES,
        ".utils": UTILS,
        ".utils.checkpoint": CHECKPOINT,
    }
    for module, spans in tables.items():
        limit_module(f"gradlife.engine{module}", spans)
    limit_class(Tensor, TENSOR)
    limit_class(Module, MODULE)
    limit_class(FunctionCtx, CONTEXT, "attribute {name} not found")
    limit_class(_SingleLevelFunction, FUNCTION)
    limit_class(Function, FUNCTION_CLASS)
