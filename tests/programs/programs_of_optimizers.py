"""Small programs of optimizers and schedules: the numbers they come to, what they refuse, what they keep alive."""

from __future__ import annotations

import copy
from typing import Any

from programs_tools import attempt, fates, programs_in, vector, watch


def parameter(fw: Any, *numbers: float) -> Any:
    return fw.nn.Parameter(fw.tensor(list(numbers or (1.0, -2.0, 3.0)), dtype=fw.float64))


def stepped(fw: Any, kind: str, steps: int = 4, **settings: Any) -> Any:
    """Return a parameter after steps on the cube of itself, to ten digits."""
    weight = parameter(fw)
    optimizer = getattr(fw.optim, kind)([weight], **settings)
    for _ in range(steps):
        optimizer.zero_grad()
        (weight * weight * weight).sum().backward()
        optimizer.step()
    return [[f"{value:.10g}" for value in weight.tolist()], sorted(optimizer.state[weight])]


def sgd_in_many_ways(fw: Any) -> Any:
    options: list[dict[str, Any]] = [
        {},
        {"momentum": 0.9},
        {"momentum": 0.9, "dampening": 0.5},
        {"momentum": 0.9, "nesterov": True},
        {"weight_decay": 0.1},
        {"weight_decay": 0.1, "momentum": 0.5, "nesterov": True},
        {"maximize": True},
    ]
    return [stepped(fw, "SGD", lr=0.01, **chosen) for chosen in options]


def optimizers_refuse(fw: Any) -> Any:
    weight = parameter(fw)
    sgd = fw.optim.SGD
    calls = [
        lambda: sgd([], 0.1),
        lambda: sgd([weight], -1),
        lambda: sgd([weight], 0.1, momentum=-1),
        lambda: sgd([weight], 0.1, weight_decay=-1),
        lambda: sgd([weight], 0.1, nesterov=True),
        lambda: sgd(vector(fw), 0.1),
        lambda: sgd([3], 0.1),
        lambda: sgd([weight * 2], 0.1),
        lambda: sgd([{"params": {weight}}], 0.1),
        lambda: sgd([("w", weight), weight], 0.1),
        lambda: sgd([weight], 0.1).add_param_group(3),
        lambda: sgd([weight], 0.1).add_param_group({"params": weight}),
        lambda: sgd([weight], 0.1).load_state_dict({"param_groups": [], "state": {}}),
        lambda: sgd([weight], 0.1).load_state_dict({"param_groups": [{"params": []}], "state": {}}),
        lambda: fw.optim.Optimizer([weight], {}).step(),
    ]
    return [attempt(call) for call in calls]


def how_optimizers_look(fw: Any) -> Any:
    weights = [parameter(fw), parameter(fw)]
    optimizer = fw.optim.SGD([{"params": weights[:1]}, {"params": weights[1], "lr": 0.5}], lr=0.1, momentum=0.9)
    return [repr(optimizer), str(optimizer.state_dict())]


def states_that_travel(fw: Any) -> Any:
    weight, other = parameter(fw), parameter(fw)
    first, second = (fw.optim.SGD([w], lr=0.1, momentum=0.9) for w in (weight, other))
    weight.grad = fw.ones(3, dtype=fw.float64)
    first.step()
    state = first.state_dict()
    second.load_state_dict(state)
    buffer = second.state[other]["momentum_buffer"]
    copied = copy.deepcopy(first)
    return [
        list(state["state"]),
        buffer is first.state[weight]["momentum_buffer"],
        second.param_groups[0]["params"][0] is other,
        copied.param_groups[0]["params"][0] is weight,
        len(copied.state),
        state["param_groups"][0]["params"],
        sorted(first.__getstate__()),
    ]


def steps_are_seen_by_hooks(fw: Any) -> Any:
    weight, log = parameter(fw), []
    optimizer = fw.optim.SGD([weight], lr=0.1)
    handles = [
        fw.optim.Optimizer.register_step_pre_hook(
            optimizer, lambda o, args, kwargs: log.append(["own pre", len(args)])
        ),
        optimizer.register_step_post_hook(lambda o, args, kwargs: log.append(["own post", o is optimizer])),
        *_global_hooks(fw, log),
    ]
    weight.grad = fw.ones(3, dtype=fw.float64)
    optimizer.step()
    optimizer.step(lambda: 3.0)
    for handle in handles:
        handle.remove()
    optimizer.step()
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 3)
    return [log, attempt(optimizer.step).split("function")[0]]


def _global_hooks(fw: Any, log: list[Any]) -> list[Any]:
    import importlib

    module = importlib.import_module(fw.__name__ + ".optim.optimizer")
    return [
        module.register_optimizer_step_pre_hook(lambda o, args, kwargs: log.append(["every pre"])),
        module.register_optimizer_step_post_hook(lambda o, args, kwargs: log.append(["every post"])),
    ]


def gradients_set_to_nothing_or_zero(fw: Any) -> Any:
    weight = parameter(fw)
    optimizer = fw.optim.SGD([weight], lr=0.1)
    weight.grad = fw.ones(3, dtype=fw.float64)
    gradient = weight.grad
    optimizer.zero_grad(set_to_none=False)
    seen = [weight.grad is gradient, gradient.tolist()]
    optimizer.zero_grad()
    return [*seen, weight.grad]


def versions_that_a_step_counts(fw: Any) -> Any:
    weight = parameter(fw)
    optimizer = fw.optim.SGD([weight], lr=0.1, momentum=0.9, weight_decay=0.1)
    weight.grad = fw.ones(3, dtype=fw.float64)
    seen = []
    for _ in range(3):
        optimizer.step()
        seen.append([weight._version, weight.grad._version, optimizer.state[weight]["momentum_buffer"]._version])
    return seen


def the_value_of_a_closure(fw: Any) -> Any:
    weight = parameter(fw)
    optimizer = fw.optim.SGD([weight], lr=0.1)

    def closure() -> Any:
        optimizer.zero_grad()
        loss = (weight * weight).sum()
        loss.backward()
        return loss

    with fw.no_grad():
        return [optimizer.step(closure).item(), weight.tolist(), optimizer.step()]


def an_optimizer_dies_with_its_name(fw: Any) -> Any:
    def build() -> list[Any]:
        weight = parameter(fw)
        optimizer = fw.optim.SGD([weight], lr=0.1, momentum=0.9)
        (weight * 2).sum().backward()
        optimizer.step()
        return watch(optimizer, weight, weight.grad, optimizer.state[weight]["momentum_buffer"])

    return fates(build)


def a_gradient_after_zero_grad(fw: Any) -> Any:
    kept: list[Any] = []

    def build() -> list[Any]:
        weight = parameter(fw)
        optimizer = fw.optim.SGD([weight], lr=0.1)
        kept.append(optimizer)
        (weight * 2).sum().backward()
        reference = watch(weight.grad)
        optimizer.zero_grad()
        return [*reference, *watch(weight)]

    return fates(build)


PROGRAMS = programs_in(globals())
