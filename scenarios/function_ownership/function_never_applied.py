"""A Function instance that is constructed and never applied: a ctx without a graph."""

import warnings

from gradlife.scenario import Expect, scenario

BARE = "instance never applied"
PLAIN = "Attribute 'register_hook' is invalid for this instance of _C._FunctionBase. Accessing this attribute directly on an "
WEAK_1_X = "torch>=1.9,<2.0"
BORN = "the node is made together with ctx, so it is there before any call"
UNBORN = "the node is made by the first call; before it the weak pointer is empty"
BEFORE_CALL = (
    "RuntimeError: Legacy autograd function had _register_hook called before the function was invoked.  This usage "
    "pattern is no longer supported: please call _register_hook AFTER calling your function, or port your code to "
    "use non-legacy autograd function, see: (link)"
)
INVALID = (
    "RuntimeError: Attribute 'register_hook' is invalid for this instance of _C._FunctionBase. Accessing this "
    "attribute directly on an instance of autograd.Function is a legacy access pattern that is no longer "
    "supported. For examples on how to use new%sstyle autograd functions, see (link)"
)


def never_applied(lab):
    """An instance of a Function, made in a way that no release warns about."""

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return Double()


@scenario(
    title="A Function constructed and never applied",
    origin=["pytorch/pytorch#22983", "pytorch/pytorch#179924"],
    expects=[
        Expect("register_hook", "RemovableHandle", probe="value", stage=BARE, on="torch-1.1 torch>=2.13", because=BORN),
        Expect("register_hook", BEFORE_CALL[:330], probe="value", stage=BARE, on="torch-1.2 torch-1.8", because=UNBORN),
        Expect("register_hook", (INVALID % "-")[:330], probe="value", stage=BARE, on=WEAK_1_X, because=UNBORN),
        Expect(
            "register_hook",
            (INVALID % "\u2011")[:330],
            probe="value",
            stage=BARE,
            on="torch>=2.9,<2.13",
            because=UNBORN,
        ),
        Expect("next_functions", [], probe="value", stage=BARE, on="torch>=2.13", because=BORN),
        Expect(
            "instance",
            "gc",
            on="torch-*",
            because="it is a Python object in a Python cycle, whether it has a node or not",
        ),
    ],
)
def function_never_applied(lab):
    """`f = Double()`, no call, and a cycle `f.me = f` so that only the collector can destroy it.

    Instance never applied: is there a C++ node behind f? In PyTorch 1.1 it is embedded in f. From 1.2 to 2.10 it is made
    by the first call, so f is a ctx without a node, and everything that asks for the node raises. In 2.13 constructing
    f makes the node at once.

    Name dropped: the collector finds f and calls its traverse and its clear. Both have to work in all three cases: with
    no node at all (1.2), and with a node that is destroyed from inside the collector's own clear (2.13). A traverse
    that follows the weak pointer without asking whether it is empty crashes exactly here.
    """
    f = never_applied(lab)
    lab.watch("instance", f)
    lab.attempt("register_hook", lambda: type(f.register_hook(lambda *grads: None)).__name__)
    lab.attempt("next_functions", lambda: list(f.next_functions))
    lab.stage(BARE)
    f.me = f
    del f
    lab.stage("name dropped", all_names_gone=True)


@function_never_applied.fixed(
    title="A Function instance without a cycle",
    fix="no cycle, or rather: use Double.apply and never construct a Function",
    expects=[Expect("instance", "del", on="torch-*", because="nothing but the name held it")],
)
def function_never_applied_no_cycle(lab):
    """The same instance without the cycle goes with its name, and its node, if it has one, with it."""
    f = never_applied(lab)
    lab.watch("instance", f)
    lab.stage(BARE)
    del f
    lab.stage("name dropped", all_names_gone=True)
