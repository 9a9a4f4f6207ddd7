"""The base class of optimizers: parameter groups with their settings, state per parameter, saving and loading."""

from __future__ import annotations

import copy
import itertools
import warnings
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from gradlife.engine.hooks import RemovableHandle, add_hook
from gradlife.engine.nn.modules.module import clear_in_place
from gradlife.engine.optim.step_hooks import (
    _global_optimizer_post_hooks,
    _global_optimizer_pre_hooks,
    patch_step,
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)
from gradlife.engine.release import drops_gradients
from gradlife.engine.tensors import Tensor

__all__ = [
    "Optimizer",
    "_global_optimizer_post_hooks",
    "_global_optimizer_pre_hooks",
    "register_optimizer_step_post_hook",
    "register_optimizer_step_pre_hook",
    "required",
]


class _RequiredParameter:
    def __repr__(self) -> str:
        return "<required parameter>"


required = _RequiredParameter()

_HOOK_DICTS = (
    "_optimizer_step_pre_hooks",
    "_optimizer_step_post_hooks",
    "_optimizer_state_dict_pre_hooks",
    "_optimizer_state_dict_post_hooks",
    "_optimizer_load_state_dict_pre_hooks",
    "_optimizer_load_state_dict_post_hooks",
)


class Optimizer:
    """Holds parameters in groups. ``state`` maps each parameter to its buffers, which live as long as the optimizer."""

    _optimizer_step_pre_hooks: OrderedDict[int, Any]
    _optimizer_step_post_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_state_dict_post_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_pre_hooks: OrderedDict[int, Any]
    _optimizer_load_state_dict_post_hooks: OrderedDict[int, Any]

    def __init__(self, params: Iterable[Any], defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._make_hooks()
        if isinstance(params, Tensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, but got "
                + params.type()
            )
        self.state: defaultdict[Any, Any] = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        for group in groups if isinstance(groups[0], dict) else [{"params": groups}]:
            self.add_param_group(group)

    def _make_hooks(self) -> None:
        for name in _HOOK_DICTS:
            self.__dict__[name] = OrderedDict()
        patch_step(type(self))

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add parameters with their own settings; the defaults fill in the rest."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        _list_params(param_group)
        for name, value in self.defaults.items():
            if value is required and name not in param_group:
                raise ValueError(f"parameter group didn't specify a value of required optimization parameter {name}")
            param_group.setdefault(name, value)
        params = param_group["params"]
        if len(params) != len(set(params)):
            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this will cause an error; see "
                "github.com/pytorch/pytorch/issues/40967 for more information",
                stacklevel=3,
            )
        if not {param for group in self.param_groups for param in group["params"]}.isdisjoint(params):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)

    def zero_grad(self, set_to_none: bool | None = None) -> None:
        """Drop all parameters' gradients, or zero them: the default before 2.0 and in OneFlow."""
        drops = drops_gradients() if set_to_none is None else set_to_none
        for param in self._params():
            if drops:
                param.grad = None
            elif param.grad is not None:
                clear_in_place(param.grad)

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Update the parameters by their gradients; ``closure``, if given, computes the loss first."""
        raise NotImplementedError

    def _params(self) -> Iterable[Any]:
        return itertools.chain.from_iterable(group["params"] for group in self.param_groups)

    def state_dict(self) -> dict[str, Any]:
        """Return state and settings with parameters replaced by numbers. The state's tensors are not copied."""
        for hook in list(self._optimizer_state_dict_pre_hooks.values()):
            hook(self)
        numbers: dict[int, int] = {}
        for param in self._params():
            numbers.setdefault(id(param), len(numbers))
        groups = [_packed(group, numbers) for group in self.param_groups]
        state = {numbers[id(k)] if isinstance(k, Tensor) else k: value for k, value in self.state.items()}
        result: dict[str, Any] = {"state": state, "param_groups": groups}
        for hook in list(self._optimizer_state_dict_post_hooks.values()):
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the result of `state_dict`. Parameters are matched by order."""
        state_dict = state_dict.copy()
        for hook in list(self._optimizer_load_state_dict_pre_hooks.values()):
            changed = hook(self, state_dict)
            state_dict = state_dict if changed is None else changed
        saved = copy.deepcopy(state_dict["param_groups"])
        self._check_groups(saved)
        numbers = itertools.chain.from_iterable(group["params"] for group in saved)
        params = dict(zip(numbers, self._params(), strict=True))
        state: defaultdict[Any, Any] = defaultdict(dict)
        for key, value in state_dict["state"].items():
            state[params.get(key, key)] = _cast(params[key], value) if key in params else value
        for group, own in zip(saved, self.param_groups, strict=True):
            group["params"] = own["params"]
        self.__setstate__({"state": state, "param_groups": saved})
        for hook in list(self._optimizer_load_state_dict_post_hooks.values()):
            hook(self)

    def _check_groups(self, saved: list[dict[str, Any]]) -> None:
        if len(saved) != len(self.param_groups):
            raise ValueError("loaded state dict has a different number of parameter groups")
        if any(len(one["params"]) != len(own["params"]) for one, own in zip(saved, self.param_groups, strict=True)):
            raise ValueError(
                "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
            )

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(optimizer, args, kwargs)`` before each step; may return other ``(args, kwargs)``."""
        return add_hook(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Calls ``hook(optimizer, args, kwargs)`` after each step."""
        return add_hook(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(optimizer)`` before each `state_dict`."""
        return add_hook(self._optimizer_state_dict_pre_hooks, hook, prepend)

    def register_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` after each `state_dict`; its result replaces the dict."""
        return add_hook(self._optimizer_state_dict_post_hooks, hook, prepend)

    def register_load_state_dict_pre_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Call ``hook(optimizer, state_dict)`` before each load; its result replaces the dict."""
        return add_hook(self._optimizer_load_state_dict_pre_hooks, hook, prepend)

    def register_load_state_dict_post_hook(self, hook: Callable[..., Any], prepend: bool = False) -> RemovableHandle:
        """Calls ``hook(optimizer)`` after each load."""
        return add_hook(self._optimizer_load_state_dict_post_hooks, hook, prepend)

    def __getstate__(self) -> dict[str, Any]:
        return {"defaults": self.defaults, "state": self.state, "param_groups": self.param_groups}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._make_hooks()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        blocks = []
        for number, group in enumerate(self.param_groups):
            lines = [f"    {name}: {group[name]}\n" for name in sorted(group) if name != "params"]
            blocks.append(f"\nParameter Group {number}\n{''.join(lines)}")
        return f"{type(self).__name__} ({''.join(blocks)})"


def _list_params(group: dict[str, Any]) -> None:
    params = group["params"]
    if isinstance(params, set):
        raise TypeError(
            "optimizer parameters need to be organized in ordered collections, but the ordering of tensors in sets will change "
            "between runs. Please use a list instead."
        )
    params = [params] if isinstance(params, Tensor) else list(params)
    named = [isinstance(param, tuple) for param in params]
    if any(named) and not all(named):
        raise ValueError("all optimizer params should be with/without names. Some param names are missing")
    if params and all(named):
        group["param_names"] = [name for name, _ in params]
        params = [param for _, param in params]
    for param in params:
        if not isinstance(param, Tensor):
            raise TypeError(f"optimizer can only optimize Tensors, but one of the params is {type(param).__name__}")
        if param.grad_fn is not None and not param.retains_grad:
            raise ValueError("can't optimize a non-leaf Tensor")
    group["params"] = params


def _packed(group: dict[str, Any], numbers: dict[int, int]) -> dict[str, Any]:
    settings = {name: value for name, value in group.items() if name != "params"}
    return {**settings, "params": [numbers[id(param)] for param in group["params"]]}


def _cast(param: Tensor, value: Any, key: str = "") -> Any:
    if isinstance(value, Tensor):
        return value if key == "step" or not param.is_floating_point() else value.to(param.dtype)
    if isinstance(value, dict):
        return {name: _cast(param, item, name) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_cast(param, item) for item in value)
    return value
