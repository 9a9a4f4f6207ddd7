"""Two designs that were considered instead of the inversion of ownership, and rejected; run in the mini engine."""

from gradlife.scenario import Expect, scenario

LOST = "nobody owned the node between its construction and its use"


def doubling(lab):
    """A Function y = 2x that saves its own output."""

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Double


@scenario(
    title="Rejected: a node made with ctx, behind a weak pointer",
    origin=["pytorch/pytorch#22983"],
    pattern="GL106",
    profile="torch-1.2+function_ownership=weak_at_construction",
    expects=[
        Expect("output has a grad_fn", False, probe="value", because=LOST),
        Expect("gradient of x", None, probe="value", because=LOST),
    ],
)
def node_weak_at_construction(lab):
    """The node is made when ctx is constructed, ctx points to it weakly, and the first output is to become its owner.

    It looks like the smaller change: ctx would have its node from the start, as before. But at the moment of
    construction there is no output yet, and a weak pointer is no owner: the node's count falls to zero at the end of
    the constructor. By the time forward has run there is nothing to hang the output on, and the graph ends here.

    That is why the node is made at the first call instead, in the hands of the function that will pass it on to the
    outputs, and why a Function that was constructed and never called has no node.
    """
    x = lab.tensor(requires_grad=True)
    y = doubling(lab).apply(x)
    lab.value("output has a grad_fn", y.grad_fn is not None)
    lab.attempt("backward", lambda: y.sum().backward())
    lab.value("gradient of x", x.grad)
    lab.stage("backward tried")


@node_weak_at_construction.fixed(
    title="Accepted: a node made by the call",
    fix="make the node in apply and let the outputs own it; it owns ctx",
    profile="torch-1.2",
    expects=[
        Expect("output has a grad_fn", True, probe="value"),
        Expect("gradient of x", [2.0] * 4, probe="value", because="output -> node -> ctx, with a weak way back"),
    ],
)
def node_made_by_the_call(lab):
    """The design of PyTorch 1.2: the same program, with the node made by `apply`."""
    x = lab.tensor(requires_grad=True)
    y = doubling(lab).apply(x)
    lab.value("output has a grad_fn", y.grad_fn is not None)
    lab.attempt("backward", lambda: y.sum().backward())
    lab.value("gradient of x", x.grad)
    lab.stage("backward tried")


def read_and_drop(y):
    """Read the saved output of y's node, use it, and drop both."""
    (saved,) = y.grad_fn.saved_tensors
    used = saved * 2
    del saved, used


@scenario(
    title="Rejected: ask ctx's reference count before deleting",
    origin=["pytorch/pytorch#16888", "pytorch/pytorch#22983"],
    pattern="GL106",
    profile="torch-1.1+function_ownership=refcount_check",
    expects=[
        Expect(
            "gradient of x",
            [2.0] * 4,
            probe="value",
            because="the count showed the deleter that there are other owners",
        ),
        Expect(
            "next functions of a held grad_fn", ["AccumulateGrad"], probe="value", because="ctx still contains its node"
        ),
    ],
)
def refcount_asked_before_deleting(lab):
    """The node stays embedded in ctx, and the deleter that strips edges first asks whether ctx's reference count is one.

    It does mend the program of issue 18619: when the rebuilt tensor goes, the count of ctx is two, and nothing is
    stripped. What it leaves as it was: a node with several control blocks that know nothing of each other, now with a
    Python count read as a hint about C++ owners. The count means something only under the interpreter lock, which the
    deleter has to take for every node; any name in a debugger changes the answer; and the owner is still owned by what
    it owns. So the symptom was left alone and the ownership inverted.
    """
    x = lab.tensor(requires_grad=True)
    y = doubling(lab).apply(x)
    read_and_drop(y)
    y.sum().backward()
    lab.value("gradient of x", x.grad)
    node = y.grad_fn
    del y
    lab.attempt("next functions of a held grad_fn", lambda: [type(after).__name__ for after, _ in node.next_functions])
    lab.stage("backward done")


@refcount_asked_before_deleting.fixed(
    title="Accepted: one count for one node",
    fix="the node owns ctx; every holder of the node shares one count",
    profile="torch-1.2",
    expects=[
        Expect(
            "gradient of x",
            [2.0] * 4,
            probe="value",
            because="no second control block exists that could reach zero on its own",
        ),
    ],
)
def one_count_for_one_node(lab):
    """The same program with the ownership inverted: there is one count, so there is nothing to ask."""
    x = lab.tensor(requires_grad=True)
    y = doubling(lab).apply(x)
    read_and_drop(y)
    y.sum().backward()
    lab.value("gradient of x", x.grad)
    lab.stage("backward done")
