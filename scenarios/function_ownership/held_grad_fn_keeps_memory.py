"""A grad_fn kept in a variable (a log, a graph printer) keeps the tensors that its node saved."""

from gradlife.scenario import Expect, scenario

HELD = "only grad_fn is held"
WEAK = "torch>=1.2,<2.13"
SHELL = "ctx has only a weak pointer to its node: the node and its saved slots went with the output"
OWNS = "whoever holds ctx holds the node, and the node its saved slots"


def watched_memory(lab, name):
    """A tensor on memory that can be watched in every release: a numpy array that only the storage holds."""
    array = lab.fw.ones(4).numpy()
    lab.watch(name, array)
    return lab.fw.from_numpy(array)


def scaling(lab):
    """A Function y = batch * weight that saves the batch."""

    class Scale(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, batch, weight):
            ctx.save_for_backward(batch)
            return batch * weight

        @staticmethod
        def backward(ctx, grad):
            (batch,) = ctx.saved_tensors
            return None, grad * batch

    return Scale


@scenario(
    title="A held grad_fn keeps saved memory",
    origin=["pytorch/pytorch#22983", "pytorch/pytorch#179924"],
    pattern="GL105",
    needs="numpy",
    expects=[
        Expect("batch's memory", "dead", probe="expiry", stage=HELD, on=WEAK, because=SHELL),
        Expect("batch's memory", "alive", probe="expiry", stage=HELD, on="torch-* oneflow-*", because=OWNS),
        Expect("batch's memory", "del", because="no cycle: it goes with the last holder"),
    ],
)
def held_grad_fn_keeps_memory(lab):
    """`history.append(loss.grad_fn)`: a handle to the graph for later drawing, and with it the batch.

    Only grad_fn is held: the output and the batch have no name any more. Does the batch's memory live on? In PyTorch 1.1
    it does (the node is a part of ctx), in 1.2 to 2.10 it does not (ctx has a weak pointer to its node only), and in
    2.13 it does again (ctx and node keep each other). An upgrade to 2.13 can so turn a harmless list of grad_fns into
    one that keeps every batch.

    grad_fn dropped: in every release the memory goes at once.

    Fix: keep what you want to know (`type(loss.grad_fn).__name__`, the shapes), not the node.
    """
    batch = watched_memory(lab, "batch's memory")
    y = scaling(lab).apply(batch, lab.tensor(requires_grad=True))
    node = y.grad_fn
    lab.stage("forward done")
    del y, batch
    lab.stage(HELD)
    del node
    lab.stage("grad_fn dropped", all_names_gone=True)


@held_grad_fn_keeps_memory.fixed(
    title="A held name of the grad_fn keeps nothing",
    fix="keep type(y.grad_fn).__name__ instead of y.grad_fn",
    expects=[
        Expect("batch's memory", "dead", probe="expiry", stage="only the name is held", because="text holds nothing"),
        Expect("batch's memory", "del"),
    ],
)
def held_name_keeps_nothing(lab):
    """The same program keeps the grad_fn's type name. Nothing leads to the graph, so it goes with the output."""
    batch = watched_memory(lab, "batch's memory")
    y = scaling(lab).apply(batch, lab.tensor(requires_grad=True))
    kept = type(y.grad_fn).__name__
    lab.stage("forward done")
    del y, batch
    lab.stage("only the name is held")
    del kept
    lab.stage("name dropped", all_names_gone=True)


@scenario(
    title="A held C++ grad_fn keeps saved memory",
    origin=["pytorch/pytorch#181782"],
    pattern="GL105",
    needs="numpy",
    expects=[
        Expect(
            "batch's memory",
            "alive",
            probe="expiry",
            stage=HELD,
            because="the wrapper of a C++ node owns the node in every release",
        ),
        Expect("batch's memory", "del"),
    ],
)
def held_cxx_grad_fn_keeps_memory(lab):
    """The same with a built-in operation, whose node is C++ and whose grad_fn is a wrapper that owns it.

    Here no release ever differed: wrapper -> node -> saved slot -> batch. That a custom Function's grad_fn behaved
    otherwise from 1.2 to 2.10 was the exception, not the rule.
    """
    batch = watched_memory(lab, "batch's memory")
    y = lab.tensor(requires_grad=True) * batch
    node = y.grad_fn
    lab.stage("forward done")
    del y, batch
    lab.stage(HELD)
    del node
    lab.stage("grad_fn dropped", all_names_gone=True)


@held_cxx_grad_fn_keeps_memory.fixed(
    title="Backward empties a held C++ grad_fn",
    fix="run backward before keeping the node, or do not keep it",
    expects=[
        Expect(
            "batch's memory",
            "dead",
            probe="expiry",
            stage=HELD,
            because="backward released the saved slot, the node is a husk",
        ),
        Expect("batch's memory", "del"),
    ],
)
def held_cxx_grad_fn_after_backward(lab):
    """The same node after backward: its slots are empty, so holding it costs a few hundred bytes and no batch."""
    batch = watched_memory(lab, "batch's memory")
    y = lab.tensor(requires_grad=True) * batch
    node = y.grad_fn
    y.sum().backward()
    lab.stage("backward done")
    del y, batch
    lab.stage(HELD)
    del node
    lab.stage("grad_fn dropped", all_names_gone=True)
