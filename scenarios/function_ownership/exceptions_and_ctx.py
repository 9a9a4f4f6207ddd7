"""Exceptions in forward and backward: what they leave behind, and what a kept exception keeps."""

from gradlife.scenario import Expect, scenario

FAILED = "backward failed"
FRAMES = "exception -> traceback -> frame of backward -> its local `ctx`"


@scenario(
    title="A failed backward leaves the graph as it was",
    origin=["pytorch/pytorch#22983", "pytorch/pytorch#10348"],
    expects=[
        Expect("first backward", "ValueError: no gradient today", probe="value", on="torch-*"),
        Expect("ctx", "alive", probe="expiry", stage=FAILED, on="torch-*", because="output -> node -> ctx"),
        Expect("second backward", None, probe="value", on="torch-*", because="the failed node kept its saved tensors"),
        Expect("gradient", [2.0] * 4, probe="value", on="torch-*"),
        Expect("ctx", "del", on="torch-*", because="the engine kept no task of the failed backward"),
    ],
)
def failed_backward_leaves_the_graph(lab):
    """A custom backward raises at its first call. Is the graph damaged, or kept?

    Backward failed: the nodes before the failing one have run, and what they saved is released; the failing node did not
    finish, so its slots are full. The engine's own bookkeeping (ready queue, buffered gradients, the graph task) has to be
    let go on the way out: it owns nodes, and one node forgotten there keeps a whole graph.

    Backward again: from this node on all is whole, so a second call with the cause removed works. Output dropped: all
    goes by reference counts.
    """
    calls = []

    class Fails(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            lab.watch("ctx", ctx)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            calls.append(None)
            if len(calls) == 1:
                raise ValueError("no gradient today")
            (x,) = ctx.saved_tensors
            return grad * x * 2

    x = lab.tensor(requires_grad=True)
    y = Fails.apply(x)
    lab.attempt("first backward", lambda: y.backward(lab.tensor()))
    lab.stage(FAILED)
    lab.attempt("second backward", lambda: y.backward(lab.tensor()))
    lab.value("gradient", x.grad)
    lab.stage("backward again")
    del x, y
    lab.stage("output dropped", all_names_gone=True)


def failing_backward(lab):
    """A Function y = 2x whose backward raises."""

    class Fails(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            lab.watch("ctx", ctx)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            raise ValueError("boom")

    return Fails


@scenario(
    title="A kept exception keeps ctx",
    origin=["pytorch/pytorch#10348", "pytorch/pytorch#27600"],
    pattern="GL501",
    expects=[
        Expect(
            "exception",
            "ValueError: boom",
            probe="value",
            on="torch-*",
            because="an exception in backward arrives as itself",
        ),
        Expect("ctx", "alive", probe="expiry", stage="output dropped", on="torch-*", because=FRAMES),
        Expect("ctx", "held", on="torch-*", because="the list of failures is the root"),
    ],
)
def kept_exception_keeps_ctx(lab):
    """`failures.append(error)`: a step fails, its exception is kept for the report at the end.

    Exception kept: an exception owns its traceback, the traceback owns every frame between the raise and the except,
    and the frame of the Function's backward owns its local `ctx`. ctx owns its node or at least its saved tensors.

    Output dropped: the batch of the failed step stays in memory for as long as the report's list does.

    Fix: keep the text, or `error.with_traceback(None)`.
    """
    failures = []
    lab.hold(failures)
    y = failing_backward(lab).apply(lab.tensor(requires_grad=True))
    try:
        y.sum().backward()
    except Exception as error:
        lab.value("exception", "%s: %s" % (type(error).__name__, error))
        failures.append(error)
    lab.stage("exception kept")
    del y
    lab.stage("output dropped", all_names_gone=True)


@kept_exception_keeps_ctx.fixed(
    title="A kept exception without its traceback",
    fix="error.with_traceback(None) before keeping it",
    expects=[
        Expect("ctx", "del", because="without frames the exception holds nothing of the step"),
    ],
)
def kept_exception_without_traceback(lab):
    """The same program keeps the exception without its traceback. A failed backward leaves nothing else behind: the graph
    goes with its output, saved tensors and all, by reference counts alone."""
    failures = []
    y = failing_backward(lab).apply(lab.tensor(requires_grad=True))
    try:
        y.sum().backward()
    except Exception as error:
        failures.append(error.with_traceback(None))
    lab.stage("exception kept")
    del y
    lab.stage("output dropped", all_names_gone=True)


@scenario(
    title="An exception in forward leaves no ctx",
    origin=["pytorch/pytorch#22983"],
    expects=[
        Expect("exception", "ValueError: boom", probe="value"),
        Expect("ctx", "dead", probe="expiry", stage="forward failed", on="torch-*", because="nobody took ctx over"),
        Expect("ctx", "del", on="torch-*"),
        Expect("x", "del", on="torch-*", because="to_save went with ctx"),
    ],
)
def exception_in_forward_leaves_no_ctx(lab):
    """forward saves its input and then raises. There is no output, hence nobody to own the node, hence nobody to own ctx:
    both go as soon as the exception's traceback does, and the input that was on its way into a saved slot is let go.

    This is a state that only errors reach: ctx with `to_save` filled and its slots not made yet. An engine whose
    destructor only looks at finished slots leaks the input here.
    """

    class Fails(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            lab.watch("ctx", ctx)
            raise ValueError("boom")

    x = lab.tensor(requires_grad=True)
    lab.watch("x", x)
    lab.attempt("exception", lambda: Fails.apply(x))
    lab.stage("forward failed")
    del x
    lab.stage("input dropped", all_names_gone=True)
