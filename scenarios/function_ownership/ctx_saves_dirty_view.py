"""An in-place Function on a view that saves its changed input: a leak up to 2.9, fixed in 2.10."""

from gradlife.scenario import Expect, scenario

SINCE_2_10 = "torch>=2.10"


def doubling_in_place(lab):
    """A Function that doubles its input in place and saves it."""

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            ctx.save_for_backward(x)
            lab.watch("ctx", ctx)
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Double


@scenario(
    title="An in-place Function on a view saves it",
    origin=["pytorch/pytorch#3679", "pytorch/pytorch#10532", "pytorch/pytorch#23502"],
    pattern="GL104",
    needs="autograd.Function.mark_dirty",
    expects=[
        Expect("ctx", "del", on=SINCE_2_10, because="the slot of a changed view points back to its new history weakly"),
        Expect(
            "ctx",
            "never",
            on="torch-*",
            because="the slot owns the view, the view's base owns the new history, and that owns the node",
        ),
    ],
)
def dirty_view_is_saved(lab):
    """`row = z[0]`, then a Function that changes its input in place, marks it dirty, and saves it.

    Forward done: a change of a view is a change of its base. So the base z gets a new grad_fn, a node that runs the
    Function's node on the part that was changed and passes the rest through. The row is input and output at once, and
    it is saved: node -> saved slot -> row -> base z -> new grad_fn -> node. All of it is C++.

    Output dropped: lost for the life of the process in PyTorch 1.1 to 2.9, freed at once from 2.10 on. Without the view
    (the whole z changed in place) an output is recognised as such and there is no cycle in any release.

    Fix: change a copy (`z[0].clone()`), or save what backward needs before it is changed.
    """
    z = lab.fw.ones(2, 4).requires_grad_() + 1.0
    y = doubling_in_place(lab).apply(z[0])
    lab.stage("forward done")
    del y, z
    lab.stage("output dropped", all_names_gone=True)


@dirty_view_is_saved.fixed(
    title="An in-place Function on a copy",
    fix="apply it to z[0].clone()",
    needs="autograd.Function.mark_dirty",
    expects=[Expect("ctx", "del", on="torch-*", because="a copy has no base whose history would have to change")],
)
def dirty_copy_is_saved(lab):
    """The same Function on a copy of the row: the saved tensor is an own output, kept as bare data."""
    z = lab.fw.ones(2, 4).requires_grad_() + 1.0
    y = doubling_in_place(lab).apply(z[0].clone())
    lab.stage("forward done")
    del y, z
    lab.stage("output dropped", all_names_gone=True)
