"""A held grad_fn of a custom Function, called by hand once its output is gone."""

from gradlife.scenario import Expect, scenario

TORCH = "torch-*"
GONE = "AttributeError: 'ScaleBackward' object has no attribute '_do_backward'"


@scenario(
    title="A held node called by hand",
    origin=["pytorch/pytorch#22983"],
    expects=[
        Expect(
            "_do_backward",
            "RuntimeError: function ScaleBackward doesn't implement a required 'backward' method",
            probe="value",
            on="torch-1.1",
            because="the legacy way looks for the instance method `backward`",
        ),
        Expect("_do_backward", GONE, probe="value", on="torch>=1.9", because="removed in 1.9"),
        Expect("apply", [2.0] * 4, probe="value", on=TORCH, because="apply is the class's backward, with ctx given"),
        Expect("saved tensors in apply", 1, probe="value", on="torch-1.1 torch>=2.13", because="the node is alive"),
        Expect(
            "saved tensors in apply",
            "RuntimeError",
            probe="value",
            on=TORCH,
            because="the node died with its output, and the slots with the node",
        ),
        Expect("ctx", "del", on=TORCH),
    ],
)
def node_called_by_hand(lab):
    """`node.apply(gradient)` on the grad_fn of an output that is gone: which part of a node still works?

    A custom Function's grad_fn is its ctx, an object whose type derives from a class made for the Function
    (`ScaleBackward`). `apply` of that class calls the Function's `backward` with ctx as its first argument. That needs
    no node: it works on an empty shell too, as long as `backward` reads nothing but its arguments and ctx's attributes.

    `ctx.saved_tensors` needs the node, or rather its slots: it answers in 1.1 and in 2.13, where the held grad_fn owns
    the node, and raises in the releases between.

    What to learn: never call a node by hand; the engine passes the gradient, runs the hooks and keeps the node alive.
    """
    counts = []

    class Scale(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            lab.watch("ctx", ctx)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            try:
                counts.append(len(ctx.saved_tensors))
            except RuntimeError as error:
                counts.append(type(error).__name__)
            return grad * 2

    y = Scale.apply(lab.tensor(requires_grad=True))
    node = y.grad_fn
    del y
    lab.attempt("_do_backward", lambda: node._do_backward((lab.tensor(),), True))
    lab.attempt("apply", lambda: node.apply(lab.tensor()))
    lab.value("saved tensors in apply", counts[-1] if counts else None)
    lab.stage("called")
    del node
    lab.stage("node dropped", all_names_gone=True)
