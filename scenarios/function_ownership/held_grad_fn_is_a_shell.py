"""What still works on a grad_fn whose outputs are gone depends on the ownership in that release."""

from gradlife.scenario import Expect, scenario

STAGE = "only grad_fn is held"
SHELL = "the output owned the node and ctx had only a weak pointer to it: what is held is an empty shell"
OWNS = "whoever holds ctx holds the node"
LEGACY = (
    "Attribute '%s' is invalid for this instance of _C._FunctionBase. Accessing this attribute directly on an "
    "instance of autograd.Function is a legacy access pattern that is no longer supported. For examples on how to "
    "use new%sstyle autograd functions, see (link)"
)
WEAK_1_X = "torch>=1.8,<2.0"
WEAK_2_X = "torch>=2.9,<2.13"
OWNING = "torch-1.1 torch>=2.13"
NEVER_CALLED = {
    "next_functions": "Legacy autograd function had next_functions accessed before the function was invoked.  This "
    "doesn't make any sense: we have no idea what the next functions are, because you haven't actually inserted "
    "this grad_fn inside a graph.  Try invoking your function first before accessing this field.",
    "register_hook": "Legacy autograd function had _register_hook called before the function was invoked.  This "
    "usage pattern is no longer supported: please call _register_hook AFTER calling your function, or port your "
    "code to use non-legacy autograd function, see: (link)",
}
NO_NODE = (
    "You attempted to access the anomaly metadata of a custom autograd function but the underlying PyNode has "
    "already been deallocated.  The most likely reason this occurred is because you assigned x.grad_fn to a local "
    "variable and then let the original variable get deallocated.  Don't do that!  If you really have no way of "
    "restructuring your code so this is the case"
)
FREED_1_2 = (
    "Trying to backward through the graph a second time, but the buffers have already been freed. Specify "
    "retain_graph=True when calling backward the first time."
)


def error(text):
    """How `Lab.attempt` records a RuntimeError: at most 330 characters."""
    return ("RuntimeError: " + text)[:330]


def doubling(lab):
    """A Function y = 2x that saves its input."""

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Double


def ask(lab, node):
    """Try everything that one may ask a grad_fn for."""
    lab.attempt("next_functions", lambda: [type(after).__name__ for after, _ in node.next_functions])
    lab.attempt("saved_tensors", lambda: len(node.saved_tensors))
    lab.attempt("register_hook", lambda: type(node.register_hook(lambda *grads: None)).__name__)
    lab.attempt("metadata", lambda: dict(node.metadata))
    lab.attempt("name", lambda: node.name())
    lab.attempt("needs_input_grad", lambda: node.needs_input_grad)
    lab.stage(STAGE)


@scenario(
    title="A held grad_fn is an empty shell",
    origin=["pytorch/pytorch#22983", "pytorch/pytorch#22998", "pytorch/pytorch#179924"],
    pattern="GL105",
    expects=[
        Expect("next_functions", ["AccumulateGrad"], probe="value", stage=STAGE, on=OWNING, because=OWNS),
        Expect(
            "next_functions",
            error(NEVER_CALLED["next_functions"]),
            probe="value",
            stage=STAGE,
            on="torch-1.2",
            because=SHELL,
        ),
        Expect(
            "next_functions",
            error(LEGACY % ("next_functions", "-")),
            probe="value",
            stage=STAGE,
            on=WEAK_1_X,
            because=SHELL,
        ),
        Expect(
            "next_functions",
            error(LEGACY % ("next_functions", "\u2011")),
            probe="value",
            stage=STAGE,
            on=WEAK_2_X,
            because=SHELL,
        ),
        Expect("saved_tensors", 1, probe="value", stage=STAGE, on=OWNING, because=OWNS),
        Expect("saved_tensors", error(FREED_1_2), probe="value", stage=STAGE, on="torch-1.2", because=SHELL),
        Expect("register_hook", "RemovableHandle", probe="value", stage=STAGE, on=OWNING, because=OWNS),
        Expect(
            "register_hook",
            error(NEVER_CALLED["register_hook"]),
            probe="value",
            stage=STAGE,
            on="torch-1.2 torch-1.8",
            because=SHELL,
        ),
        Expect(
            "register_hook",
            error(LEGACY % ("register_hook", "-")),
            probe="value",
            stage=STAGE,
            on=WEAK_1_X,
            because=SHELL,
        ),
        Expect(
            "register_hook",
            error(LEGACY % ("register_hook", "\u2011")),
            probe="value",
            stage=STAGE,
            on=WEAK_2_X,
            because=SHELL,
        ),
        Expect("metadata", {}, probe="value", stage=STAGE, on=OWNING, because=OWNS),
        Expect("metadata", error(NO_NODE), probe="value", stage=STAGE, on="torch-*", because=SHELL),
        Expect("name", "DoubleBackward", probe="value", stage=STAGE, on="torch>=2.13", because=OWNS),
        Expect("name", error(LEGACY % ("name", "-")), probe="value", stage=STAGE, on=WEAK_1_X, because=SHELL),
        Expect("name", error(LEGACY % ("name", "\u2011")), probe="value", stage=STAGE, on=WEAK_2_X, because=SHELL),
        Expect(
            "needs_input_grad", [True], probe="value", stage=STAGE, on="torch-*", because="ctx itself keeps the answer"
        ),
    ],
)
def held_grad_fn_is_a_shell(lab):
    """`node = y.grad_fn`, then `del y`, then ask the node what every grad node can be asked.

    For a custom Function grad_fn *is* the ctx object, a Python object beside the C++ node. So the question is which of
    the two owns the other.

    PyTorch 1.1: the node is a part of ctx. Holding grad_fn holds everything, and every question is answered.

    PyTorch 1.2 to 2.10 (after PR 22983): the node owns ctx, and ctx has a weak pointer back. That repaired the lost
    gradients of 1.1, at a price: once the last output is gone the node dies, and the name `node` holds an empty shell.
    1.2 answers as if the Function had never been called ("buffers have already been freed" though no backward ran);
    later releases name a legacy access pattern. 1.8.1 even crashes on `name()`.

    PyTorch 2.13: wrapper and node keep each other by coupled counts, so the held grad_fn is whole again.

    Fix that works everywhere: hold an output, not its grad_fn.
    """
    y = doubling(lab).apply(lab.tensor(requires_grad=True))
    node = y.grad_fn
    del y
    ask(lab, node)


@held_grad_fn_is_a_shell.fixed(
    title="A held output keeps its grad_fn whole",
    fix="hold an output (or anything computed from it) instead of its grad_fn",
    expects=[
        Expect("next_functions", ["AccumulateGrad"], probe="value", stage=STAGE, on="torch-*"),
        Expect("saved_tensors", 1, probe="value", stage=STAGE, on="torch-*"),
        Expect("register_hook", "RemovableHandle", probe="value", stage=STAGE, on="torch-*"),
        Expect("metadata", {}, probe="value", stage=STAGE, on="torch-*"),
        Expect("needs_input_grad", [True], probe="value", stage=STAGE, on="torch-*"),
    ],
)
def held_output_keeps_grad_fn_whole(lab):
    """The same questions while the output is alive: output -> node -> ctx in every release, so every answer is there.
    Note that this also keeps what the node saved."""
    y = doubling(lab).apply(lab.tensor(requires_grad=True))
    ask(lab, y.grad_fn)
    del y
