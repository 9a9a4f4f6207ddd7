"""Weights computed from the previous weights: each update adds an operation to one growing graph."""

from gradlife.scenario import Expect, scenario

DONE = "three updates done"


def watched_batch(lab, number):
    """A batch of ones; the first one's memory is watched."""
    array = lab.fw.ones(4).numpy()
    if number == 0:
        lab.watch("first batch's memory", array)
    return lab.fw.from_numpy(array)


def slope(lab, weight, number, create_graph):
    """The gradient of one batch's loss."""
    hidden = weight * watched_batch(lab, number)
    (gradient,) = lab.fw.autograd.grad((hidden * hidden).sum(), weight, create_graph=create_graph)
    return gradient


@scenario(
    title="fast weights of an inner loop",
    origin=["facebookresearch/higher#48", "metaopt/torchopt#113"],
    pattern="GL408",
    needs="numpy",
    expects=[
        Expect(
            "first batch's memory",
            "alive",
            probe="expiry",
            stage=DONE,
            because="weights -> update 3 -> update 2 -> update 1 -> its gradient's graph -> saved batch",
        ),
        Expect("first batch's memory", "del", because="a chain, not a cycle", on="torch-* mini:oneflow-*"),
    ],
)
def fast_weights_keep_every_update(lab):
    """Meta-learning: `fast = fast - lr * grad(loss, fast, create_graph=True)`, for as many tasks as come.

    Three updates done: `create_graph` gives each gradient a graph, since the outer loss is to be differentiated through
    the update. So the new weights' grad_fn leads to the old weights and to the gradient's graph, with all that it saved.
    Within one task this is wanted. Carried over to the next task it is a chain that grows with each.

    Weights dropped: the chain goes by reference counts.

    Fix: start each task from `weights.detach().requires_grad_()`.
    """
    weights = lab.tensor(requires_grad=True)
    for number in range(3):
        weights = weights - 0.1 * slope(lab, weights, number, create_graph=True)
    lab.stage(DONE)
    lab.value("weights", weights)
    del weights
    lab.stage("weights dropped", all_names_gone=True)


@fast_weights_keep_every_update.fixed(
    title="fast weights detached between tasks",
    fix="fast = fast.detach().requires_grad_() before the next task",
    expects=[
        Expect(
            "first batch's memory", "dead", probe="expiry", stage=DONE, because="the old weights went, graph and all"
        ),
        Expect("first batch's memory", "del"),
    ],
)
def fast_weights_detached(lab):
    """The same updates; each task ends with its weights as a new leaf."""
    weights = lab.tensor(requires_grad=True)
    for number in range(3):
        weights = weights - 0.1 * slope(lab, weights, number, create_graph=True)
        weights = weights.detach().requires_grad_()
    lab.stage(DONE)
    lab.value("weights", weights)
    del weights
    lab.stage("weights dropped", all_names_gone=True)


@scenario(
    title="an update of weights with gradients on",
    origin=["pytorch/functorch#639"],
    pattern="GL408",
    needs="numpy",
    expects=[
        Expect(
            "first batch's memory", "dead", probe="expiry", stage=DONE, because="without create_graph its graph is gone"
        ),
        Expect(
            "first update's node",
            "alive",
            probe="expiry",
            stage=DONE,
            on="torch-*",
            because="weights -> update 3 -> update 2 -> update 1",
        ),
        Expect("first update's node", "del", on="torch-*"),
    ],
)
def update_with_gradients_on(lab):
    """A hand-written optimizer: `weights = weights - lr * gradient`, outside `no_grad`. The milder form.

    Three updates done: the gradient has no graph, but the weights require one, so the subtraction is recorded: each
    weights' grad_fn has an edge to the former one's. Nothing is saved for a subtraction, so it costs a node a step and no
    batch; but the weights are no leaf any more, a later backward runs through all updates, and `.grad` stays None.

    Fix: update under `no_grad`, in place; or detach the result.
    """
    weights = lab.tensor(requires_grad=True)
    for number in range(3):
        weights = weights - 0.1 * slope(lab, weights, number, create_graph=False)
        if number == 0:
            lab.watch("first update's node", weights.grad_fn)
    lab.value("is a leaf", weights.is_leaf)
    lab.stage(DONE)
    del weights
    lab.stage("weights dropped", all_names_gone=True)


@update_with_gradients_on.fixed(
    title="an update of weights under no_grad",
    fix="with torch.no_grad(): weights -= lr * gradient",
    expects=[
        Expect("is a leaf", True, probe="value", because="an update in place keeps the object and its being a leaf"),
        Expect("first batch's memory", "dead", probe="expiry", stage=DONE),
        Expect("first batch's memory", "del"),
    ],
)
def update_under_no_grad(lab):
    """The same update in place under `no_grad`: the leaf stays one, and there is no node to keep."""
    weights = lab.tensor(requires_grad=True)
    for number in range(3):
        gradient = slope(lab, weights, number, create_graph=False)
        with lab.fw.no_grad():
            weights -= 0.1 * gradient
    lab.value("is a leaf", weights.is_leaf)
    lab.stage(DONE)
    del weights, gradient
    lab.stage("weights dropped", all_names_gone=True)
