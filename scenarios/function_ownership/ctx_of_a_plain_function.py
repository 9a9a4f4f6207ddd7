"""A Function that stores nothing on its ctx: the control of all stories about ctx."""

from gradlife.scenario import Expect, scenario


@scenario(
    title="A plain Function lets its ctx go",
    origin=["pytorch/pytorch#22983"],
    expects=[
        Expect("ctx, " + when, "del", because="output -> node -> ctx is a chain, and the output's name was its root")
        for when in ("no backward", "after backward", "after backward with retain_graph")
    ],
)
def plain_function_lets_ctx_go(lab):
    """y = 2x as a custom Function without saved tensors and without attributes; three outputs of it.

    Forward and backward done: the first output sees no backward, the second one, the third one with retain_graph. Backward
    changes nothing about who owns ctx: the output owns its node and the node owns ctx, in every release.

    Outputs dropped: all three go by reference counts. What leaks in the other stories of this suite is never the Function
    as such, but what was put on ctx, on the node, or on the output.
    """
    names = iter(("ctx, no backward", "ctx, after backward", "ctx, after backward with retain_graph"))

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            lab.watch(next(names), ctx)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = lab.tensor(requires_grad=True)
    none, once, retained = Double.apply(x), Double.apply(x), Double.apply(x)
    once.sum().backward()
    retained.sum().backward(retain_graph=True)
    lab.stage("forward and backward done")
    del none, once, retained
    lab.stage("outputs dropped", all_names_gone=True)
