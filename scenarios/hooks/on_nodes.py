"""Hooks on a grad node that close over the node or its output."""

from gradlife.scenario import Expect, scenario

BEFORE_TRAVERSAL = "torch<1.10"
WEAK = "torch>=1.2,<2.13"


def over(obj):
    """A hook that holds an object."""

    def hook(*grads):
        held = obj  # holding it is all that this hook does with it

    return hook


def doubling(lab):
    """A Function y = 2x."""

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            lab.watch("ctx", ctx)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Double


def register_watched(lab, node, hook):
    """Register a hook on a node, watch it, and return its handle or None."""
    handles = []
    lab.attempt("registered", lambda: handles.append(node.register_hook(hook)))
    lab.watch("hook", hook)
    return handles[0] if handles else None


@scenario(
    title="A C++ node's hook over the node",
    origin=["pytorch/pytorch#102174"],
    pattern="GL352",
    expects=[
        Expect(
            "hook",
            "alive",
            probe="expiry",
            stage="output dropped",
            on="torch-*",
            because="node -> hook -> wrapper -> node",
        ),
        Expect(
            "hook", "gc", on="torch-*", because="the wrapper is the node's sole owner now and shows the node's hooks"
        ),
    ],
)
def cxx_node_hook_over_node(lab):
    """`node = y.grad_fn; node.register_hook(hook)` with a hook that refers to node.

    Hook registered: node (C++) -> hook dictionary -> hook -> the node's wrapper -> node.

    Output dropped: the wrapper is the only owner of the node that is left. In that case, and only in that case, the
    wrapper's traverse shows the node's hook dictionaries, so the collector sees the cycle and frees it (`gc`), in every
    release of PyTorch.
    """
    y = lab.tensor(requires_grad=True) * 2
    register_watched(lab, y.grad_fn, over(y.grad_fn))
    lab.stage("hook registered")
    del y
    lab.stage("output dropped", all_names_gone=True)


@cxx_node_hook_over_node.fixed(
    title="A C++ node's hook that holds nothing",
    fix="no reference from the hook to the node",
    expects=[Expect("hook", "del", on="torch-*")],
)
def cxx_node_hook_over_nothing(lab):
    """The same hook without a reference to the node goes with the node."""
    y = lab.tensor(requires_grad=True) * 2
    register_watched(lab, y.grad_fn, over(None))
    lab.stage("hook registered")
    del y
    lab.stage("output dropped", all_names_gone=True)


@scenario(
    title="A Function node's hook over its ctx",
    origin=["pytorch/pytorch#22983", "pytorch/pytorch#102174"],
    pattern="GL352",
    expects=[
        Expect(
            "hook",
            "del",
            on=WEAK,
            because="ctx does not own the node: no cycle, the output's death frees node, hook and ctx",
        ),
        Expect("ctx", "del", on=WEAK),
        Expect("hook", "gc", on="torch-1.1 torch>=2.13", because="ctx owns the node, alone, and shows its hooks"),
        Expect("ctx", "gc", on="torch-1.1 torch>=2.13"),
    ],
)
def function_node_hook_over_ctx(lab):
    """The same on a custom Function's node, whose grad_fn is ctx: who owns whom decides.

    PyTorch 1.2 to 2.10: node -> hook -> ctx, and ctx -> node is a weak pointer. The circle is open, and everything goes
    with the output. PyTorch 1.1 and 2.13: ctx owns its node, the circle is closed, and the collector has to find it.
    So the upgrade to 2.13 turns `del` into `gc` here.
    """
    y = doubling(lab).apply(lab.tensor(requires_grad=True))
    register_watched(lab, y.grad_fn, over(y.grad_fn))
    lab.stage("hook registered")
    del y
    lab.stage("output dropped", all_names_gone=True)


@scenario(
    title="A C++ node's hook over the output",
    origin=["pytorch/pytorch#12863", "pytorch/pytorch#84711"],
    pattern="GL352",
    expects=[
        Expect(
            "hook",
            "never",
            on="torch-*",
            because="the output owns the node besides its wrapper, so the node shows nothing",
        ),
        Expect("y", "never", on="torch-*"),
    ],
)
def cxx_node_hook_over_output(lab):
    """`y.grad_fn.register_hook(hook)` with a hook that refers to y.

    y -> node -> hook dictionary -> hook -> y, where the first three are C++. The collector sees hook -> y and no more.
    Lost in every release; backward does not help.

    Fix: `handle.remove()`.
    """
    y = lab.tensor(requires_grad=True) * 2
    lab.watch("y", y)
    register_watched(lab, y.grad_fn, over(y))
    lab.stage("hook registered")
    y.sum().backward()
    lab.stage("backward done")
    del y
    lab.stage("output dropped", all_names_gone=True)


@cxx_node_hook_over_output.fixed(
    title="A C++ node's hook removed",
    fix="handle.remove()",
    expects=[
        Expect(
            "hook",
            "dead",
            probe="expiry",
            stage="hook removed",
            on="torch-*",
            because="the node's dictionary has no other owner of the entry",
        ),
        Expect("y", "del", on="torch-*"),
    ],
)
def cxx_node_hook_removed(lab):
    """The same hook, removed after backward, is freed at that moment, and the output with its name."""
    y = lab.tensor(requires_grad=True) * 2
    lab.watch("y", y)
    handle = register_watched(lab, y.grad_fn, over(y))
    y.sum().backward()
    lab.stage("backward done")
    lab.attempt("remove", lambda: handle.remove())
    lab.stage("hook removed")
    del y, handle
    lab.stage("output dropped", all_names_gone=True)


@scenario(
    title="A Function node's hook over the output",
    origin=["pytorch/pytorch#58271", "pytorch/pytorch#102174"],
    pattern="GL352",
    expects=[
        Expect("ctx", "never", on=BEFORE_TRAVERSAL, because="the collector sees no edge from a tensor to its grad_fn"),
        Expect("ctx", "gc", on="torch>=1.10,<2.0", because="output -> ctx -> hooks -> output, all shown"),
        Expect("ctx", "never", on="torch-2.*", because="a node that its output owns shows no hooks"),
    ],
)
def function_node_hook_over_output(lab):
    """The same on a custom Function's node: never, then `gc` from 1.10 to 1.13, then never again, as what a node shows to
    the collector was widened (1.10) and narrowed (2.1, after issue 102174)."""
    y = doubling(lab).apply(lab.tensor(requires_grad=True))
    register_watched(lab, y.grad_fn, over(y))
    lab.stage("hook registered")
    del y
    lab.stage("output dropped", all_names_gone=True)


@function_node_hook_over_output.fixed(
    title="A Function node's hook removed",
    fix="handle.remove()",
    expects=[Expect("ctx", "del", on="torch-*"), Expect("hook", "del", on="torch-*")],
)
def function_node_hook_removed(lab):
    """The same hook, removed before the output goes."""
    y = doubling(lab).apply(lab.tensor(requires_grad=True))
    handle = register_watched(lab, y.grad_fn, over(y))
    lab.stage("hook registered")
    lab.attempt("remove", lambda: handle.remove())
    del y, handle
    lab.stage("output dropped", all_names_gone=True)


@scenario(
    title="A prehook over the output",
    origin=["pytorch/pytorch#83120"],
    pattern="GL352",
    expects=[
        Expect("hook", "never", on="torch-2.*", because="the node owns its prehooks as it owns its hooks"),
        Expect("y", "never", on="torch-2.*"),
    ],
)
def node_prehook_over_output(lab):
    """`y.grad_fn.register_prehook(hook)` with a hook that refers to y: the same cycle through another dictionary of the node.

    Prehooks run before the node and see its incoming gradient. Custom Functions have them since 1.13.
    """
    y = lab.tensor(requires_grad=True) * 2
    lab.watch("y", y)
    hook = over(y)
    lab.watch("hook", hook)
    lab.attempt("registered", lambda: type(y.grad_fn.register_prehook(hook)).__name__)
    del hook
    lab.stage("prehook registered")
    del y
    lab.stage("output dropped", all_names_gone=True)


@node_prehook_over_output.fixed(
    title="A prehook that holds nothing",
    fix="use the gradient that the prehook is given",
    expects=[Expect("hook", "del", on="torch-2.*"), Expect("y", "del", on="torch-2.*")],
)
def node_prehook_over_nothing(lab):
    """The same prehook without a reference to the output."""
    y = lab.tensor(requires_grad=True) * 2
    lab.watch("y", y)
    hook = over(None)
    lab.watch("hook", hook)
    lab.attempt("registered", lambda: type(y.grad_fn.register_prehook(hook)).__name__)
    del hook
    lab.stage("prehook registered")
    del y
    lab.stage("output dropped", all_names_gone=True)
