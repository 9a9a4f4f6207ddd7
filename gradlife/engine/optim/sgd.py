"""Stochastic gradient descent."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from gradlife.engine.grad_mode import enable_grad, no_grad
from gradlife.engine.optim.optimizer import Optimizer
from gradlife.engine.tensors import Tensor


class SGD(Optimizer):
    """Step against the gradient, or against a running sum of gradients with momentum."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        momentum: float = 0,
        dampening: float = 0,
        weight_decay: float = 0,
        nesterov: bool = False,
        *,
        maximize: bool = False,
        foreach: bool | None = None,
        differentiable: bool = False,
        fused: bool | None = None,
    ) -> None:
        for value, name in ((lr, "learning rate"), (momentum, "momentum value"), (weight_decay, "weight_decay value")):
            if value < 0.0:
                raise ValueError(f"Invalid {name}: {value}")
        if differentiable:
            raise NotImplementedError("gradlife's engine has no differentiable optimizers")
        if nesterov and (momentum <= 0 or dampening != 0):
            raise ValueError("Nesterov momentum requires a momentum and zero dampening")
        super().__init__(
            params,
            {
                "lr": lr,
                "momentum": momentum,
                "dampening": dampening,
                "weight_decay": weight_decay,
                "nesterov": nesterov,
                "maximize": maximize,
                "foreach": foreach,
                "differentiable": differentiable,
                "fused": fused,
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
                        param.add_(self._direction(param, param.grad, group), alpha=-group["lr"])
        return loss

    def _direction(self, param: Tensor, grad: Tensor, group: dict[str, Any]) -> Tensor:
        direction = -grad if group["maximize"] else grad
        if group["weight_decay"] != 0:
            direction = direction.add(param, alpha=group["weight_decay"])
        momentum = group["momentum"]
        if momentum == 0:
            return direction
        state = self.state[param]
        buffer = state.get("momentum_buffer")
        if buffer is None:
            buffer = state["momentum_buffer"] = direction.detach().clone()
        else:
            buffer.mul_(momentum).add_(direction, alpha=1 - group["dampening"])
        return direction.add(buffer, alpha=momentum) if group["nesterov"] else buffer
