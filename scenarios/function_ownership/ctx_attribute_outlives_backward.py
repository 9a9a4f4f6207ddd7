"""Backward releases saved tensors, but not plain attributes of ctx."""

from gradlife.scenario import Expect, scenario

AFTER = "backward done, output alive"
RELEASED = "backward releases what save_for_backward saved, node by node"
KEPT = "an attribute of ctx is plain Python: it lives as long as ctx, which lives as long as its node"


def watched_memory(lab, name):
    """A tensor on memory that can be watched in every release: a numpy array that only the storage holds."""
    array = lab.fw.ones(4).numpy()
    lab.watch(name, array)
    return lab.fw.from_numpy(array)


@scenario(
    title="A tensor on ctx outlives backward",
    origin=["pytorch/pytorch#153005", "dmlc/dgl#1060", "asappresearch/sru#171"],
    pattern="GL103",
    needs="numpy ctx_attributes none_gradients",
    expects=[
        Expect("mask's memory", "alive", probe="expiry", stage=AFTER, because=KEPT),
        Expect("ctx", "alive", probe="expiry", stage=AFTER, on="torch-*", because="the node lives on"),
        Expect("ctx", "del", on="torch-*"),
        Expect("mask's memory", "del", because="no cycle: it dies with the output"),
    ],
)
def ctx_attribute_outlives_backward(lab):
    """`ctx.mask = mask` in forward, and the loss is kept for logging after backward.

    Forward done: output -> grad_fn -> ctx -> mask. The name `mask` is gone; ctx alone keeps it.

    Backward done, output alive: the gradient is there and nobody needs the mask, but it is still in memory, because
    backward only releases saved tensors. Whoever keeps the output (a list of losses, a running average, the REPL's `_`)
    keeps every such attribute of every node behind it.

    Output dropped: everything goes at once by reference counts. This is no leak, it is memory kept too long.

    Fix: `ctx.save_for_backward(mask)`; any tensor may be given to it, inputs and outputs or not.
    """
    fw = lab.fw

    class Masked(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x, mask):
            ctx.mask = mask
            lab.watch("ctx", ctx)
            return x * mask

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.mask, None

    mask = watched_memory(lab, "mask's memory")
    y = Masked.apply(lab.tensor(requires_grad=True), mask).sum()
    del mask
    lab.stage("forward done")
    y.backward()
    lab.stage(AFTER)
    del y
    lab.stage("output dropped", all_names_gone=True)


@ctx_attribute_outlives_backward.fixed(
    title="A saved tensor goes with backward",
    fix="use ctx.save_for_backward(mask)",
    needs="numpy none_gradients",
    expects=[
        Expect("mask's memory", "dead", probe="expiry", stage=AFTER, because=RELEASED),
        Expect("ctx", "alive", probe="expiry", stage=AFTER, on="torch-*", because="the node lives on"),
        Expect("ctx", "del", on="torch-*"),
    ],
)
def ctx_saved_tensor_goes_with_backward(lab):
    """The same Function with `ctx.save_for_backward(mask)`.

    Forward done: the node's saved slot owns the mask. Backward done: the engine has released the slot right after it ran
    the node, so the mask's memory is free although the output, its node and ctx are all alive.
    """
    fw = lab.fw

    class Masked(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x, mask):
            ctx.save_for_backward(mask)
            lab.watch("ctx", ctx)
            return x * mask

        @staticmethod
        def backward(ctx, grad):
            (mask,) = ctx.saved_tensors
            return grad * mask, None

    mask = watched_memory(lab, "mask's memory")
    y = Masked.apply(lab.tensor(requires_grad=True), mask).sum()
    del mask
    lab.stage("forward done")
    y.backward()
    lab.stage(AFTER)
    del y
    lab.stage("output dropped", all_names_gone=True)
