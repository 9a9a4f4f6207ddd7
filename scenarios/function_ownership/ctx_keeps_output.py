"""A custom Function that stores its own output on ctx: the classic cycle through a grad node."""

from gradlife.scenario import Expect, scenario

BEFORE_TRAVERSAL = "torch<1.10"
ONEFLOW = "oneflow-*"
BLIND = "the collector sees no edge from a tensor to its grad_fn before 1.10, so the cycle has a reference that it cannot follow"
SEEN = "from 1.10 on a tensor that is the only owner of its grad_fn shows it to the collector, which then sees the whole cycle"
ONEFLOW_BLIND = "OneFlow's tensors and nodes are unknown to the collector, so no cycle of theirs is ever found"


def doubling(lab, keep):
    """A Function y = 2x that calls keep(ctx, y) in forward."""

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            keep(ctx, y)
            lab.watch("ctx", ctx)
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Double


@scenario(
    title="ctx keeps its own output",
    origin=["pytorch/pytorch#25340", "pytorch/pytorch#5569", "pytorch/pytorch#22983", "pytorch/pytorch#58271"],
    pattern="GL101",
    needs="ctx_attributes",
    expects=[
        Expect("ctx", "never", on=BEFORE_TRAVERSAL, because=BLIND),
        Expect("ctx", "never", on=ONEFLOW, because=ONEFLOW_BLIND),
        Expect("ctx", "gc", because=SEEN),
        Expect("ctx", "gc", on="micrograd", because=SEEN),
        Expect("y", "never", on=BEFORE_TRAVERSAL, because=BLIND),
        Expect("y", "gc", on="torch-*", because=SEEN),
        Expect("y.storage", "gc", on="torch-2.*", because=SEEN),
    ],
)
def ctx_keeps_output(lab):
    """Storing the output of a custom Function as an attribute of ctx makes a reference cycle.

    Forward done: the name `y` owns the output's wrapper, the output owns its grad_fn (a grad node), the node owns ctx,
    and ctx.y owns the output again: y -> grad_fn -> ctx -> y. Reference counting alone never frees such a cycle.

    Backward done: backward releases what `save_for_backward` saved and nothing else. ctx and its attributes are plain
    Python; they stay until the node goes, and the node stays because of them.

    Output dropped: the last name is gone and the cycle keeps itself. Whether the cyclic collector can free it
    depends on whether every edge is visible to it. The edge output -> grad_fn is C++. PyTorch 1.1 to 1.9 do not show it,
    so ctx, the output and its memory are lost for the life of the process (`never`). From 1.10 on a tensor shows its
    grad_fn to the collector as long as it is its only owner: the cycle is found, but only when the collector runs
    (`gc`), which in a training loop means one more batch of activations at the peak for each step until then.

    Fix: never put an output on ctx as it is. Give it to `save_for_backward` (it keeps the data without the history),
    store `y.detach()`, or take the attribute away in backward (which helps only if backward runs).
    """

    def keep(ctx, y):
        ctx.y = y

    y = doubling(lab, keep).apply(lab.tensor(requires_grad=True))
    lab.watch("y", y)
    lab.stage("forward done")
    y.sum().backward()
    lab.stage("backward done")
    del y
    lab.stage("output dropped", all_names_gone=True)


@ctx_keeps_output.fixed(
    title="ctx keeps a detached copy of its output",
    fix="store y.detach() on ctx",
    expects=[
        Expect("ctx", "del", because="a detached tensor has no grad_fn, so nothing leads back to ctx"),
        Expect("y", "del", on="torch-*"),
        Expect("y.storage", "del", on="torch-2.*", because="the detached copy shares the storage and dies with ctx"),
    ],
)
def ctx_keeps_detached_output(lab):
    """The same Function with `ctx.y = y.detach()`.

    The detached tensor shares the output's storage (no copy of the data is made) but has no grad_fn. So the chain is
    name -> y -> grad_fn -> ctx -> detached tensor -> storage, and it ends there. Dropping the name frees all of it at
    once, without the collector.
    """

    def keep(ctx, y):
        ctx.y = y.detach()

    y = doubling(lab, keep).apply(lab.tensor(requires_grad=True))
    lab.watch("y", y)
    lab.stage("forward done")
    y.sum().backward()
    lab.stage("backward done")
    del y
    lab.stage("output dropped", all_names_gone=True)


@ctx_keeps_output.fixed(
    title="ctx saves its output with save_for_backward",
    fix="use ctx.save_for_backward(y)",
    origin=["pytorch/pytorch#239", "pytorch/pytorch#153005"],
    needs="",
    expects=[
        Expect(
            "ctx",
            "never",
            on="mini:oneflow-0.8 oneflow-0.9",
            because="OneFlow saves the output itself, history and all: the cycle is back",
        ),
        Expect(
            "ctx",
            "del",
            on="oneflow-0.8",
            because="forward's ctx in 0.8 is an object of its own, which the graph does not own",
        ),
        Expect("ctx", "del", because="the saved slot of an own output keeps its data without its grad_fn"),
        Expect("y", "del", on="torch-*"),
        Expect("y.storage", "del", on="torch-2.*"),
    ],
)
def ctx_saves_output(lab):
    """The same Function with `ctx.save_for_backward(y)`, and no backward at all.

    `save_for_backward` looks at what it is given once forward is done: a tensor that is one of the outputs is saved as
    bare data with a note of which output it was, and gets its grad_fn back only when `saved_tensors` is read. So the
    node owns the storage, not the output, and there is no cycle. This works without backward ever running, which is why
    it is the fix to prefer. OneFlow 0.9 saves the very tensor and leaks until backward has run.
    """

    def keep(ctx, y):
        ctx.save_for_backward(y)

    y = doubling(lab, keep).apply(lab.tensor(requires_grad=True))
    lab.watch("y", y)
    lab.stage("forward done")
    del y
    lab.stage("output dropped", all_names_gone=True)


@ctx_keeps_output.fixed(
    title="ctx takes its output off in backward",
    fix="set ctx.y = None in backward (only if backward always runs)",
    expects=[
        Expect("ctx", "del", because="backward cut the cycle before the last name went"),
        Expect("y", "del", on="torch-*"),
    ],
)
def ctx_drops_output_in_backward(lab):
    """The same Function, whose backward ends with `ctx.y = None`.

    After backward the edge ctx -> y is gone and dropping the name frees everything. It is the weakest of the fixes: an
    output that is never sent through backward (a discarded sample, an exception on the way, an evaluation) leaks as
    before, and a second backward finds the attribute gone.
    """

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.y = x * 2
            lab.watch("ctx", ctx)
            return ctx.y

        @staticmethod
        def backward(ctx, grad):
            ctx.y = None
            return grad * 2

    y = Double.apply(lab.tensor(requires_grad=True))
    lab.watch("y", y)
    lab.stage("forward done")
    y.sum().backward()
    lab.stage("backward done")
    del y
    lab.stage("output dropped", all_names_gone=True)


def cut_afterwards(lab, cut):
    """Runs the leaking Function, then cuts its cycle from outside."""

    def keep(ctx, y):
        ctx.y = y

    y = doubling(lab, keep).apply(lab.tensor(requires_grad=True))
    lab.watch("y", y)
    lab.stage("forward done")
    lab.attempt("cut", lambda: cut(y))
    lab.stage("cycle cut")
    del y
    lab.stage("output dropped", all_names_gone=True)


CUT = [
    Expect("ctx", "del", on="torch-*", because="one edge of the cycle is gone, and a cycle needs all of them"),
    Expect("y", "del", on="torch-*"),
]


@ctx_keeps_output.fixed(
    title="The output taken off ctx from outside",
    fix="y.grad_fn.y = None (first aid for a library's Function)",
    expects=CUT,
)
def ctx_output_taken_off(lab):
    """First aid, when the Function is not yours to change: the output's grad_fn is ctx, so what forward put on it can be
    taken off through it: `y.grad_fn.y = None`."""

    def cut(y):
        y.grad_fn.y = None

    cut_afterwards(lab, cut)


@ctx_keeps_output.fixed(
    title="All attributes of ctx cleared from outside", fix="y.grad_fn.__dict__.clear() after backward", expects=CUT
)
def ctx_attributes_cleared(lab):
    """The same without knowing what the attributes are called. Saved tensors are not among them; they stay readable."""
    cut_afterwards(lab, lambda y: y.grad_fn.__dict__.clear())


@ctx_keeps_output.fixed(
    title="The output detached in place", fix="y.detach_() when its history is needed no more", expects=CUT
)
def ctx_output_detached_in_place(lab):
    """The other edge: `y.detach_()` takes the history off the output, which both the name and ctx refer to. ctx still
    keeps y, and y keeps nothing any more."""

    def cut(y):
        y.detach_()

    cut_afterwards(lab, cut)
