"""A Function with setup_context that saves the input which it returns as it is: refused, because it would leak."""

from gradlife.scenario import Expect, scenario

REFUSED = "An input that has been returned as-is as output is being saved for backward"
UP_TO_2_10 = "A" + REFUSED[2:]


def passing_on(lab, shown):
    """A Function in the two-part form that returns `shown(x)` and saves it."""

    class PassOn(lab.fw.autograd.Function):
        @staticmethod
        def forward(x):
            return shown(x)

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.save_for_backward(output)
            lab.watch("ctx", ctx)

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.saved_tensors[0]

    return PassOn


def applied(function, x):
    """The name of the new node, or the first sentence of the refusal."""
    try:
        output = function.apply(x)
        return output.grad_fn.name()
    except RuntimeError as error:
        return str(error).split(".")[0]


@scenario(
    title="setup_context saves an input that is returned as it is",
    needs="autograd.Function.setup_context",
    expects=[
        Expect("applied", UP_TO_2_10, probe="value", on="torch>=2.9,<2.13", because="the same, in its words"),
        Expect(
            "applied",
            REFUSED,
            probe="value",
            on="torch-2.*",
            because="ctx would save the input, and the caller gets a view of it with another history",
        ),
        Expect("ctx", "del", on="torch-2.*", because="the node was refused, and nothing else has the context"),
        Expect("x", "del", on="torch-2.*", because="only its name held it"),
    ],
)
def input_returned_as_is_is_saved(lab):
    """A Function may return its input. Its caller must not get the same tensor, which has another history, so `apply`
    makes a view of it. A `setup_context` runs before that view exists: what it saves as the output is the input.

    Applied: PyTorch refuses, since the saved tensor would be the wrong one. Nothing is left of the attempt: the context
    and the node go with the exception.

    Fix: return `x.view_as(x)`, or save in forward with a ctx.
    """
    x = lab.tensor(requires_grad=True)
    lab.watch("x", x)
    lab.value("applied", applied(passing_on(lab, lambda x: x), x))
    lab.stage("applied")
    del x
    lab.stage("name dropped", all_names_gone=True)


@input_returned_as_is_is_saved.fixed(
    title="setup_context saves a view of the input that is returned",
    fix="return a view of the input",
    expects=[
        Expect("applied", "PassOnBackward", probe="value", on="torch-2.*"),
        Expect("ctx", "del", on="torch-2.*", because="the saved view is the node's own output"),
        Expect("x", "del", on="torch-2.*"),
    ],
)
def view_of_input_returned_is_saved(lab):
    """The same with `x.view_as(x)`: the view that is returned is the one that is saved, an output of the node, and the
    slot does not own its history.
    """
    x = lab.tensor(requires_grad=True)
    lab.watch("x", x)
    lab.value("applied", applied(passing_on(lab, lambda x: x.view_as(x)), x))
    lab.stage("applied")
    del x
    lab.stage("name dropped", all_names_gone=True)
