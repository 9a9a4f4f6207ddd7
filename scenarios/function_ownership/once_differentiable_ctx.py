"""once_differentiable: a backward that is not recorded, and what that means for lifetimes."""

from gradlife.scenario import Expect, scenario

TWICE = "RuntimeError: trying to differentiate twice a function that was marked with @once_differentiable"


def squaring(lab, mark):
    """A Function y = x * x with its backward marked by `mark`."""

    class Square(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            lab.watch("ctx", ctx)
            return x * x

        @staticmethod
        @mark
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 2 * x * grad

    return Square


def differentiate_twice(lab, function):
    """Take a gradient with create_graph, drop the output, and try to differentiate the gradient."""
    x = lab.tensor(requires_grad=True)
    y = function.apply(x)
    y = (y * y).sum()  # so that the gradient which backward receives has a history of its own
    (slope,) = lab.fw.autograd.grad(y, x, create_graph=True)
    lab.stage("gradient computed")
    del y
    lab.stage("output dropped")
    lab.attempt("second gradient", lambda: (slope.sum().backward(), x.grad)[1])
    lab.stage("differentiated twice")
    del slope, x
    lab.stage("gradient dropped", all_names_gone=True)


@scenario(
    title="A backward marked once_differentiable",
    origin=["pytorch/pytorch#22983"],
    needs="autograd.function.once_differentiable",
    expects=[
        Expect(
            "ctx",
            "dead",
            probe="expiry",
            stage="output dropped",
            on="torch-*",
            because="no node of the gradient's graph leads back",
        ),
        Expect(
            "second gradient",
            TWICE.replace("marked with", "markedwith"),
            probe="value",
            stage="differentiated twice",
            on="torch<1.10",
        ),
        Expect("second gradient", TWICE, probe="value", stage="differentiated twice", on="torch-*"),
        Expect("ctx", "del", on="torch-*"),
    ],
)
def once_differentiable_lets_ctx_go(lab):
    """`@once_differentiable` runs backward with gradients off and hangs an error node on the result.

    Gradient computed: although create_graph was asked for, the gradient knows nothing of the operations inside backward,
    nor of x and ctx; its grad_fn is a node that raises when it is run. Output dropped: so nothing owns the first node any
    more, and ctx goes here. Differentiated twice: the error node speaks up, with a text rather than a wrong number.
    """
    differentiate_twice(lab, squaring(lab, lab.fw.autograd.function.once_differentiable))


@once_differentiable_lets_ctx_go.fixed(
    title="A backward that can be differentiated again",
    fix="write backward with differentiable operations and leave the mark off",
    expects=[
        Expect(
            "ctx",
            "alive",
            probe="expiry",
            stage="output dropped",
            on="torch-*",
            because="the gradient's graph leads to the output's node",
        ),
        Expect("second gradient", [12.0] * 4, probe="value", stage="differentiated twice"),
        Expect("ctx", "del", on="torch-*"),
    ],
)
def twice_differentiable_ctx(lab):
    """The same Function without the mark: backward is recorded, and the second gradient of x ** 4 is 12. The price: the
    gradient's graph depends on the output (through the gradient that came in), so it owns the Function's node, and ctx
    lives until the gradient is dropped."""
    differentiate_twice(lab, squaring(lab, lambda backward: backward))
