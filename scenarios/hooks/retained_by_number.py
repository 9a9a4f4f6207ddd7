"""retain_grad on the outputs of one node, and a change in place: the hook is looked for under a wrong number."""

from gradlife.scenario import Expect, scenario

ASSERTION = "out != nullptr INTERNAL ASSERT FAILED"


def two_outputs(lab):
    """A Function of two outputs, x * 2 and x * 3."""

    class Two(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, first, second):
            return first * 2 + second * 3

    return Two


def changed(tensor):
    """The new node of a tensor that is doubled, or the beginning of the error."""
    try:
        return tensor.mul_(2).grad_fn.name()
    except RuntimeError as error:
        return str(error).split(" at ")[0]


@scenario(
    title="a second output that retains its gradient is changed in place",
    needs="autograd.Function.setup_context",
    expects=[
        Expect(
            "changed",
            ASSERTION,
            probe="value",
            on="torch-2.*",
            because="the hook is looked for under the number that the tensor has at its new node, 0",
        ),
        Expect("numbers", [6.0] * 4, probe="value", on="torch-2.*", because="they were changed before the error"),
        Expect("new node", "MulBackward0", probe="value", on="torch-2.*", because="it was set before the error, too"),
        Expect(
            "gradient",
            [2.0] * 4,
            probe="value",
            on="torch-2.*",
            because="the hook stayed at the old node, which gets the gradient before the change",
        ),
        Expect("output", "del", on="torch-2.*", because="the hook at the old node points back weakly"),
    ],
)
def second_output_retains_its_gradient(lab):
    """`first, second = Two.apply(x); second.retain_grad(); second.mul_(2)`: an assertion of PyTorch fails, with a
    request to report it.

    The hook that retains a gradient is stored at the node, under the number of the output: 1. A change in place makes a
    new node, of which the tensor is output 0, and the hook has to move there. PyTorch sets the new number first and
    then asks the old node for hook 0, which it has not. (With a view of the output, changed in place, the hook moves to
    a number that the new node has not, and the backward pass ends the process. That crash is not imitated.)

    The change itself was done. The program that catches the error has a tensor with a new history, and `.grad` gets the
    gradient of the value before the change.

    Fix: change a copy, or call `retain_grad()` after the change.
    """
    x = lab.tensor(requires_grad=True)
    _, second = two_outputs(lab).apply(x)
    second.retain_grad()
    lab.watch("output", second)
    second.data.fill_(3.0)
    lab.value("changed", changed(second))
    lab.value("numbers", second.detach())
    lab.value("new node", second.grad_fn.name())
    second.sum().backward()
    lab.value("gradient", second.grad)
    lab.stage("backward done")
    del second, x, _
    lab.stage("names dropped", all_names_gone=True)


@second_output_retains_its_gradient.fixed(
    title="a first output that retains its gradient is changed in place",
    fix="call retain_grad() after the change, or on the first output",
    expects=[
        Expect("changed", "MulBackward0", probe="value", on="torch-2.*"),
        Expect("gradient", [1.0] * 4, probe="value", on="torch-2.*", because="the hook moved to the new node"),
        Expect("output", "del", on="torch-2.*"),
    ],
)
def first_output_retains_its_gradient(lab):
    """The first output has number 0 before and after, so the hook is found and moves along."""
    x = lab.tensor(requires_grad=True)
    first, _ = two_outputs(lab).apply(x)
    first.retain_grad()
    lab.watch("output", first)
    lab.value("changed", changed(first))
    first.sum().backward()
    lab.value("gradient", first.grad)
    lab.stage("backward done")
    del first, x, _
    lab.stage("names dropped", all_names_gone=True)
