"""Small programs of the modules that compute: how they look, what they give, what they save, what they refuse."""

from __future__ import annotations

from typing import Any

from programs_tools import programs_in


def rows(framework: Any) -> Any:
    return framework.tensor([[0.5, -1.0, 2.0], [3.0, -0.25, 7.0]])


def outcome(fw: Any, module: Any, *targets: Any) -> Any:
    """The module's look and state, its result with its node, and the gradient, to three places, from far enough off zero."""
    x = rows(fw).requires_grad_()
    y = module(x * 1, *targets)
    (y * y + y).sum().backward()
    numbers = [[f"{v:.3f}" for v in t.reshape(-1).tolist()] for t in (y.detach(), x.grad + 1000)]
    return [repr(module), list(module.state_dict()), list(y.shape), type(y.grad_fn).__name__, *numbers]


def a_linear_module(fw: Any) -> Any:
    def nodes(module: Any, x: Any) -> Any:
        node, names = module(x).grad_fn, []
        while node is not None:
            names.append(type(node).__name__)
            node = next((after for after, _ in node.next_functions if after is not None), None)
        return names

    module, bare = fw.nn.Linear(3, 2), fw.nn.Linear(3, 2, bias=False)
    shapes = [fw.ones(3), fw.ones(4, 3), fw.ones(2, 4, 3)]
    return [[nodes(bare, x) for x in shapes], [list(m(x).shape) for m in (module, bare) for x in shapes]]


PROGRAMS = programs_in(globals())
