"""save_for_backward with a view of the output: a permanent leak."""

from gradlife.scenario import Expect, scenario

BARE_DATA = "torch<1.10 oneflow-*"
VIEW = "the view is no output, so the slot keeps the tensor itself; its base is the output, which owns the node"
LOOSE = "until 1.9 a slot keeps bare data and the tensor's grad_fn; a view taken in forward, where gradients are off, has none"


def doubling(lab, save):
    """A Function y = 2x whose forward calls save(ctx, y)."""

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            save(ctx, y)
            lab.watch("ctx", ctx)
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Double


@scenario(
    title="ctx saves a view of its output",
    origin=["pytorch/pytorch#94990", "pytorch/pytorch#95904"],
    pattern="GL104",
    expects=[
        Expect("ctx", "del", on=BARE_DATA, because=LOOSE),
        Expect("ctx", "never", because=VIEW),
        Expect(
            "ctx", "gc", on="micrograd", because="a slot keeps data only; the output's closure keeps the rest in sight"
        ),
        Expect("y.storage", "never", on="torch-2.*", because=VIEW),
    ],
)
def ctx_saves_view_of_output(lab):
    """`ctx.save_for_backward(y.view(-1))` where y is the output: a reshaped copy of the recommended way, and a leak.

    Forward done: the saved slot asks whether the tensor that it is given is an output. The view is another tensor, so it
    is saved as it is. A view owns its base, here the output, and the output owns its grad_fn, the node that owns the
    slot: node -> saved view -> base y -> node. Every edge of it is C++.

    Output dropped: from PyTorch 1.10 on nothing ever frees it (`never`): the collector does not look into saved slots.
    In 1.1 to 1.9 a slot kept bare data and the tensor's grad_fn, and a view taken inside forward, where gradients are
    off, has no grad_fn: no cycle, and reference counts freed all (`del`). Keeping the tensor itself came with 1.10.

    Fix: save the output and take the view in backward, where it costs nothing.
    """
    y = doubling(lab, lambda ctx, y: ctx.save_for_backward(y.view(-1))).apply(lab.tensor(requires_grad=True))
    lab.watch("y", y)
    lab.stage("forward done")
    del y
    lab.stage("output dropped", all_names_gone=True)


@ctx_saves_view_of_output.fixed(
    title="ctx saves the output and views it in backward",
    fix="save the output itself; call view in backward",
    expects=[
        Expect(
            "ctx",
            "never",
            on="mini:oneflow-0.8 oneflow-0.9",
            because="OneFlow saves the output itself, with its history",
        ),
        Expect(
            "ctx",
            "del",
            on="oneflow-0.8",
            because="forward's ctx in 0.8 is an object of its own, which the graph does not own",
        ),
        Expect("ctx", "del", because="an own output is saved as bare data"),
        Expect("y.storage", "del", on="torch-2.*"),
    ],
)
def ctx_saves_output_and_views_later(lab):
    """The same Function saves y itself. The slot recognises its own output, keeps the data alone, and nothing leads
    back to the node."""
    y = doubling(lab, lambda ctx, y: ctx.save_for_backward(y)).apply(lab.tensor(requires_grad=True))
    lab.watch("y", y)
    lab.stage("forward done")
    del y
    lab.stage("output dropped", all_names_gone=True)


@ctx_saves_view_of_output.fixed(
    title="Backward frees the saved view",
    fix="run backward on every output",
    expects=[
        Expect("ctx", "del", because="backward emptied the slot, which was one edge of the cycle"),
        Expect("y.storage", "del", on="torch-2.*"),
    ],
)
def ctx_saves_view_and_runs_backward(lab):
    """The same saved view, and backward runs. Backward releases the slot, so the cycle is cut before the last name goes.
    That is why this leak shows only where an output is thrown away: a rejected sample, an exception, an evaluation."""
    y = doubling(lab, lambda ctx, y: ctx.save_for_backward(y.view(-1))).apply(lab.tensor(requires_grad=True))
    lab.watch("y", y)
    lab.stage("forward done")
    y.sum().backward()
    lab.stage("backward done")
    del y
    lab.stage("output dropped", all_names_gone=True)
