"""Save and load a module's state as a flat dict of tensors."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from gradlife.engine.grad_mode import no_grad
from gradlife.engine.hooks import RemovableHandle, add_hook
from gradlife.engine.nn.modules.module_hook import ModuleHook
from gradlife.engine.nn.modules.walking import Walking
from gradlife.engine.nn.parameter import Parameter
from gradlife.engine.tensors import Tensor

_EXTRA = "_extra_state"


class _Keys(NamedTuple):
    missing_keys: list[str]
    unexpected_keys: list[str]


class _IncompatibleKeys(_Keys):
    """The missing and the unexpected keys of a load."""

    __slots__ = ()

    def __repr__(self) -> str:
        if not self.missing_keys and not self.unexpected_keys:
            return "<All keys matched successfully>"
        return f"_IncompatibleKeys(missing_keys={self.missing_keys}, unexpected_keys={self.unexpected_keys})"

    __str__ = __repr__


class Loading(Walking):
    """The part of a module that saves and loads its state."""

    _state_dict_hooks: OrderedDict[int, Callable[..., Any]]
    _state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _load_state_dict_pre_hooks: OrderedDict[int, Callable[..., Any]]
    _load_state_dict_post_hooks: OrderedDict[int, Callable[..., Any]]
    _version: int

    def get_extra_state(self) -> Any:
        """Return a subclass's state beyond tensors; kept under ``_extra_state``."""
        raise RuntimeError("Reached a code path in Module.get_extra_state() that should never be called.")

    def set_extra_state(self, state: Any) -> None:
        """Load the result of `get_extra_state`."""
        raise RuntimeError("Reached a code path in Module.set_extra_state() that should never be called.")

    def state_dict(self, *args: Any, destination: Any = None, prefix: str = "", keep_vars: bool = False) -> Any:
        """Return parameters and persistent buffers by dotted name: detached aliases, or with ``keep_vars`` the objects."""
        if args:
            given: tuple[Any, ...] = (*args, *(destination, prefix, keep_vars)[len(args) :])
            destination, prefix, keep_vars = given
        if destination is None:
            destination = OrderedDict()
            destination._metadata = OrderedDict()
        metadata = {"version": self._version}
        if hasattr(destination, "_metadata"):
            destination._metadata[prefix[:-1]] = metadata
        for hook in list(self._state_dict_pre_hooks.values()):
            hook(self, prefix, keep_vars)
        self._save_to_state_dict(destination, prefix, keep_vars)
        for name, child in self._modules.items():
            if child is not None:
                child.state_dict(destination=destination, prefix=f"{prefix}{name}.", keep_vars=keep_vars)
        for hook in list(self._state_dict_hooks.values()):
            changed = hook(self, destination, prefix, metadata)
            if changed is not None and getattr(hook, "_from_public_api", False):
                raise RuntimeError("state_dict post-hook must return None")
            destination = _or_else(changed, destination)
        return destination

    def _save_to_state_dict(self, destination: Any, prefix: str, keep_vars: bool) -> None:
        for name, tensor in self._persistent():
            if tensor is not None:
                destination[prefix + name] = tensor if keep_vars else tensor.detach()
        if type(self).get_extra_state is not Loading.get_extra_state:
            destination[prefix + _EXTRA] = self.get_extra_state()

    def _persistent(self) -> list[tuple[str, Tensor | None]]:
        kept = [item for item in self._buffers.items() if item[0] not in self._non_persistent_buffers_set]
        return [*self._parameters.items(), *kept]

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False) -> Any:
        """Copy the values of ``state_dict`` into this module, or use its tensors (``assign``)."""
        if not isinstance(state_dict, Mapping):
            raise TypeError(f"Expected state_dict to be dict-like, got {type(state_dict)}.")
        metadata = getattr(state_dict, "_metadata", None)
        state = OrderedDict(state_dict)
        missing: list[str] = []
        unexpected: list[str] = []
        errors: list[str] = []
        self._load_all(state, metadata, assign, missing, unexpected, errors)
        if strict:
            errors[:0] = _complaints(missing, unexpected)
        if errors:
            raise RuntimeError(
                "Error(s) in loading state_dict for {}:\n\t{}".format(type(self).__name__, "\n\t".join(errors))
            )
        return _IncompatibleKeys(missing, unexpected)

    def _load_all(
        self, state: Any, metadata: Any, assign: bool, missing: list[str], unexpected: list[str], errors: list[str]
    ) -> None:
        keys = _IncompatibleKeys(missing, unexpected)
        waiting: list[tuple[str, Any, Any]] = [("", self, state)]
        while waiting:
            prefix, module, given = waiting.pop()
            if given is None:  # its children are loaded
                _run_load_hooks(module, keys)
                continue
            local = {} if metadata is None else metadata.get(prefix[:-1], {})
            if assign:
                local["assign_to_params_buffers"] = assign
            module._load_from_state_dict(given, prefix, local, True, missing, unexpected, errors)
            waiting.append((prefix, module, None))
            for name, child in reversed(module._modules.items()):
                if child is not None:
                    below = f"{prefix}{name}."
                    waiting.append((below, child, {k: v for k, v in given.items() if k.startswith(below)}))

    def _load_from_state_dict(
        self,
        state_dict: Any,
        prefix: str,
        local_metadata: Any,
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        for hook in list(self._load_state_dict_pre_hooks.values()):
            hook(state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs)
        assign = local_metadata.get("assign_to_params_buffers", False)
        for name, tensor in self._persistent():
            key = prefix + name
            if tensor is not None and key in state_dict:
                self._load_one(name, key, tensor, state_dict[key], assign, error_msgs)
            elif tensor is not None and strict:
                missing_keys.append(key)
        if type(self).set_extra_state is not Loading.set_extra_state:
            if prefix + _EXTRA in state_dict:
                self.set_extra_state(state_dict[prefix + _EXTRA])
            elif strict:
                missing_keys.append(prefix + _EXTRA)
        if strict:
            unexpected_keys.extend(
                key for key in state_dict if key.startswith(prefix) and self._is_unknown(key, prefix)
            )

    def _is_unknown(self, key: str, prefix: str) -> bool:
        name, dot, _ = key[len(prefix) :].partition(".")
        if dot and name in self._modules:
            return False
        own = {name for name, tensor in self._persistent() if tensor is not None}
        return key != prefix + _EXTRA and (bool(dot) or name not in own)

    def _load_one(self, name: str, key: str, tensor: Tensor, given: Any, assign: bool, errors: list[str]) -> None:
        if not isinstance(given, Tensor):
            errors.append(
                f'While copying the parameter named "{key}", expected torch.Tensor or Tensor-like object from checkpoint but '
                f"received {type(given)}"
            )
            return
        if tensor.dim() == 0 and given.shape == (1,):
            given = given[0]
        if given.shape != tensor.shape:
            errors.append(
                f"size mismatch for {key}: copying a param with shape {given.shape} from checkpoint, the shape in current model "
                f"is {tensor.shape}."
            )
            return
        try:
            with no_grad():
                self._take(name, tensor, given) if assign else tensor.copy_(given)
        except Exception as error:
            errors.append(
                f'While copying the parameter named "{key}", whose dimensions in the model are {tensor.size()} and whose '
                f"dimensions in the checkpoint are {given.size()}, an exception occurred : {error.args}."
            )

    def _take(self, name: str, tensor: Tensor, given: Tensor) -> None:
        if isinstance(tensor, Parameter) and not isinstance(given, Parameter):
            given = Parameter(given, requires_grad=tensor.requires_grad)
        elif isinstance(tensor, Parameter):
            given.requires_grad_(tensor.requires_grad)
        setattr(self, name, given)

    def register_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(module, state_dict, prefix, local_metadata)`` after each `state_dict`; it must return None."""
        hook._from_public_api = True  # type: ignore[attr-defined]  # as PyTorch marks it
        return add_hook(self._state_dict_hooks, hook)

    def _register_state_dict_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        return add_hook(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(module, prefix, keep_vars)`` before each `state_dict`."""
        return add_hook(self._state_dict_pre_hooks, hook)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(module, state_dict, prefix, local_metadata, strict, missing, unexpected, errors)`` before each load."""
        return add_hook(self._load_state_dict_pre_hooks, ModuleHook(hook, self))

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(module, incompatible_keys)`` after each load; it may change the two lists."""
        return add_hook(self._load_state_dict_post_hooks, hook)


def _run_load_hooks(module: Any, keys: _IncompatibleKeys) -> None:
    for hook in list(module._load_state_dict_post_hooks.values()):
        if hook(module, keys) is not None:
            raise AssertionError(
                "Hooks registered with ``register_load_state_dict_post_hook`` are not expected to return new values, if "
                "incompatible_keys need to be modified, it should be done inplace."
            )


def _or_else(value: Any, otherwise: Any) -> Any:
    return otherwise if value is None else value


def _complaints(missing: list[str], unexpected: list[str]) -> list[str]:
    kinds = (("Missing", missing), ("Unexpected", unexpected))
    return [f"{kind} key(s) in state_dict: {', '.join(map(_quoted, keys))}. " for kind, keys in kinds if keys]


def _quoted(key: str) -> str:
    return f'"{key}"'
