"""What a failed backward leaves behind in the graph."""

from gradlife.scenario import Expect, scenario

FAILED = "backward failed"


@scenario(
    title="A failed backward leaves the graph as it was",
    origin=["pytorch/pytorch#22983", "pytorch/pytorch#10348"],
    expects=[
        Expect("first backward", "ValueError: no gradient today", probe="value", on="torch-*"),
        Expect("ctx", "alive", probe="expiry", stage=FAILED, on="torch-*", because="output -> node -> ctx"),
        Expect("second backward", None, probe="value", on="torch-*", because="the failed node kept its saved tensors"),
        Expect("gradient", [2.0] * 4, probe="value", on="torch-*"),
        Expect("ctx", "del", on="torch-*", because="the engine kept no task of the failed backward"),
    ],
)
def failed_backward_leaves_the_graph(lab):
    """A custom backward raises at its first call. Is the graph damaged, or kept?

    Backward failed: the nodes before the failing one have run, and what they saved is released; the failing node did not
    finish, so its slots are full. The engine's own bookkeeping (ready queue, buffered gradients, the graph task) has to be
    let go on the way out: it owns nodes, and one node forgotten there keeps a whole graph.

    Backward again: from this node on all is whole, so a second call with the cause removed works. Output dropped: all
    goes by reference counts.
    """
    calls = []

    class Fails(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            lab.watch("ctx", ctx)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            calls.append(None)
            if len(calls) == 1:
                raise ValueError("no gradient today")
            (x,) = ctx.saved_tensors
            return grad * x * 2

    x = lab.tensor(requires_grad=True)
    y = Fails.apply(x)
    lab.attempt("first backward", lambda: y.backward(lab.tensor()))
    lab.stage(FAILED)
    lab.attempt("second backward", lambda: y.backward(lab.tensor()))
    lab.value("gradient", x.grad)
    lab.stage("backward again")
    del x, y
    lab.stage("output dropped", all_names_gone=True)
