"""An optimizer owns the parameters that it was given, and its state owns them a second time."""

from gradlife.scenario import Expect, scenario

GROUPS = "optimizer -> param_groups -> parameter"
STATE = "optimizer -> state, whose keys are the parameters themselves"


class Model:
    """A body and a head; a module would do the same."""

    def __init__(self, nn):
        self.body = nn.Linear(4, 4)
        self.head = nn.Linear(4, 1)


def optimizer_for(lab, model):
    """An optimizer with momentum, so with a state, over both parts of a model, one group each."""
    groups = [{"params": list(model.body.parameters())}, {"params": list(model.head.parameters())}]
    return lab.fw.optim.SGD(groups, lr=0.1, momentum=0.9)


def train(lab, model, optimizer):
    """One step."""
    optimizer.zero_grad()
    model.head(model.body(lab.fw.ones(2, 4))).sum().backward()
    optimizer.step()


@scenario(
    title="an optimizer keeps a replaced head",
    origin=["online-ml/deep-river#169", "deepspeedai/DeepSpeed#6729", "ContinualAI/avalanche#1609"],
    pattern="GL601",
    needs="nn.Module optim.SGD added_param_groups",
    expects=[
        Expect("old weight", "alive", probe="expiry", stage="head replaced", on="torch-*", because=GROUPS),
        Expect("old weight", "held", on="torch-*", because="the optimizer is the root"),
        Expect(
            "old weight.storage", "held", on="torch-2.*", because="the memory, its gradient's and its momentum's too"
        ),
    ],
)
def replaced_head_in_the_optimizer(lab):
    """`model.head = Linear(...)` for a new set of classes; the optimizer gets the new head and keeps the old one.

    Head replaced: the module lets the old head go, but the optimizer holds its parameters: in the list that it steps
    through, and as keys of its state, beside their momentum. The old weights even get smaller by weight decay at each
    step, with the last gradient that they ever got.

    Model and new head dropped: with each replacement three times the head's size stays, as long as the optimizer does.

    Fix: make a new optimizer, or take the group out and its parameters out of the state.
    """
    model = Model(lab.fw.nn)
    optimizer = optimizer_for(lab, model)
    lab.hold(optimizer)
    train(lab, model, optimizer)
    lab.watch("old weight", model.head.weight)
    lab.stage("trained")
    model.head = lab.fw.nn.Linear(4, 2)
    optimizer.add_param_group({"params": list(model.head.parameters())})
    train(lab, model, optimizer)
    lab.stage("head replaced")
    del model, optimizer
    lab.stage("optimizer alone", all_names_gone=True)


@replaced_head_in_the_optimizer.fixed(
    title="a replaced head taken out of the groups only",
    fix="optimizer.param_groups.pop(): half of the fix, the state still has it",
    expects=[
        Expect("old weight", "alive", probe="expiry", stage="head replaced", on="torch-*", because=STATE),
        Expect("old weight", "held", on="torch-*"),
    ],
)
def replaced_head_out_of_the_groups(lab):
    """The half fix: the group is taken out, so the old head is stepped no more. But the state is a dictionary from
    parameters to their momentum, and its keys keep the parameters alive."""
    model = Model(lab.fw.nn)
    optimizer = optimizer_for(lab, model)
    lab.hold(optimizer)
    train(lab, model, optimizer)
    lab.watch("old weight", model.head.weight)
    lab.stage("trained")
    model.head = lab.fw.nn.Linear(4, 2)
    optimizer.param_groups.pop()
    optimizer.add_param_group({"params": list(model.head.parameters())})
    train(lab, model, optimizer)
    lab.stage("head replaced")
    del model, optimizer
    lab.stage("optimizer alone", all_names_gone=True)


@replaced_head_in_the_optimizer.fixed(
    title="a replaced head taken out of groups and state",
    fix="pop the group, and del optimizer.state[p] for its parameters",
    needs="nn.Module optim.SGD added_param_groups param_group_items",
    expects=[
        Expect(
            "old weight",
            "dead",
            probe="expiry",
            stage="head replaced",
            on="torch-*",
            because="nobody is left to hold it",
        ),
        Expect("old weight", "del", on="torch-*"),
    ],
)
def replaced_head_out_of_groups_and_state(lab):
    """The whole fix: both owners let go, and the head goes by reference counts."""
    model = Model(lab.fw.nn)
    optimizer = optimizer_for(lab, model)
    lab.hold(optimizer)
    train(lab, model, optimizer)
    lab.watch("old weight", model.head.weight)
    lab.stage("trained")
    model.head = lab.fw.nn.Linear(4, 2)
    for parameter in optimizer.param_groups.pop()["params"]:
        del optimizer.state[parameter]
    del parameter
    optimizer.add_param_group({"params": list(model.head.parameters())})
    train(lab, model, optimizer)
    lab.stage("head replaced")
    del model, optimizer
    lab.stage("optimizer alone", all_names_gone=True)


@scenario(
    title="an optimizer's function over the optimizer",
    origin=["rohitrango/FireANTs#107"],
    pattern="GL602",
    needs="nn.Module optim.SGD",
    expects=[
        Expect("weight", "gc", on="torch-*", because="optimizer -> its attribute -> function -> closure -> optimizer"),
    ],
)
def optimizer_in_its_own_closure(lab):
    """An optimizer is given a function that needs the optimizer: a smoothing of gradients, a schedule, a step counter.

    Set up: `optimizer.smooth = lambda grad: grad * optimizer.param_groups[0]["lr"]` is a ring of two: the optimizer owns
    the function, the function's closure owns the optimizer. Its groups own all parameters of the model.

    Dropped: a fit of one small model per image leaves model, gradients and momentum behind each time, until the
    collector comes.

    Fix: let the function have the number that it needs, or take the optimizer as an argument.
    """

    def build():
        layer = lab.fw.nn.Linear(4, 1)
        lab.watch("weight", layer.weight)
        optimizer = lab.fw.optim.SGD(layer.parameters(), lr=0.1)
        optimizer.smooth = lambda grad: grad * optimizer.param_groups[0]["lr"]
        return optimizer

    optimizer = build()
    lab.value("smoothed", optimizer.smooth(1.0))
    lab.stage("set up")
    del optimizer
    lab.stage("dropped", all_names_gone=True)


@optimizer_in_its_own_closure.fixed(
    title="an optimizer's function over a number",
    fix="let the function close over the number",
    expects=[Expect("weight", "del", on="torch-*", because="no way back to the optimizer")],
)
def optimizer_with_a_number_in_its_closure(lab):
    """The same function closes over the learning rate."""

    def build():
        layer = lab.fw.nn.Linear(4, 1)
        lab.watch("weight", layer.weight)
        optimizer = lab.fw.optim.SGD(layer.parameters(), lr=0.1)
        rate = optimizer.param_groups[0]["lr"]
        optimizer.smooth = lambda grad: grad * rate
        return optimizer

    optimizer = build()
    lab.value("smoothed", optimizer.smooth(1.0))
    lab.stage("set up")
    del optimizer
    lab.stage("dropped", all_names_gone=True)
