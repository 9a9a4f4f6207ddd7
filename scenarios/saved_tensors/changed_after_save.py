"""A tensor changed in place between forward and backward: when it is noticed, and when it is not."""

from gradlife.scenario import Expect, scenario

TEXT_2_13 = (
    "RuntimeError: one of the variables needed for gradient computation has been modified by an inplace operation: "
    "[torch.FloatTensor [4]], which is output 0 of %s, is at version 1; expected version 0 instead. Hint: enable "
    "anomaly detection to find the operation that failed to compute its gradient, with "
    "torch.autograd.set_detect_anomaly(True, check_nan=False)."
)


def refused(text):
    """Is this the framework's complaint about a change in place?"""
    return isinstance(text, str) and "modified by an inplace operation" in text


@scenario(
    title="a saved input changed in place",
    origin=["pytorch/pytorch#6990"],
    pattern="GL302",
    needs="Tensor._version",
    expects=[
        Expect("refused", True, probe="value", on="torch-*", because="the slot remembers the version that it saved"),
        Expect("backward", (TEXT_2_13 % "Add")[:330], probe="value", on="torch>=2.13"),
        Expect("version", 1, probe="value", on="torch-*", because="each change in place adds one"),
    ],
)
def input_changed_after_save(lab):
    """`y = hidden.sin()` saved `hidden`, not a copy of it. What if `hidden` changes before backward?

    Saving costs no memory because the slot shares hidden's storage. So a later `hidden.add_(1)` changes what the slot
    holds. The storage does not know, but the tensor has a version counter: the slot noted 0 when it saved, finds 1
    when it unpacks, and refuses with an error instead of computing a wrong gradient.

    The fix: change a copy (`hidden = hidden + 1`), or make the change before the operation that saves.
    """
    x = lab.tensor(requires_grad=True)
    hidden = x * 1
    y = hidden.sin()
    hidden.add_(1)
    lab.value("version", hidden._version)
    text = lab.attempt("backward", lambda: y.sum().backward())
    lab.value("refused", refused(text))
    lab.stage("backward tried")


@input_changed_after_save.fixed(
    title="a saved input, replaced by a changed copy",
    fix="hidden = hidden + 1, out of place: the slot keeps the old tensor, the name gets a new one",
    needs="",
    expects=[
        Expect("backward", None, probe="value"),
        Expect("gradient", [0.540302, 0.540302, 0.540302, 0.540302], probe="value", because="cos(1)"),
    ],
)
def input_replaced_after_save(lab):
    """Out of place, the name `hidden` moves on to a new tensor and the slot keeps the old one. It costs its memory."""
    x = lab.tensor(requires_grad=True)
    hidden = x * 1
    y = hidden.sin()
    hidden = hidden + 1
    lab.attempt("backward", lambda: y.sum().backward())
    lab.value("gradient", x.grad)
    lab.stage("backward tried")


@scenario(
    title="a saved output changed in place",
    origin=["pytorch/pytorch#6990"],
    pattern="GL302",
    expects=[
        Expect("refused", True, probe="value", on="torch-*", because="the saved numbers share y's version counter"),
        Expect("backward", (TEXT_2_13 % "Exp")[:330], probe="value", on="torch>=2.13"),
    ],
)
def output_changed_after_save(lab):
    """`y = x.exp()` then `y.add_(1)`: the operation's own result was what it saved.

    The slot keeps another impl on y's storage, and that impl shares y's version counter too, so the change is
    noticed. It is why `x.exp().add_(1)` or an in-place activation after `tanh` fails, while the same after `x * 3`
    is fine: that one saved nothing of its result.
    """
    x = lab.tensor(requires_grad=True)
    y = x.exp()
    z = y.add_(1)
    text = lab.attempt("backward", lambda: z.sum().backward())
    lab.value("refused", refused(text))
    lab.stage("backward tried")


@output_changed_after_save.fixed(
    title="a result that was not saved, changed in place",
    fix="change in place only what no operation saved, or write y = y + 1",
    expects=[
        Expect("backward", None, probe="value", because="x * 3 saves the 3, not its result"),
        Expect("gradient", [3.0, 3.0, 3.0, 3.0], probe="value"),
    ],
)
def unsaved_output_changed(lab):
    """What no slot holds may change freely: `(x * 3).add_(1)` saves memory and breaks nothing."""
    x = lab.tensor(requires_grad=True)
    z = (x * 3).add_(1)
    lab.attempt("backward", lambda: z.sum().backward())
    lab.value("gradient", x.grad)
    lab.stage("backward tried")


@scenario(
    title="a saved tensor changed behind the version counter",
    origin=["pytorch/pytorch#6990", "pytorch/pytorch#5396"],
    pattern="GL302",
    expects=[
        Expect("backward", None, probe="value", on="torch-*", because="y.data has a version counter of its own"),
        Expect(
            "gradient",
            [3.71828, 3.71828, 3.71828, 3.71828],
            probe="value",
            on="torch-*",
            because="wrong: 2.71828 is right",
        ),
    ],
)
def changed_through_data(lab):
    """`y.data.add_(1)`: a change that nothing notices, and a gradient that is wrong without an error.

    `.data` gives another impl on the same storage with a *new* version counter. The slot compares with y's counter,
    which stands still, and uses numbers that are no longer exp(x). The fix: `y.detach()`, which shares the counter.
    """
    x = lab.tensor(requires_grad=True)
    y = x.exp()
    y.data.add_(1)
    lab.attempt("backward", lambda: y.sum().backward())
    lab.value("gradient", x.grad)
    lab.stage("backward tried")


@changed_through_data.fixed(
    title="a saved tensor changed through detach()",
    fix="use detach() instead of .data: it shares the version counter, so the change is refused",
    expects=[Expect("refused", True, probe="value", on="torch-*", because="detach() shares y's version counter")],
)
def changed_through_detach(lab):
    """`y.detach().add_(1)` counts on y's own version counter: backward refuses instead of being wrong."""
    x = lab.tensor(requires_grad=True)
    y = x.exp()
    y.detach().add_(1)
    text = lab.attempt("backward", lambda: y.sum().backward())
    lab.value("refused", refused(text))
    lab.stage("backward tried")
