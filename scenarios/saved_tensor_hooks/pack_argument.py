"""The tensor that a pack hook receives."""

from gradlife.scenario import Expect, scenario


@scenario(
    title="the argument of a pack hook is released when the hook returns",
    origin=["pytorch/pytorch#60975", "pytorch/pytorch#60663"],
    pattern="GL312",
    needs="hooks",
    expects=[
        Expect(
            "activation",
            "dead",
            probe="expiry",
            stage="forward done",
            on="torch-*",
            because="the call gave its argument back, and the slot has the packed numbers only",
        ),
        Expect("activation", "del", on="torch-*"),
        Expect("gradient", [0.540302] * 4, probe="value"),
    ],
)
def pack_argument_is_released(lab):
    """A hidden activation is packed to plain numbers. Who still owns it once the pack hook has returned?

    The C++ that calls the hook takes a reference to its argument for the call, and one to the result. The first has to be
    given back on every way out, or each packed activation would live as long as the process: offloading that frees
    nothing. Here the activation dies as soon as the forward has no name for it.
    """

    def pack(tensor):
        return tensor.tolist()

    x = lab.tensor(requires_grad=True)
    with lab.fw.autograd.graph.saved_tensors_hooks(pack, lambda numbers: lab.fw.tensor(numbers)):
        hidden = x * 1
        lab.watch("activation", hidden)
        y = hidden.sin()
    del hidden
    lab.stage("forward done")
    y.sum().backward()
    lab.value("gradient", x.grad)
    del y
    lab.stage("graph dropped", all_names_gone=True)


@scenario(
    title="the argument of a pack hook that raises is released",
    origin=["pytorch/pytorch#60975", "pytorch/pytorch#34172", "pytorch/pytorch#94456"],
    pattern="GL312",
    needs="hooks",
    expects=[
        Expect("activation", "del", on="torch-*", because="the exception's way out of C++ gives it back, too"),
        Expect("activation.storage", "del", on="torch-*"),
    ],
)
def pack_argument_is_released_after_an_error(lab):
    """The same, and the pack hook raises: the exception passes through C++ and leaves no reference to the argument."""

    def pack(tensor):
        raise ValueError("no")

    x = lab.tensor(requires_grad=True)
    hidden = x * 1
    lab.watch("activation", hidden)

    def forward():
        with lab.fw.autograd.graph.saved_tensors_hooks(pack, lambda packed: packed):
            return hidden.sin()

    lab.attempt("forward", forward)
    del hidden, forward
    lab.stage("refused", all_names_gone=True)
