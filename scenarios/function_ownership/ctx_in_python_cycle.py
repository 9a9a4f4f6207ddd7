"""A Python object that holds ctx and is stored on it: the collector may break this cycle only after the graph died."""

from gradlife.scenario import Expect, scenario


class Helper:
    """Something a Function keeps on its ctx that knows the ctx: a cache, a handle, a bound method."""

    def __init__(self, ctx):
        self.ctx = ctx
        self.factor = 2.0


class Detached:
    """The same helper without a way back."""

    factor = 2.0


def scaling(lab, make_helper):
    """A Function y = 2x that keeps make_helper(ctx) on ctx."""

    class Scale(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.helper = make_helper(ctx)
            lab.watch("ctx", ctx)
            lab.watch("helper", ctx.helper)
            return x * ctx.helper.factor

        @staticmethod
        def backward(ctx, grad):
            # had the collector cleared a ctx that the graph still needs, the gradient would be wrong, not missing
            return grad * (ctx.helper.factor if hasattr(ctx, "helper") else 100.0)

    return Scale


def grad_after_collection(lab, make_helper):
    """Builds x -> Scale -> *3 -> sum, runs the collector while only C++ holds the middle, then backward."""
    x = lab.tensor(requires_grad=True)
    loss = (scaling(lab, make_helper).apply(x) * 3).sum()
    lab.stage("only the graph owns ctx")
    lab.collect()
    lab.stage("collector ran")
    loss.backward()
    lab.value("gradient of x", x.grad)
    lab.stage("backward done")
    del loss, x
    lab.stage("names dropped", all_names_gone=True)


@scenario(
    title="ctx in a Python cycle",
    origin=["pytorch/pytorch#1318", "pytorch/pytorch#22983"],
    pattern="GL109",
    needs="ctx_attributes",
    expects=[
        Expect(
            "ctx", "alive", probe="expiry", stage="collector ran", because="the graph owns ctx from outside the cycle"
        ),
        Expect(
            "gradient of x",
            [6.0] * 4,
            probe="value",
            stage="backward done",
            because="ctx must not be cleared while needed",
        ),
        Expect("helper", "never", on="oneflow-0.9", because="OneFlow's nodes are unknown to the collector"),
        Expect("ctx", "gc", on="torch-*", because="once the graph is gone both are plain Python garbage"),
        Expect("helper", "gc", on="torch-*"),
    ],
)
def ctx_in_python_cycle(lab):
    """`ctx.helper = Helper(ctx)`: ctx -> helper -> ctx, a cycle of Python references only.

    Only the graph owns ctx: the name of the Function's output is gone, the loss owns the chain of nodes, and the node
    owns ctx. From Python's side the cycle looks like garbage: no Python object outside of it refers to it. What saves it
    is the reference count: the node's reference is counted, but no traverse function shows it, so the collector finds
    one reference more than it can explain and keeps its hands off.

    Collector ran: ctx is alive and whole, and backward gives the right gradient. An engine that hid the node's
    reference from the count would let the collector empty ctx under a living graph.

    Names dropped: now the node is gone, only the cycle is left, and the collector frees it (`gc`).

    Fix: no reference back. Give the helper what it needs, or a weak reference to ctx.
    """
    grad_after_collection(lab, Helper)


@ctx_in_python_cycle.fixed(
    title="ctx keeps a helper that does not know it",
    fix="no reference from the helper back to ctx",
    expects=[
        Expect("ctx", "del", on="torch-*"),
        Expect("helper", "del", because="a chain, not a cycle: it goes with the graph"),
    ],
)
def ctx_keeps_plain_helper(lab):
    """The same Function with a helper that has no way back to ctx: node -> ctx -> helper, and all of it goes as soon as
    the loss does."""
    grad_after_collection(lab, lambda ctx: Detached())
