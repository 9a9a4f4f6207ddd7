"""A Function that stores its input on ctx: kept longer than needed, but freed."""

from gradlife.scenario import Expect, scenario

FORWARD = "input's name dropped"


def doubling(lab, keep):
    """A Function y = 2x that calls keep(ctx, x) in forward."""

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            keep(ctx, x)
            lab.watch("ctx", ctx)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Double


def tell(lab, keep):
    """Send an activation through the Function, drop its name, and run backward."""
    x = lab.tensor(requires_grad=True) + 1
    lab.watch("x", x)
    y = doubling(lab, keep).apply(x)
    del x
    lab.stage(FORWARD)
    y.sum().backward()
    lab.stage("backward done")
    del y
    lab.stage("output dropped", all_names_gone=True)


@scenario(
    title="ctx keeps its input",
    origin=["pytorch/pytorch#25340", "pytorch/pytorch#153005"],
    pattern="GL103",
    needs="ctx_attributes",
    expects=[
        Expect(
            "x",
            "alive",
            probe="expiry",
            stage="backward done",
            on="torch-*",
            because="an attribute of ctx is no saved tensor",
        ),
        Expect("ctx", "del", because="the input leads to earlier nodes, never back to this one"),
        Expect("x", "del", on="torch-*"),
    ],
)
def ctx_keeps_input(lab):
    """`ctx.x = x` where x is the input: the look-alike of `ctx_keeps_output` that does not leak.

    Input's name dropped: output -> node -> ctx -> x -> x's own node, which came earlier. A graph has no way forward, from
    a tensor to what was computed from it, so nothing leads from x back to this node: a chain, no cycle.

    Backward done: what this costs is time. The input stays until the node goes, although its last use is over.

    Fix: `ctx.save_for_backward(x)`.
    """

    def keep(ctx, x):
        ctx.x = x

    tell(lab, keep)


@ctx_keeps_input.fixed(
    title="ctx saves its input",
    fix="use ctx.save_for_backward(x)",
    needs="",
    expects=[
        Expect("x", "dead", probe="expiry", stage="backward done", on="torch-*", because="backward released the slot"),
        Expect("ctx", "del"),
    ],
)
def ctx_saves_input(lab):
    """The same Function saves its input: the slot keeps it until backward has run, and no longer."""
    tell(lab, lambda ctx, x: ctx.save_for_backward(x))
