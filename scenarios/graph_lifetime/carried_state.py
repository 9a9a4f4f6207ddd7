"""A state carried from step to step with its history, and how to cut it."""

from gradlife.scenario import Expect, scenario

DONE = "three steps done"


def watched_batch(lab, number):
    """A batch of ones; the first one's memory is watched."""
    array = lab.fw.ones(4).numpy()
    if number == 0:
        lab.watch("first batch's memory", array)
    return lab.fw.from_numpy(array)


@scenario(
    title="A recurrent state keeps every step",
    origin=["pytorch/pytorch#2198", "pytorch/pytorch#1536"],
    pattern="GL404",
    needs="numpy",
    expects=[
        Expect(
            "first batch's memory",
            "alive",
            probe="expiry",
            stage=DONE,
            because="state 3 -> state 2 -> state 1 -> its saved batch",
        ),
        Expect("first batch's memory", "del", because="a chain, not a cycle"),
    ],
)
def state_keeps_every_step(lab):
    """`state = state + weight * batch` from batch to batch, as a recurrent network carries its hidden state.

    Three steps done: the state's grad_fn has an edge to the former state's, and so on to the first step. With
    `retain_graph=True` (added because without it the second backward raises) no buffer is ever released: memory and
    time grow with each step. State dropped: the chain goes by reference counts.

    Fix: `state = state.detach()` between the steps.
    """
    weight = lab.tensor(requires_grad=True)
    state = lab.tensor()
    for number in range(3):
        state = state + weight * watched_batch(lab, number)
        state.sum().backward(retain_graph=True)
    lab.stage(DONE)
    lab.value("gradient", weight.grad)
    del state
    lab.stage("state dropped", all_names_gone=True)


@state_keeps_every_step.fixed(
    title="A recurrent state detached between steps",
    fix="state = state.detach() between the steps",
    expects=[
        Expect(
            "first batch's memory",
            "dead",
            probe="expiry",
            stage=DONE,
            because="the state of step 1 was the last owner of its graph",
        ),
        Expect("gradient", [3.0] * 4, probe="value"),
    ],
)
def state_detached_between_steps(lab):
    """The same loop detaches the state: each step's graph begins anew and is freed by its own backward."""
    weight = lab.tensor(requires_grad=True)
    state = lab.tensor()
    for number in range(3):
        state = state.detach() + weight * watched_batch(lab, number)
        state.sum().backward()
    lab.stage(DONE)
    lab.value("gradient", weight.grad)
    del state
    lab.stage("state dropped", all_names_gone=True)


@scenario(
    title="An evaluation with gradients on",
    origin=["pytorch/pytorch#17568"],
    pattern="GL406",
    needs="numpy",
    expects=[
        Expect(
            "activation's memory",
            "alive",
            probe="expiry",
            stage="output alive",
            because="the next product saved it for the weight's gradient",
        ),
        Expect("activation's memory", "del"),
    ],
)
def evaluation_with_gradients(lab):
    """A prediction is computed and kept; nobody wants a gradient.

    Output alive: the weight requires a gradient, so every product saves its factors. The activation has no name any more
    and lives on in a slot, for as long as the prediction does. Output dropped: all goes.

    Fix: `with torch.no_grad():`.
    """
    weight = lab.tensor(requires_grad=True)
    array = lab.fw.ones(4).numpy()
    lab.watch("activation's memory", array)
    activation = lab.fw.from_numpy(array)
    del array
    output = activation * weight
    del activation
    lab.stage("output alive")
    del output
    lab.stage("output dropped", all_names_gone=True)


@evaluation_with_gradients.fixed(
    title="An evaluation under no_grad",
    fix="with torch.no_grad()",
    expects=[
        Expect(
            "activation's memory",
            "dead",
            probe="expiry",
            stage="output alive",
            because="no node, no slot: it went with its name",
        ),
        Expect("activation's memory", "del"),
    ],
)
def evaluation_without_gradients(lab):
    """The same computation under no_grad: no graph is built, and each activation goes with its last name."""
    weight = lab.tensor(requires_grad=True)
    array = lab.fw.ones(4).numpy()
    lab.watch("activation's memory", array)
    activation = lab.fw.from_numpy(array)
    del array
    with lab.fw.no_grad():
        output = activation * weight
    del activation
    lab.stage("output alive")
    del output
    lab.stage("output dropped", all_names_gone=True)
