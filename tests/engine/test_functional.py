"""torch.nn.functional against PyTorch's: values, gradients of both orders, nodes and what they save, errors."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import gradlife.engine as mini
from op_pairs import DTYPES, LAYOUTS, compare, has_layouts, numbers, told

real = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore:.*(Using a target size|reduction. 'mean')")]

Operation = Callable[..., Any]


def of(name: str, *parameters: Any, **keywords: Any) -> Operation:
    return lambda fw, x: getattr(fw.nn.functional, name)(x * 2 - 2, *parameters, **keywords)


ACTIVATIONS: dict[str, Operation] = {
    "relu": of("relu"),
    "relu6": of("relu6"),
    "threshold": of("threshold", 0.1, 20.0),
    "leaky_relu": of("leaky_relu"),
    "leaky_relu, steep": of("leaky_relu", -1.5),
    "elu": of("elu"),
    "elu, flat": of("elu", 0.25),
    "selu": of("selu"),
    "celu": of("celu", 2.0),
    "hardtanh": of("hardtanh"),
    "hardtanh, narrow": of("hardtanh", -0.25, 0.5),
    "hardswish": of("hardswish"),
    "silu": of("silu"),
    "mish": of("mish"),
    "gelu": of("gelu"),
    "gelu by tanh": of("gelu", approximate="tanh"),
    "softplus": of("softplus"),
    "softplus, sharp": of("softplus", 3, 1.5),
    "hardshrink": of("hardshrink"),
    "softshrink": of("softshrink", 0.25),
    "tanhshrink": of("tanhshrink"),
    "softsign": of("softsign"),
    "sigmoid": of("sigmoid"),
    "tanh": of("tanh"),
    "logsigmoid": of("logsigmoid"),
}
SHAPES = [(), (0,), (3,), (2, 3), (3, 0, 2)]
CORNERS = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, float("inf"), -float("inf"), float("nan"), 30.0, -30.0]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_activations(layout: str) -> None:
    for shape in SHAPES:
        if layout != "contiguous" and not has_layouts([shape]):
            continue
        for name, dtype in product(ACTIVATIONS, DTYPES):
            with told(name, shape, dtype):
                compare(ACTIVATIONS[name], real, [shape], [dtype], layout)


@given(st.lists(st.floats(-40, 40) | st.sampled_from(CORNERS), min_size=1, max_size=6))
def test_any_numbers_give_what_they_give_in_torch(values: list[float]) -> None:
    for name in ACTIVATIONS:
        seen = []
        for fw in (mini, real):
            x = fw.tensor(values, dtype=fw.float64, requires_grad=True)
            y = ACTIVATIONS[name](fw, x / 2 + 1)
            seen.append([*y.tolist(), *fw.autograd.grad(y.sum(), x)[0].tolist()])
        assert seen[0] == pytest.approx(seen[1], nan_ok=True), name


def saved(node: Any) -> dict[str, Any]:
    fields = {name: getattr(node, name) for name in dir(node) if name.startswith("_saved")}
    return {name: value.tolist() if hasattr(value, "tolist") else value for name, value in fields.items()}


def flat(value: Any) -> list[Any]:
    return [each for item in value for each in flat(item)] if isinstance(value, list) else [value]


def plain(value: Any) -> Any:
    """PyTorch shows negative numbers of some fields as unsigned ones."""
    return value - 2**64 if isinstance(value, int) and value >= 2**63 else value


def assert_same_graph(ours: Any, theirs: Any) -> None:
    """The same nodes with the same saved values, all the way down."""
    assert type(ours).__name__ == type(theirs).__name__
    if ours is None:
        return
    mine, other = saved(ours), saved(theirs)
    assert mine.keys() == other.keys(), type(ours).__name__
    for name, value in other.items():
        assert type(mine[name]) is type(value), (type(ours).__name__, name)
        if isinstance(value, int | float | list):
            assert flat(mine[name]) == pytest.approx(flat(plain(value))), name
        else:
            assert mine[name] == value, name
    assert len(ours.next_functions) == len(theirs.next_functions), type(ours).__name__
    for (ours_next, _), (theirs_next, _) in zip(ours.next_functions, theirs.next_functions, strict=True):
        assert_same_graph(ours_next, theirs_next)


def test_activations_leave_the_nodes_that_torch_leaves() -> None:
    for name in ACTIVATIONS:
        with told(name):
            assert_same_graph(
                *(
                    ACTIVATIONS[name](fw, fw.tensor(numbers((4,), "float64"), requires_grad=True)).grad_fn
                    for fw in (mini, real)
                )
            )


SECOND = [
    "softplus",
    "gelu",
    "elu",
    "leaky_relu",
    "hardtanh",
    "threshold",
    "hardshrink",
    "softshrink",
    "hardswish",
    "logsigmoid",
    "celu",
]


def test_their_gradients_are_nodes_of_their_own() -> None:
    for name in SECOND:
        graphs = []
        for fw in (mini, real):
            x = fw.tensor(numbers((4,), "float64"), requires_grad=True)
            y = ACTIVATIONS[name](fw, x)
            before = y.grad_fn.next_functions[0][0]
            start = fw.ones_like(y, requires_grad=True)
            inner = fw.autograd.grad(y, x, start, create_graph=True)[0].grad_fn
            while not inner.name().endswith("BackwardBackward0"):
                inner = inner.next_functions[0][0]
            assert before is not None
            graphs.append(inner)
        with told(name):
            assert type(graphs[0]).__name__ == type(graphs[1]).__name__
            assert saved(graphs[0]).keys() == saved(graphs[1]).keys()


IN_PLACE: dict[str, Operation] = {
    "relu": lambda f, x: f.relu(x, inplace=True),
    "relu_": lambda f, x: f.relu_(x),
    "relu6": lambda f, x: f.relu6(x, inplace=True),
    "threshold": lambda f, x: f.threshold(x, 0.8, 3.0, inplace=True),
    "threshold_": lambda f, x: f.threshold_(x, 0.8, 3.0),
    "leaky_relu": lambda f, x: f.leaky_relu(x, inplace=True),
    "leaky_relu_": lambda f, x: f.leaky_relu_(x, 0.5),
    "elu": lambda f, x: f.elu(x, 0.5, inplace=True),
    "elu_": lambda f, x: f.elu_(x),
    "selu_": lambda f, x: f.selu_(x),
    "celu": lambda f, x: f.celu(x, 0.5, inplace=True),
    "hardtanh_": lambda f, x: f.hardtanh_(x, -0.5, 0.9),
    "hardswish": lambda f, x: f.hardswish(x, inplace=True),
    "silu": lambda f, x: f.silu(x, inplace=True),
    "mish": lambda f, x: f.mish(x, inplace=True),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place_activations(name: str) -> None:
    seen = []
    for fw in (mini, real):
        x = fw.tensor([-2.0, -0.25, 0.5, 1.5], dtype=fw.float64, requires_grad=True)
        target = x.clone()
        before = target._version
        assert IN_PLACE[name](fw.nn.functional, target) is target
        node = target.grad_fn
        kept = saved(node)
        target.sum().backward()
        seen.append((target.tolist(), x.grad.tolist(), target._version - before, type(node).__name__, kept))
    (*ours, our_kept), (*theirs, their_kept) = seen
    assert ours[0] == pytest.approx(theirs[0])
    assert ours[1] == pytest.approx(theirs[1])
    assert ours[2:] == theirs[2:]
    assert our_kept.keys() == their_kept.keys()
    for field, value in their_kept.items():
        assert our_kept[field] == pytest.approx(value), field


def rows(fw: Any, *shape: int, low: float = 0.3, high: float = 1.7, seed: int = 0, grad: bool = True) -> Any:
    return fw.tensor(numbers(shape, "float64", seed, low, high)).requires_grad_(grad)


LOSS_CASES: dict[str, Operation] = {
    "mse": lambda f, x, t: f.mse_loss(x, t),
    "mse, summed": lambda f, x, t: f.mse_loss(x, t, reduction="sum"),
    "mse, each": lambda f, x, t: f.mse_loss(x, t, reduction="none"),
    "mse, weighted": lambda f, x, t: f.mse_loss(x, t, weight=t.detach()),
    "l1": lambda f, x, t: f.l1_loss(x, t),
    "l1, each": lambda f, x, t: f.l1_loss(x, t, reduction="none"),
    "smooth": lambda f, x, t: f.smooth_l1_loss(x, t, beta=0.25),
    "smooth, summed": lambda f, x, t: f.smooth_l1_loss(x, t, reduction="sum"),
    "smooth, each": lambda f, x, t: f.smooth_l1_loss(x, t, reduction="none"),
    "smooth, not at all": lambda f, x, t: f.smooth_l1_loss(x, t, beta=0.0),
    "huber": lambda f, x, t: f.huber_loss(x, t, delta=0.25),
    "huber, summed": lambda f, x, t: f.huber_loss(x, t, reduction="sum"),
    "huber, each": lambda f, x, t: f.huber_loss(x, t, reduction="none", delta=2.0),
    "huber, weighted": lambda f, x, t: f.huber_loss(x, t, weight=t.detach()),
    "logits": lambda f, x, t: f.binary_cross_entropy_with_logits(x * 3 - 3, t),
    "logits, summed": lambda f, x, t: f.binary_cross_entropy_with_logits(x, t, reduction="sum"),
    "logits, weighted": lambda f, x, t: f.binary_cross_entropy_with_logits(
        x, t, weight=t.detach()[0], pos_weight=t.detach()[1]
    ),
    "entropy": lambda f, x, t: f.binary_cross_entropy(x / 2, t / 2),
    "entropy, each": lambda f, x, t: f.binary_cross_entropy(x / 2, t / 2, reduction="none"),
    "entropy, weighted": lambda f, x, t: f.binary_cross_entropy(x / 2, t / 2, weight=t.detach()),
    "entropy, summed": lambda f, x, t: f.binary_cross_entropy(x / 2, t / 2, reduction="sum"),
    "divergence": lambda f, x, t: f.kl_div(x, t, reduction="batchmean"),
    "divergence of logs": lambda f, x, t: f.kl_div(x, t, reduction="sum", log_target=True),
}


@pytest.mark.parametrize("name", LOSS_CASES)
def test_losses(name: str) -> None:
    for dtype in DTYPES if "entropy" not in name else ("float32",):  # PyTorch bends its second derivatives a little
        compare(
            lambda fw, x, t: LOSS_CASES[name](fw.nn.functional, x, t), real, [(2, 3), (2, 3)], [dtype] * 2, "contiguous"
        )


@pytest.mark.parametrize("name", LOSS_CASES)
def test_losses_leave_the_nodes_that_torch_leaves(name: str) -> None:
    for x_grad, t_grad in ((True, True), (True, False), (False, True)):
        assert_same_graph(
            *(
                LOSS_CASES[name](
                    fw.nn.functional, rows(fw, 2, 3, grad=x_grad), rows(fw, 2, 3, seed=1, grad=t_grad)
                ).grad_fn
                for fw in (mini, real)
            )
        )


CLASSES: dict[str, Operation] = {
    "nll": lambda fw, x, t: fw.nn.functional.nll_loss(x, t),
    "nll, summed": lambda fw, x, t: fw.nn.functional.nll_loss(x, t, reduction="sum"),
    "nll, each": lambda fw, x, t: fw.nn.functional.nll_loss(x, t, reduction="none"),
    "nll, weighted": lambda fw, x, t: fw.nn.functional.nll_loss(x, t, weight=rows(fw, 4, grad=False)),
    "nll, some ignored": lambda fw, x, t: fw.nn.functional.nll_loss(x, t, ignore_index=2),
    "cross entropy": lambda fw, x, t: fw.nn.functional.cross_entropy(x, t),
    "cross entropy, each": lambda fw, x, t: fw.nn.functional.cross_entropy(x, t, reduction="none"),
    "cross entropy, smooth": lambda fw, x, t: fw.nn.functional.cross_entropy(x, t, label_smoothing=0.1),
    "cross entropy, smooth, weighted": lambda fw, x, t: fw.nn.functional.cross_entropy(
        x, t, rows(fw, 4, grad=False), ignore_index=2, label_smoothing=0.1
    ),
    "cross entropy, smooth, summed": lambda fw, x, t: fw.nn.functional.cross_entropy(
        x, t, reduction="sum", label_smoothing=0.2
    ),
    "soft targets": lambda fw, x, t: fw.nn.functional.cross_entropy(x, rows(fw, 3, 4, seed=5, grad=False)),
    "one row": lambda fw, x, t: fw.nn.functional.nll_loss(x[0], t[0]),
    "embedding": lambda fw, x, t: fw.nn.functional.embedding(t, x),
    "embedding with padding": lambda fw, x, t: fw.nn.functional.embedding(t.reshape(1, 3, 1), x, padding_idx=-1),
}


@pytest.mark.parametrize("name", CLASSES)
def test_losses_and_rows_by_class(name: str) -> None:
    targets = [0, 2, 1] if "embedding" in name else [3, 2, 0]
    for dtype in ("float64", "float32") if "weighted" not in name and "soft" not in name else ("float64",):
        compare(lambda fw, x: CLASSES[name](fw, x, fw.tensor(targets)), real, [(3, 4)], [dtype], "contiguous")
        compare(lambda fw, x: CLASSES[name](fw, x, fw.tensor(targets)), real, [(3, 4)], [dtype], "transposed")
    nodes = [CLASSES[name](fw, rows(fw, 3, 4), fw.tensor(targets)).grad_fn for fw in (mini, real)]
    if "smooth" not in name and "soft" not in name:  # these two are Python here
        assert_same_graph(*nodes)


LAYERS: dict[str, tuple[Operation, list[tuple[int, ...]]]] = {
    "linear": (lambda f, x, w, b: f.linear(x, w, b), [(4, 3), (2, 3), (2,)]),
    "linear of a row": (lambda f, x, w, b: f.linear(x, w, b), [(3,), (2, 3), (2,)]),
    "linear of a batch": (lambda f, x, w, b: f.linear(x, w, b), [(5, 4, 3), (2, 3), (2,)]),
    "linear without bias": (lambda f, x, w: f.linear(x, w), [(4, 3), (2, 3)]),
    "linear of a batch without bias": (lambda f, x, w: f.linear(x, w), [(5, 4, 3), (2, 3)]),
    "linear by a vector": (lambda f, x, w: f.linear(x, w), [(4, 3), (3,)]),
    "layer_norm": (lambda f, x, w, b: f.layer_norm(x, (3,), w, b), [(4, 3), (3,), (3,)]),
    "layer_norm over two": (lambda f, x, w: f.layer_norm(x, (4, 3), w), [(2, 4, 3), (4, 3)]),
    "layer_norm alone": (lambda f, x: f.layer_norm(x, [3], eps=0.1), [(4, 3)]),
    "normalize": (lambda f, x: f.normalize(x), [(4, 3)]),
    "normalize by another norm": (lambda f, x: f.normalize(x, 3.0, 0), [(4, 3)]),
    "cosine_similarity": (lambda f, x, y: f.cosine_similarity(x, y), [(4, 3), (4, 3)]),
    "pairwise_distance": (lambda f, x, y: f.pairwise_distance(x, y), [(4, 3), (4, 3)]),
    "softmax": (lambda f, x: f.softmax(x, 1), [(4, 3)]),
    "softmin": (lambda f, x: f.softmin(x, -1), [(4, 3)]),
    "log_softmax": (lambda f, x: f.log_softmax(x, 0), [(4, 3)]),
    "prelu": (lambda f, x, w: f.prelu(x - 1, w), [(4, 3), (3,)]),
    "prelu with one slope": (lambda f, x, w: f.prelu(x - 1, w), [(4, 3), (1,)]),
}
OWN_NODES = ("linear", "softm", "log_softmax", "normalize")  # the others are made of other operations


@pytest.mark.parametrize("name", LAYERS)
def test_layers(name: str) -> None:
    function, shapes = LAYERS[name]
    for dtype, layout in product(DTYPES, ("contiguous", "transposed")):
        if layout == "contiguous" or "linear" not in name:
            compare(lambda fw, *xs: function(fw.nn.functional, *xs), real, shapes, [dtype] * len(shapes), layout)


@pytest.mark.parametrize("name", [name for name in LAYERS if name.startswith(OWN_NODES)])
def test_layers_leave_the_nodes_that_torch_leaves(name: str) -> None:
    function, shapes = LAYERS[name]
    for wanted in product((True, False), repeat=len(shapes)):
        if any(wanted):
            nodes = [
                function(
                    fw.nn.functional,
                    *(rows(fw, *shape, seed=i, grad=wanted[i]) for i, shape in enumerate(shapes)),
                ).grad_fn
                for fw in (mini, real)
            ]
            with told(wanted):
                assert_same_graph(*nodes)


def test_a_layer_norm_saves_its_input_weights_and_moments() -> None:
    nodes = [fw.nn.functional.layer_norm(rows(fw, 2, 3), (3,), rows(fw, 3), rows(fw, 3)).grad_fn for fw in (mini, real)]
    ours, theirs = (saved(node) for node in nodes)
    assert type(nodes[0]).__name__ == type(nodes[1]).__name__
    assert ours.keys() == theirs.keys()
    for name, value in theirs.items():
        assert mini.allclose(mini.tensor(ours[name]), mini.tensor(value)), name


def test_dropout_scales_what_is_left() -> None:
    mini.manual_seed(3)
    x = mini.ones(1000, requires_grad=True)
    y = mini.nn.functional.dropout(x, 0.25)
    assert {round(value, 6) for value in y.tolist()} == {0.0, 1.333333}
    assert 650 < sum(value > 0 for value in y.tolist()) < 850
    y.sum().backward()
    assert x.grad is not None
    assert x.grad.tolist() == y.tolist()


@pytest.mark.parametrize(("p", "training"), [(0.0, True), (0.5, False)])
def test_dropout_that_drops_nothing_gives_the_tensor_itself(p: float, training: bool) -> None:
    for fw in (mini, real):
        x = fw.ones(3)
        assert fw.nn.functional.dropout(x, p, training) is x
        assert fw.nn.functional.dropout(x, p, training, inplace=True) is x
        assert x._version == 0


@pytest.mark.parametrize("p", [0.5, 1.0])
def test_dropout_leaves_the_nodes_that_torch_leaves(p: float) -> None:
    for inplace in (False, True):
        graphs = []
        for fw in (mini, real):
            node = fw.nn.functional.dropout(rows(fw, 3).clone(), p, inplace=inplace).grad_fn
            graphs.append((type(node).__name__, node._saved_self, node._saved_other.shape))
        assert graphs[0] == graphs[1]


def test_one_hot() -> None:
    for classes in (-1, 5):
        ours, theirs = (fw.nn.functional.one_hot(fw.tensor([[0, 3], [1, 1]]), classes) for fw in (mini, real))
        assert ours.tolist() == theirs.tolist()
        assert str(ours.dtype) == str(theirs.dtype)


def test_gumbel_softmax_chooses() -> None:
    mini.manual_seed(0)
    logits = mini.zeros(50, 3, requires_grad=True)
    soft = mini.nn.functional.gumbel_softmax(logits, tau=0.5)
    assert soft.sum(-1).tolist() == pytest.approx([1.0] * 50)
    hard = mini.nn.functional.gumbel_softmax(logits, hard=True)
    assert sorted({round(value) for row in hard.tolist() for value in row}) == [0, 1]
    assert hard.grad_fn is not None


REFUSALS: dict[str, Operation] = {
    "a probability above 1": lambda f, fw: f.dropout(fw.ones(2), 2.0),
    "a probability below 0": lambda f, fw: f.dropout(fw.ones(2), -0.1),
    "bounds the wrong way": lambda f, fw: f.hardtanh(fw.ones(2), 1, 0),
    "a formula that is none": lambda f, fw: f.gelu(fw.ones(2), approximate="x"),
    "celu of nothing": lambda f, fw: f.celu(fw.ones(2), 0.0),
    "softshrink below 0": lambda f, fw: f.softshrink(fw.ones(2), -1.0),
    "a slope below 0 in place": lambda f, fw: (
        f.leaky_relu(fw.ones(2, requires_grad=True).clone(), -1.0, True).sum().backward()
    ),
    "elu below 0 in place": lambda f, fw: f.elu(fw.ones(2, requires_grad=True).clone(), -1.0, True).sum().backward(),
    "a reduction that is none": lambda f, fw: f.mse_loss(fw.ones(2), fw.ones(2), reduction="foo"),
    "mse of integers": lambda f, fw: f.mse_loss(fw.tensor([1]), fw.tensor([2])),
    "mse of two shapes": lambda f, fw: f.mse_loss(fw.ones(2), fw.ones(3)),
    "mse with other weights": lambda f, fw: f.mse_loss(fw.ones(2), fw.ones(2), weight=fw.ones(3)),
    "entropy beyond 1": lambda f, fw: f.binary_cross_entropy(fw.ones(2) * 3, fw.ones(2)),
    "entropy of two shapes": lambda f, fw: f.binary_cross_entropy(fw.ones(2), fw.ones(3)),
    "logits of two shapes": lambda f, fw: f.binary_cross_entropy_with_logits(fw.ones(2), fw.ones(3)),
    "a class too many": lambda f, fw: f.nll_loss(fw.ones(2, 3), fw.tensor([0, 5])),
    "a target too few": lambda f, fw: f.nll_loss(fw.ones(2, 3), fw.tensor([0])),
    "classes that are floats": lambda f, fw: f.nll_loss(fw.ones(2, 3), fw.tensor([0.0, 1.0])),
    "weights of too few classes": lambda f, fw: f.nll_loss(fw.ones(2, 3), fw.tensor([0, 1]), weight=fw.ones(2)),
    "nll of a number": lambda f, fw: f.nll_loss(fw.tensor(1.0), fw.tensor(1)),
    "smoothing beyond 1": lambda f, fw: f.cross_entropy(fw.ones(2, 3), fw.tensor([0, 1]), label_smoothing=2.0),
    "a beta below 0": lambda f, fw: f.smooth_l1_loss(fw.ones(2), fw.ones(2), beta=-1.0),
    "a delta of 0": lambda f, fw: f.huber_loss(fw.ones(2), fw.ones(2), delta=0.0),
    "a row that is not there": lambda f, fw: f.embedding(fw.tensor([0, 7]), fw.ones(2, 3)),
    "rows by floats": lambda f, fw: f.embedding(fw.tensor([0.0]), fw.ones(2, 3)),
    "padding that is not there": lambda f, fw: f.embedding(fw.tensor([0]), fw.ones(2, 3), padding_idx=5),
    "another shape to normalise": lambda f, fw: f.layer_norm(fw.ones(2, 3), (2,)),
    "no shape to normalise": lambda f, fw: f.layer_norm(fw.ones(2, 3), ()),
    "other weights to normalise": lambda f, fw: f.layer_norm(fw.ones(2, 3), (3,), fw.ones(2)),
    "a class below 0": lambda f, fw: f.one_hot(fw.tensor([0, -1])),
    "too few classes": lambda f, fw: f.one_hot(fw.tensor([0, 3]), 2),
    "one_hot of floats": lambda f, fw: f.one_hot(fw.tensor([0.0])),
    "one_hot of nothing": lambda f, fw: f.one_hot(fw.tensor([], dtype=fw.int64)),
    "linear of other widths": lambda f, fw: f.linear(fw.ones(2, 3), fw.ones(2, 2)),
    "prelu of other channels": lambda f, fw: f.prelu(fw.ones(2, 3), fw.ones(2)),
    "prelu by a matrix": lambda f, fw: f.prelu(fw.ones(2, 3), fw.ones(1, 3)),
    **{
        f"{name} of integers": lambda f, fw, name=name: getattr(f, name)(fw.tensor([1]))
        for name in ("silu", "mish", "gelu", "elu", "leaky_relu", "softplus", "softshrink", "hardshrink", "logsigmoid")
    },
}


@pytest.mark.parametrize("name", REFUSALS)
def test_what_torch_refuses_is_refused_in_its_words(name: str) -> None:
    errors = []
    for fw in (mini, real):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(Exception, match=r".") as raised:
                REFUSALS[name](fw.nn.functional, fw)
        errors.append((type(raised.value), str(raised.value)))
    assert errors[0] == errors[1]


def test_integers_pass_where_the_bounds_are_integers_too() -> None:
    for fw in (mini, real):
        assert fw.nn.functional.hardtanh(fw.tensor([-3, 0, 3]), -1, 2).tolist() == [-1, 0, 2]
        assert fw.nn.functional.relu6(fw.tensor([-3, 9])).tolist() == [0, 6]
        assert fw.nn.functional.threshold(fw.tensor([1, 2]), 1, 5).tolist() == [5, 2]


@pytest.mark.parametrize("name", ["softmax", "softmin", "log_softmax"])
def test_a_dimension_that_is_not_named_warns(name: str) -> None:
    for shape in ((), (2,), (2, 3), (2, 3, 4)):
        results = []
        for fw in (mini, real):
            x = fw.tensor(numbers(shape, "float64")) if shape else fw.tensor(0.5, dtype=fw.float64)
            with pytest.warns(UserWarning, match="^Implicit dimension choice for"):
                results.append(getattr(fw.nn.functional, name)(x).tolist())
        assert mini.allclose(mini.tensor(results[0]), mini.tensor(results[1]))


def test_the_old_flags_of_losses_say_what_they_mean() -> None:
    for flags in ({"size_average": False}, {"reduce": False}, {"size_average": True}):
        texts = []
        for fw in (mini, real):
            with pytest.warns(UserWarning, match="size_average and reduce args") as caught:
                fw.nn.functional.mse_loss(fw.ones(2), fw.ones(2), **flags)
            texts.append(str(caught[0].message))
        assert texts[0] == texts[1]
