"""Small programs of the modules that compute: how they look, what they give, what they save, what they refuse."""

from __future__ import annotations

import warnings
from typing import Any

from programs_tools import attempt, programs_in


def rows(framework: Any) -> Any:
    return framework.tensor([[0.5, -1.0, 2.0], [3.0, -0.25, 7.0]])


def told(fw: Any, module: Any, *targets: Any) -> Any:
    """The module's look and state, its result with its node, and the gradient, to three places, from far enough off zero."""
    x = rows(fw).requires_grad_()
    y = module(x * 1, *targets)
    (y * y + y).sum().backward()
    numbers = [[f"{v:.3f}" for v in t.reshape(-1).tolist()] for t in (y.detach(), x.grad + 1000)]
    return [repr(module), list(module.state_dict()), list(y.shape), type(y.grad_fn).__name__, *numbers]


def activations(fw: Any) -> Any:
    nn = fw.nn
    modules = [
        nn.ReLU(),
        nn.ReLU(inplace=True),
        nn.Sigmoid(),
        nn.Tanh(),
        nn.LogSigmoid(),
        nn.LeakyReLU(0.2),
        nn.ELU(2.0, True),
        nn.GELU(),
        nn.GELU("tanh"),
        nn.SiLU(),
        nn.Softplus(),
        nn.Softplus(2.0, 1.0),
        nn.Hardtanh(-0.5),
        nn.ReLU6(),
        nn.Threshold(0.1, 5.0),
        nn.Softmax(1),
        nn.LogSoftmax(0),
    ]
    return [told(fw, module) for module in modules]


def layers(fw: Any) -> Any:
    nn = fw.nn
    modules = [
        nn.Flatten(0),
        nn.LayerNorm(3),
        nn.LayerNorm((2, 3), bias=False),
        nn.LayerNorm(3, elementwise_affine=False),
        nn.Dropout(0.5).eval(),
        nn.Dropout(0.0, True),
        nn.Dropout(1.0),
        nn.Identity(),
    ]
    return [told(fw, module) for module in modules]


def losses(fw: Any) -> Any:
    nn, bits, classes = fw.nn, fw.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]), fw.tensor([2, 0])
    weights = fw.tensor([1.0, 2.0, 3.0])
    floats = [
        nn.MSELoss(),
        nn.MSELoss(reduction="sum"),
        nn.MSELoss(reduction="none"),
        nn.L1Loss(),
        nn.SmoothL1Loss(beta=2.0),
    ]
    floats += [nn.BCEWithLogitsLoss(), nn.BCEWithLogitsLoss(pos_weight=weights, reduction="sum")]
    numbered = [nn.CrossEntropyLoss(), nn.CrossEntropyLoss(weights, label_smoothing=0.1), nn.NLLLoss(ignore_index=0)]
    seen = [told(fw, module, bits) for module in floats] + [told(fw, module, classes) for module in numbered]
    return [*seen, f"{nn.BCELoss()(rows(fw).sigmoid(), bits).item():.5f}"]


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


def an_embedding(fw: Any) -> Any:
    module = fw.nn.Embedding.from_pretrained(fw.arange(6.0).view(3, 2), freeze=False, padding_idx=-1)
    y = module(fw.tensor([[0, 2], [2, 1]]))
    y.sum().backward()
    frozen = fw.nn.Embedding.from_pretrained(fw.ones(2, 2))
    padded = fw.nn.Embedding(4, 3, padding_idx=1)
    seen = [repr(module), y.tolist(), type(y.grad_fn).__name__, module.weight.grad.tolist(), module.padding_idx]
    return [*seen, frozen.weight.requires_grad, repr(padded), padded.weight[1].tolist()]


def arguments_that_do_not_do(fw: Any) -> Any:
    nn = fw.nn
    return [
        attempt(lambda: nn.Dropout(3)),
        attempt(lambda: nn.Embedding(3, 4, padding_idx=7)),
        attempt(lambda: nn.Embedding(3, 4, _weight=fw.ones(2, 2))),
        attempt(lambda: nn.Embedding.from_pretrained(fw.ones(2))),
        attempt(lambda: nn.MSELoss(reduction="x")(fw.ones(1), fw.ones(1))),
        attempt(lambda: nn.Linear(2, 2)(fw.ones(3, 3))),
        attempt(lambda: nn.LayerNorm(2)(fw.ones(3, 3))),
    ]


def reductions_by_their_old_names(fw: Any) -> Any:
    seen = []
    for flags in ({"size_average": False}, {"reduce": False}, {"size_average": True}):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            seen.append([fw.nn.MSELoss(**flags).reduction, [str(item.message) for item in caught]])
    return seen


PROGRAMS = programs_in(globals())
