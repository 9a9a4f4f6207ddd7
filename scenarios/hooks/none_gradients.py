"""What a hook on a node sees where backward returned None."""

from gradlife.scenario import Expect, scenario

OLD = "torch-1.1 torch-1.2"
ZEROS = "up to 1.2 the engine puts zeros in place of None before anybody sees it"


def lists(gradients):
    """Gradients as lists, None as it is."""
    return [None if gradient is None else gradient.tolist() for gradient in gradients]


def hooked_backward(lab, call, needs_grad):
    """The gradients of inputs that a node hook saw, and the gradients that leaves have after backward."""
    seen = []
    a, b = lab.tensor(2, requires_grad=True), lab.tensor(2, requires_grad=needs_grad)
    y = call(a, b)
    y.grad_fn.register_hook(lambda inputs, outputs: seen.append(lists(inputs)))
    y.sum().backward()
    return [*seen, lists([a.grad, b.grad])]


@scenario(
    title="None from backward, seen by a node hook",
    origin=["pytorch/pytorch#22983"],
    needs="node_hooks",
    expects=[
        Expect(
            "None for an input that needs a gradient",
            [[[1.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [0.0, 0.0]]],
            probe="value",
            on=OLD,
            because=ZEROS,
        ),
        Expect(
            "None for an input that needs a gradient",
            [[[1.0, 1.0], None], [[1.0, 1.0], None]],
            probe="value",
            on="torch-*",
            because="None stays None, and the leaf gets no gradient",
        ),
        Expect(
            "None for an input that needs none",
            [[[1.0, 1.0], None], [[1.0, 1.0], None]],
            probe="value",
            on="torch-*",
            because="there is nothing that zeros could be added to",
        ),
    ],
)
def none_gradient_in_a_node_hook(lab):
    """A Function of two inputs whose backward returns `(grad, None)`, and a hook on its node.

    The program of test_hook_none, which came with the pull request: the hook must not crash on what is missing. Up to 1.2
    nothing is missing where the input requires a gradient: zeros are put in, the hook sees them, and the leaf's gradient
    is zero. Later releases hand None on, and the leaf's gradient is None: a difference for code that adds gradients up.
    """

    class First(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            return a * 1 + b * 1

        @staticmethod
        def backward(ctx, grad):
            return grad, None

    lab.attempt("None for an input that needs a gradient", lambda: hooked_backward(lab, First.apply, True))
    lab.attempt("None for an input that needs none", lambda: hooked_backward(lab, First.apply, False))
    lab.stage("backward done")


@scenario(
    title="None from a legacy backward, seen by a node hook",
    origin=["pytorch/pytorch#22983"],
    pattern="GL108",
    needs="legacy",
    expects=[
        Expect(
            "None for an input that needs a gradient",
            [[[1.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], [0.0, 0.0]]],
            probe="value",
            on=OLD,
            because=ZEROS,
        ),
        Expect(
            "None for an input that needs none",
            [[[1.0, 1.0], [0.0, 0.0]], [[1.0, 1.0], None]],
            probe="value",
            on=OLD,
            because="a legacy Function fills in every None, whoever needs it",
        ),
    ],
)
def legacy_none_gradient_in_a_node_hook(lab):
    """The same with a legacy Function, which fills in zeros for every input, even for one that needs no gradient."""

    class First(lab.fw.autograd.Function):
        def forward(self, a, b):
            return a * 1 + b * 1

        def backward(self, grad):
            return grad, None

    lab.attempt("None for an input that needs a gradient", lambda: hooked_backward(lab, First(), True))
    lab.attempt("None for an input that needs none", lambda: hooked_backward(lab, First(), False))
    lab.stage("backward done")
