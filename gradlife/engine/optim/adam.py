"""Adam: steps scaled by running means of the gradient and of its square."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from gradlife import _engine
from gradlife.engine.grad_mode import enable_grad, no_grad
from gradlife.engine.optim.optimizer import Optimizer
from gradlife.engine.tensors import Tensor

__all__ = ["Adam", "AdamW"]


class Adam(Optimizer):
    """Remembers ``exp_avg`` and ``exp_avg_sq``, each as large as the parameter, and with ``amsgrad`` a third."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0,
        amsgrad: bool = False,
        *,
        foreach: bool | None = None,
        maximize: bool = False,
        capturable: bool = False,
        differentiable: bool = False,
        fused: bool | None = None,
        decoupled_weight_decay: bool = False,
    ) -> None:
        _check(lr, betas, eps, weight_decay)
        if differentiable:
            raise NotImplementedError("gradlife's engine has no differentiable optimizers")
        super().__init__(
            params,
            {
                "lr": lr,
                "betas": betas,
                "eps": eps,
                "weight_decay": weight_decay,
                "amsgrad": amsgrad,
                "maximize": maximize,
                "foreach": foreach,
                "capturable": capturable,
                "differentiable": differentiable,
                "fused": fused,
                "decoupled_weight_decay": decoupled_weight_decay,
            },
        )

    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        with no_grad():
            for group in self.param_groups:
                for param in group["params"]:
                    if param.grad is not None:
                        self._change(param, param.grad, group)
        return loss

    def _change(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> None:
        state, (beta1, beta2) = self._state_of(param, group), group["betas"]
        grad = -grad if group["maximize"] else grad
        if group["decoupled_weight_decay"]:
            param.mul_(1 - group["lr"] * group["weight_decay"])
        elif group["weight_decay"] != 0:
            grad = grad.add(param, alpha=group["weight_decay"])
        state["step"] += 1
        count = state["step"].item()
        state["exp_avg"].mul_(beta1).add_(grad, alpha=1 - beta1)
        state["exp_avg_sq"].mul_(beta2).add_(grad * grad, alpha=1 - beta2)
        mean_square = state["exp_avg_sq"]
        if group["amsgrad"]:
            largest = state["max_exp_avg_sq"]
            mean_square = largest.copy_(_engine.where(mean_square > largest, mean_square, largest))
        scale = mean_square.sqrt().div_(math.sqrt(1 - beta2**count)).add_(group["eps"])
        param.add_(state["exp_avg"] / scale, alpha=-group["lr"] / (1 - beta1**count))

    def _state_of(self, param: Tensor, group: dict[str, Any]) -> dict[str, Any]:
        state: dict[str, Any] = self.state[param]
        if not state:
            state["step"] = _engine.tensor(0.0)
            state["exp_avg"] = _engine.zeros_like(param)
            state["exp_avg_sq"] = _engine.zeros_like(param)
            if group["amsgrad"]:
                state["max_exp_avg_sq"] = _engine.zeros_like(param)
        return state


class AdamW(Adam):
    """Adam with a weight decay that does not pass through the running means."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 1e-2,
        amsgrad: bool = False,
        **others: Any,
    ) -> None:
        super().__init__(params, lr, betas, eps, weight_decay, amsgrad, decoupled_weight_decay=True, **others)


def _check(lr: float, betas: tuple[float, float], eps: float, weight_decay: float) -> None:
    if not lr >= 0.0:
        raise ValueError(f"Invalid learning rate: {lr}")
    if not eps >= 0.0:
        raise ValueError(f"Invalid epsilon value: {eps}")
    for i, beta in enumerate(betas):
        if not 0.0 <= beta < 1.0:
            raise ValueError(f"Invalid beta parameter at index {i}: {beta}")
    if not weight_decay >= 0.0:
        raise ValueError(f"Invalid weight_decay value: {weight_decay}")
