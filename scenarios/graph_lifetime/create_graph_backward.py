"""backward(create_graph=True): the gradient has a graph, which leads to the leaf, and the leaf owns the gradient."""

import warnings

from gradlife.scenario import Expect, scenario

CYCLE = "leaf -> .grad -> its grad_fn -> saved leaf (and its accumulator) -> leaf, all of it C++"


def watched_leaf(lab, name):
    """A leaf over memory whose death can be watched in every release: a numpy array that only the storage holds."""
    array = lab.fw.ones(4).numpy()
    lab.watch(name, array)
    return lab.fw.from_numpy(array).requires_grad_()


@scenario(
    title="backward(create_graph=True) makes a cycle",
    origin=["pytorch/pytorch#7343", "pytorch/pytorch#4661", "pytorch/pytorch#3818", "pytorch/pytorch#24368"],
    pattern="GL405",
    needs="numpy",
    expects=[Expect("leaf's memory", "never", because=CYCLE)],
)
def create_graph_backward_cycle(lab):
    """A gradient penalty written with `loss.backward(create_graph=True)`.

    Backward done: `x.grad` is no bare tensor any more; it has a grad_fn, the graph of the backward pass. That graph saved
    x, because the gradient of x ** 3 depends on x. So x owns its .grad, the .grad owns its graph, and the graph owns x.

    Names dropped: every edge is C++. The collector sees none of it, reference counts are stuck: x, its gradient, and all
    that the graph saved are lost for the life of the process, in every release of PyTorch and OneFlow. PyTorch warns
    about it since 1.11.

    Fix: `autograd.grad(loss, x, create_graph=True)`, which stores nothing on the leaf; or `x.grad = None` after use.
    """
    x = watched_leaf(lab, "leaf's memory")
    y = (x * x * x).sum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y.backward(create_graph=True)
    lab.stage("backward done")
    del y
    lab.stage("output dropped")
    del x
    lab.stage("names dropped", all_names_gone=True)


@create_graph_backward_cycle.fixed(
    title="The gradient taken off after use",
    fix="x.grad = None when the second derivative is done",
    expects=[Expect("leaf's memory", "del", because="the edge leaf -> .grad is cut")],
)
def create_graph_backward_grad_dropped(lab):
    """The same program ends its step with `x.grad = None`: the one edge of the cycle that Python can reach."""
    x = watched_leaf(lab, "leaf's memory")
    y = (x * x * x).sum()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        y.backward(create_graph=True)
    lab.stage("backward done")
    x.grad = None
    lab.stage("gradient taken off")
    del x, y
    lab.stage("names dropped", all_names_gone=True)


@create_graph_backward_cycle.fixed(
    title="autograd.grad instead of backward",
    fix="autograd.grad(loss, x, create_graph=True)",
    expects=[Expect("leaf's memory", "del", because="the gradient is a local name, not a part of the leaf")],
)
def create_graph_by_autograd_grad(lab):
    """The same derivative by `autograd.grad`. The gradient's graph owns x, but x does not own the gradient: no cycle."""
    x = watched_leaf(lab, "leaf's memory")
    y = (x * x * x).sum()
    (slope,) = lab.fw.autograd.grad(y, x, create_graph=True)
    lab.value("slope", slope)
    lab.stage("gradient taken")
    del slope, x, y
    lab.stage("names dropped", all_names_gone=True)


@scenario(
    title="Double backward and who owns what",
    origin=["pytorch/pytorch#7343"],
    needs="numpy",
    expects=[
        Expect(
            "factor's memory",
            "alive",
            probe="expiry",
            stage="output dropped",
            on="torch-*",
            because="the gradient's graph saved the factor for itself",
        ),
        Expect(
            "factor's memory",
            "dead",
            probe="expiry",
            stage="differentiated twice",
            on="torch-*",
            because="the second backward released its slots",
        ),
        Expect("second gradient", [2.0] * 4, probe="value", on="torch-*"),
        Expect("factor's memory", "del", on="torch-*"),
    ],
)
def double_backward_ownership(lab):
    """The first derivative with create_graph, the output dropped, then the second derivative.

    Gradient taken: create_graph implies that the first graph is retained, and the backward pass is itself recorded: the
    gradient's graph has slots of its own, in which the factor was saved again. Output dropped: nothing of the first
    graph is needed by name, but the factor lives, in the second graph's slots. Differentiated twice: those slots were
    released as their nodes ran, and the factor's memory is free although the gradient has a name still.
    """
    fw = lab.fw
    array = fw.ones(4).numpy()
    lab.watch("factor's memory", array)
    factor = fw.from_numpy(array)
    x = lab.tensor(requires_grad=True)
    scaled = x * factor
    y = (scaled * scaled).sum()
    del factor, array, scaled
    (slope,) = fw.autograd.grad(y, x, create_graph=True)
    lab.stage("gradient taken")
    del y
    lab.stage("output dropped")
    slope.sum().backward()
    lab.value("second gradient", x.grad)
    lab.stage("differentiated twice")
    del slope, x
    lab.stage("names dropped", all_names_gone=True)
