"""Losses kept for a report: each scalar is four bytes, and keeps a graph."""

from gradlife.scenario import Expect, scenario

DONE = "three batches done"
RELEASED = "backward released the saved batch; what is kept is the node"


def step(lab, weight, number, backward):
    """The loss of one batch; the memory and the node of the first are watched."""
    array = lab.fw.ones(4).numpy()
    if number == 0:
        lab.watch("first batch's memory", array)
    batch = lab.fw.from_numpy(array)
    loss = (weight * batch).sum()
    if number == 0:
        lab.watch("first node", loss.grad_fn)
    if backward:
        loss.backward()
    return loss


@scenario(
    title="A list of validation losses keeps every batch",
    origin=["wandb/wandb#354", "horovod/horovod#641", "pytorch/pytorch#17568"],
    pattern="GL402",
    needs="numpy",
    expects=[
        Expect(
            "first batch's memory",
            "alive",
            probe="expiry",
            stage=DONE,
            because="loss -> sum node -> product node -> saved batch",
        ),
        Expect("first batch's memory", "held", because="the list of losses is the root"),
        Expect("first node", "held", on="torch-*"),
    ],
)
def validation_losses_kept(lab):
    """`losses.append(loss)` in a loop that never calls backward, with gradients on.

    Three batches done: each loss owns its grad_fn, that node owns an edge to the product's node, whose saved slot owns
    the batch (the weight's gradient needs it). No backward runs, so nothing releases the slots. The list grows by four
    bytes a step and keeps a batch, and all activations, a step.

    List alone: nothing is lost, all of it is reachable from the list (`held`), and goes when the list goes.

    Fix: `losses.append(loss.item())`, and `with torch.no_grad():` around the loop.
    """
    weight = lab.tensor(requires_grad=True)
    losses = []
    lab.hold(losses)
    for number in range(3):
        losses.append(step(lab, weight, number, backward=False))
    lab.stage(DONE)
    del losses
    lab.stage("list alone", all_names_gone=True)


@validation_losses_kept.fixed(
    title="A list of numbers",
    fix="losses.append(loss.item())",
    expects=[
        Expect(
            "first batch's memory",
            "dead",
            probe="expiry",
            stage=DONE,
            because="the graph went with the loss, in its own step",
        ),
        Expect("first batch's memory", "del"),
        Expect("first node", "del", on="torch-*"),
    ],
)
def validation_numbers_kept(lab):
    """The same loop keeps numbers: each graph goes at the end of its step."""
    weight = lab.tensor(requires_grad=True)
    losses = []
    lab.hold(losses)
    for number in range(3):
        losses.append(step(lab, weight, number, backward=False).item())
    lab.stage(DONE)
    lab.value("losses", losses)
    del losses
    lab.stage("list alone", all_names_gone=True)


@validation_losses_kept.fixed(
    title="Validation without gradients",
    fix="with torch.no_grad() around the loop",
    expects=[Expect("first batch's memory", "dead", probe="expiry", stage=DONE, because="no graph was built")],
)
def validation_without_gradients(lab):
    """The same loop under no_grad: the kept losses are bare scalars without a grad_fn."""
    weight = lab.tensor(requires_grad=True)
    losses = []
    lab.hold(losses)
    for _ in range(3):
        array = lab.fw.ones(4).numpy()
        if not losses:
            lab.watch("first batch's memory", array)
        with lab.fw.no_grad():
            losses.append((weight * lab.fw.from_numpy(array)).sum())
        del array
    lab.value("losses with a graph", [loss.grad_fn is not None for loss in losses])
    lab.stage(DONE)
    del losses
    lab.stage("list alone", all_names_gone=True)


@scenario(
    title="A list of training losses keeps every node",
    origin=["wandb/wandb#354", "pytorch/pytorch#17568"],
    pattern="GL402",
    needs="numpy",
    expects=[
        Expect("first batch's memory", "dead", probe="expiry", stage=DONE, because=RELEASED),
        Expect(
            "first node",
            "alive",
            probe="expiry",
            stage=DONE,
            on="torch-*",
            because="loss -> node: backward frees slots, not nodes",
        ),
        Expect("first node", "held", on="torch-*"),
    ],
)
def training_losses_kept(lab):
    """`losses.append(loss)` after backward: the milder form, which hides for longer.

    Three batches done: backward released every saved slot, so no batch is kept. But each loss still owns its graph's
    nodes, with their hooks, their metadata, and for custom Functions ctx with its attributes. It grows by some hundred
    bytes a step, in memory that no tensor profiler counts.

    Fix: `losses.append(loss.item())` or `loss.detach()`.
    """
    weight = lab.tensor(requires_grad=True)
    losses = []
    lab.hold(losses)
    for number in range(3):
        losses.append(step(lab, weight, number, backward=True))
    lab.stage(DONE)
    del losses
    lab.stage("list alone", all_names_gone=True)


@training_losses_kept.fixed(
    title="A list of detached losses",
    fix="losses.append(loss.detach())",
    expects=[
        Expect(
            "first node", "dead", probe="expiry", stage=DONE, on="torch-*", because="a detached loss has no grad_fn"
        ),
        Expect("first node", "del", on="torch-*"),
    ],
)
def training_losses_detached(lab):
    """The same loop keeps detached scalars, without waiting for their values as item() does."""
    weight = lab.tensor(requires_grad=True)
    losses = []
    lab.hold(losses)
    for number in range(3):
        losses.append(step(lab, weight, number, backward=True).detach())
    lab.stage(DONE)
    del losses
    lab.stage("list alone", all_names_gone=True)


@scenario(
    title="A running total chains every step",
    origin=["pytorch/pytorch#17568", "horovod/horovod#641"],
    pattern="GL403",
    needs="numpy",
    expects=[
        Expect(
            "first batch's memory",
            "alive",
            probe="expiry",
            stage=DONE,
            because="total -> add -> add -> loss 1 -> saved batch",
        ),
        Expect("first batch's memory", "del", because="no cycle: the total's death frees the whole chain"),
    ],
)
def running_total_keeps_every_graph(lab):
    """`total = total + loss` for the mean at the end.

    Three batches done: each total is the sum of the total before and a loss, so its node has an edge to the former
    total's node and one to the loss's: a chain with one link a step, each with its step's graph behind it. A single
    scalar keeps everything since the start.

    Total dropped: the chain goes by reference counts, link by link; deep chains must not be freed by recursion.

    Fix: `total += loss.item()`.
    """
    weight = lab.tensor(requires_grad=True)
    total = 0
    for number in range(3):
        total = total + step(lab, weight, number, backward=False)
    lab.stage(DONE)
    lab.value("total", total)
    del total
    lab.stage("total dropped", all_names_gone=True)


@running_total_keeps_every_graph.fixed(
    title="A running total of numbers",
    fix="total += loss.item()",
    expects=[Expect("first batch's memory", "dead", probe="expiry", stage=DONE), Expect("first batch's memory", "del")],
)
def running_total_of_numbers(lab):
    """The same mean over numbers."""
    weight = lab.tensor(requires_grad=True)
    total = 0.0
    for number in range(3):
        total += step(lab, weight, number, backward=False).item()
    lab.stage(DONE)
    lab.value("total", total)
    lab.stage("total dropped", all_names_gone=True)
