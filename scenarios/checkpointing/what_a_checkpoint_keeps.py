"""Checkpointing: backward recomputes the activations of a segment instead of keeping them."""

from gradlife.scenario import Expect, scenario

NEEDS = "utils.checkpoint.checkpoint"
BOTH = "torch>=1.11"  # checkpoint has both kinds there
FORWARD = "forward done"


def segment(lab):
    """Two operations; the activation between them is watched when it is computed for the first time."""
    calls = []

    def run(x):
        hidden = x * x
        calls.append(None)
        if len(calls) == 1:
            lab.watch("activation", hidden)
        return hidden.exp() * hidden

    return run, calls


def checkpointed(lab, run, x, reentrant):
    """The segment's output under a checkpoint; None in a release that has no checkpoints by hooks."""
    checkpoint = lab.fw.utils.checkpoint.checkpoint
    try:
        return checkpoint(run, x, use_reentrant=reentrant)
    except (TypeError, ValueError):  # an unexpected keyword: every checkpoint is reentrant
        return checkpoint(run, x) if reentrant else None


@scenario(
    title="an activation without a checkpoint",
    origin=["pytorch/pytorch#4594"],
    pattern="GL320",
    needs=NEEDS,
    expects=[
        Expect("activation", "alive", probe="expiry", stage=FORWARD, on=BOTH, because="the next operation saved it"),
        Expect(
            "activation", "dead", probe="expiry", stage="backward done", on=BOTH, because="backward released the slot"
        ),
        Expect("times computed", 1, probe="value", on=BOTH),
        Expect("activation", "del", on=BOTH),
    ],
)
def activation_without_checkpoint(lab):
    """The control: a segment of two operations, run plainly.

    Forward done: the activation between the operations has no name, and lives in the slots of the second one until
    backward. All activations of all segments are alive at the end of the forward: that is the peak of training.

    Fix, if the peak does not fit: `checkpoint(segment, x)`.
    """
    run, calls = segment(lab)
    x = lab.tensor(requires_grad=True)
    y = run(x)
    lab.stage(FORWARD)
    y.sum().backward()
    lab.value("times computed", len(calls))
    lab.value("gradient", x.grad)
    lab.stage("backward done")
    del x, y
    lab.stage("dropped", all_names_gone=True)


@activation_without_checkpoint.fixed(
    title="an activation under a reentrant checkpoint",
    fix="checkpoint(segment, x, use_reentrant=True)",
    expects=[
        Expect("activation", "dead", probe="expiry", stage=FORWARD, on=BOTH, because="forward ran under no_grad"),
        Expect("times computed", 2, probe="value", on=BOTH, because="once more in backward, with gradients on"),
        Expect("activation", "del", on=BOTH),
    ],
)
def activation_under_reentrant_checkpoint(lab):
    """The segment becomes one custom Function: forward runs it under no_grad and saves the inputs, backward runs it again
    with gradients on and calls backward inside of backward. Between the two only the input is kept."""
    run, calls = segment(lab)
    x = lab.tensor(requires_grad=True)
    y = checkpointed(lab, run, x, reentrant=True)
    lab.stage(FORWARD)
    y.sum().backward()
    lab.value("times computed", len(calls))
    lab.value("gradient", x.grad)
    lab.stage("backward done")
    del x, y
    lab.stage("dropped", all_names_gone=True)


@activation_without_checkpoint.fixed(
    title="an activation under a checkpoint by hooks",
    fix="checkpoint(segment, x, use_reentrant=False)",
    expects=[
        Expect(
            "activation", "dead", probe="expiry", stage=FORWARD, on=BOTH, because="pack kept a place, not the tensor"
        ),
        Expect("times computed", 2, probe="value", on=BOTH, because="once more at the first unpack"),
        Expect("activation", "del", on=BOTH),
    ],
)
def activation_under_checkpoint_by_hooks(lab):
    """The segment runs with gradients on, so its nodes are there; but under pack hooks that keep a place in a list instead
    of the tensor. The first unpack hook runs the segment again and fills the list."""
    run, calls = segment(lab)
    x = lab.tensor(requires_grad=True)
    y = checkpointed(lab, run, x, reentrant=False)
    lab.value("offered", y is not None)
    if y is None:
        return
    lab.stage(FORWARD)
    y.sum().backward()
    lab.value("times computed", len(calls))
    lab.value("gradient", x.grad)
    lab.stage("backward done")
    del x, y
    lab.stage("dropped", all_names_gone=True)


@scenario(
    title="a checkpoint dropped without backward",
    origin=["pytorch/pytorch#84413"],
    needs=NEEDS + " numpy",
    expects=[
        Expect(kind + " input's memory", "del", on=BOTH, because="output -> node -> saved input, and no way back")
        for kind in ("reentrant", "hooked")
    ],
)
def checkpoint_without_backward(lab):
    """Both kinds of checkpoint, their outputs dropped as an evaluation drops them.

    Outputs named: a reentrant checkpoint keeps its input in a saved slot and the function on its ctx; one by hooks keeps
    a frame with the arguments, which its hooks refer to. Neither refers to the output.

    Dropped: both go by reference counts. (The very first checkpoint of a process imports torch's compiler, and that
    import leaves frames behind: seen from there, the first input may wait for the collector, once. The story runs
    after the import.)
    """

    def watched(name):
        array = lab.fw.ones(4).numpy()
        lab.watch(name, array)
        return lab.fw.from_numpy(array).requires_grad_()

    def run(x):
        return (x * x).exp()

    reentrant = checkpointed(lab, run, watched("reentrant input's memory"), reentrant=True)
    hooked = checkpointed(lab, run, watched("hooked input's memory"), reentrant=False)
    lab.value("by hooks, too", hooked is not None)
    lab.stage("outputs named")
    del reentrant, hooked
    lab.stage("dropped", all_names_gone=True)


@scenario(
    title="a checkpointed function over the dictionary of its output",
    origin=["pytorch/pytorch#84413"],
    pattern="GL321",
    needs=NEEDS,
    expects=[
        Expect(
            "features",
            "gc",
            on="torch>=2.13",
            because="output -> ctx -> run_function -> closure -> features -> output, each edge known to the collector",
        ),
    ],
)
def checkpoint_over_its_output(lab):
    """`features["out"] = checkpoint(lambda w: features["raw"] * w, weight)`: the result is stored where the input came from.

    Stored: the checkpoint's ctx keeps the function, to run it again in backward. The function's closure keeps the
    dictionary, and the dictionary keeps the output, whose grad_fn is that ctx. It is `ctx_keeps_output` in two more steps.

    Backward done: neither backward nor the end of the step cuts it.

    Dropped: with all edges known to the collector (see `ctx_keeps_output` for the releases) it is found when it runs.

    Fix: give the function what it needs as an argument, or store `out.detach()`.
    """

    class Features(dict):
        pass

    def build():
        weight = lab.tensor(requires_grad=True)
        features = Features(raw=lab.tensor())
        lab.watch("features", features)
        out = checkpointed(lab, lambda w: features["raw"] * w, weight, reentrant=True)
        features["out"] = out
        out.sum().backward()
        return features

    features = build()
    lab.stage("backward done")
    del features
    lab.stage("dropped", all_names_gone=True)


@checkpoint_over_its_output.fixed(
    title="a checkpointed function over its input only",
    fix='features["out"] = out.detach()',
    expects=[Expect("features", "del", on=BOTH, because="the detached output has no grad_fn")],
)
def checkpoint_over_its_input(lab):
    """The same with a detached output."""

    class Features(dict):
        pass

    def build():
        weight = lab.tensor(requires_grad=True)
        features = Features(raw=lab.tensor())
        lab.watch("features", features)
        out = checkpointed(lab, lambda w: features["raw"] * w, weight, reentrant=True)
        features["out"] = out.detach()
        out.sum().backward()
        return features

    features = build()
    lab.stage("backward done")
    del features
    lab.stage("dropped", all_names_gone=True)


@scenario(
    title="a checkpoint whose last operation is a Function",
    origin=["pytorch/pytorch#161186"],
    needs=NEEDS,
    expects=[
        Expect("contexts made", 2, probe="value", on=BOTH, because="one in forward, one in the run of backward"),
        Expect("contexts left", 0, probe="value", on=BOTH, because="the run that stopped early left nothing behind"),
    ],
)
def checkpoint_stops_early(lab):
    """A checkpoint by hooks stops its second run as soon as all saved tensors are there: by an exception out of `pack`.

    The exception may come while the last operation, a custom Function, is just saving: its ctx is made, its outputs are
    not, and nobody owns the node yet. A release between those measured kept such a ctx for each step (issue 161186); in
    those measured nothing is left.

    Backward done: the first run's ctx went with the graph, the second run's with the exception.
    """
    made, left = [], []

    class Life:
        def __init__(self):
            made.append(None)
            left.append(None)

        def __del__(self):
            left.pop()

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.life = Life()
            ctx.save_for_backward(x, x * 3)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            (x, triple) = ctx.saved_tensors
            return grad * (triple / x - 1)

    x = lab.tensor(requires_grad=True)
    y = checkpointed(lab, Double.apply, x, reentrant=False)
    lab.value("offered", y is not None)
    if y is None:
        return
    y.sum().backward()
    del y
    lab.value("contexts made", len(made))
    lab.value("contexts left", len(left))
    lab.value("gradient", x.grad)
    lab.stage("backward done")
