"""A hook on an early tensor that closes over something computed from the tensor later."""

from gradlife.scenario import Expect, scenario


class Box:
    """Holds the result that the hook wants to look at."""

    result = None


def over(box):
    """A hook that holds a box."""

    def hook(grad):
        return None if box.result is None else grad * 1

    return hook


@scenario(
    title="A weight's hook over the loss",
    origin=["pytorch/pytorch#84711", "pytorch/pytorch#12863"],
    pattern="GL353",
    expects=[
        Expect(
            "hook",
            "never",
            on="torch-* oneflow-0.9",
            because="loss -> nodes -> accumulator -> leaf is C++ from end to end",
        ),
        Expect("loss", "never", on="torch-*"),
    ],
)
def leaf_hook_over_loss(lab):
    """A hook on a weight that looks at the loss of the step, to log both together.

    Hook registered: weight -> hook -> box -> loss -> nodes -> accumulator -> weight. The first half is Python, the second
    half is a chain of C++ nodes, and the accumulator at its end owns the weight.

    Names dropped: in the middle of a training this needs no further root, for the model holds the weight; here even
    without a model it is lost in every release (`never`), because the collector sees nothing of the nodes. Each step
    that registers such a hook keeps its whole graph.

    Fix: put the number into the box (`loss.item()`), or remove the hook at the end of the step.
    """
    weight = lab.tensor(requires_grad=True)
    box = Box()
    hook = over(box)
    weight.register_hook(hook)
    loss = (weight * 2).sum()
    box.result = loss
    lab.watch("hook", hook)
    lab.watch("loss", loss)
    del hook, box
    lab.stage("hook registered")
    loss.backward()
    lab.stage("backward done")
    del loss, weight
    lab.stage("names dropped", all_names_gone=True)


@leaf_hook_over_loss.fixed(
    title="A weight's hook over the loss's number",
    fix="hold loss.item()",
    expects=[
        Expect("hook", "del", on="torch-*"),
        Expect("loss", "del", on="torch-*", because="a number leads nowhere"),
    ],
)
def leaf_hook_over_number(lab):
    """The same hook with the loss's number in its box."""
    weight = lab.tensor(requires_grad=True)
    box = Box()
    hook = over(box)
    weight.register_hook(hook)
    loss = (weight * 2).sum()
    box.result = loss.item()
    lab.watch("hook", hook)
    lab.watch("loss", loss)
    del hook, box
    lab.stage("hook registered")
    loss.backward()
    lab.stage("backward done")
    del loss, weight
    lab.stage("names dropped", all_names_gone=True)


@leaf_hook_over_loss.fixed(
    title="A weight's hook removed at the end of the step",
    fix="handle.remove() at the end of the step",
    expects=[Expect("hook", "del", on="torch-*"), Expect("loss", "del", on="torch-*")],
)
def leaf_hook_removed(lab):
    """The same hook over the loss, removed after backward: the way from the weight to the loss is cut."""
    weight = lab.tensor(requires_grad=True)
    box = Box()
    hook = over(box)
    handle = weight.register_hook(hook)
    loss = (weight * 2).sum()
    box.result = loss
    lab.watch("hook", hook)
    lab.watch("loss", loss)
    del hook, box
    loss.backward()
    lab.stage("backward done")
    lab.attempt("remove", lambda: handle.remove())
    del loss, weight, handle
    lab.stage("names dropped", all_names_gone=True)


@scenario(
    title="A hook for each step on one weight",
    origin=["pytorch/pytorch#4661"],
    pattern="GL355",
    needs="numpy",
    expects=[
        Expect(
            "first batch's memory",
            "alive",
            probe="expiry",
            stage="three steps done",
            on="torch-*",
            because="weight -> hook of step 1 -> batch 1",
        ),
        Expect(
            "hooks run in step 3",
            3,
            probe="value",
            stage="three steps done",
            on="torch-*",
            because="every hook so far runs again",
        ),
        Expect(
            "first batch's memory", "held", on="torch-*", because="the model holds the weight, and the weight its hooks"
        ),
    ],
)
def hook_for_each_step(lab):
    """`weight.register_hook(lambda grad: use(grad, batch))` inside the training loop, and no remove.

    Three steps done: the weight's dictionary has three hooks, each with its step's batch in its closure, and all three
    run in the third step. No cycle, no C++: a plain holder, which grows by a batch a step and by a call a step.

    Fix: register once and pass the batch along, or remove the hook at the end of each step.
    """
    weight = lab.tensor(requires_grad=True)
    lab.hold(weight)
    calls = []
    for step in range(3):
        del calls[:]
        train_step(lab, weight, step, calls)
    lab.value("hooks run in step 3", len(calls))
    lab.stage("three steps done")
    del weight
    lab.stage("only the model holds the weight", all_names_gone=True)


def train_step(lab, weight, step, calls):
    """One step; returns the handle of the hook that it registered."""
    array = lab.fw.ones(4).numpy()
    if step == 0:
        lab.watch("first batch's memory", array)
    batch = lab.fw.from_numpy(array)
    handle = weight.register_hook(lambda grad: calls.append(batch.numel()))
    (weight * batch).sum().backward()
    return handle


@hook_for_each_step.fixed(
    title="A hook for each step, removed at its end",
    fix="handle.remove() at the end of each step",
    expects=[
        Expect("first batch's memory", "dead", probe="expiry", stage="three steps done", on="torch-*"),
        Expect("hooks run in step 3", 1, probe="value", stage="three steps done", on="torch-*"),
        Expect("first batch's memory", "del", on="torch-*"),
    ],
)
def hook_for_each_step_removed(lab):
    """The same loop removes each hook: no batch outlives its step, and one hook runs in each."""
    weight = lab.tensor(requires_grad=True)
    lab.hold(weight)
    calls = []
    for step in range(3):
        del calls[:]
        handle = train_step(lab, weight, step, calls)
        if handle is not None:
            handle.remove()
    lab.value("hooks run in step 3", len(calls))
    lab.stage("three steps done")
    del weight, handle
    lab.stage("only the model holds the weight", all_names_gone=True)
