"""A tensor hook that closes over its own tensor."""

from gradlife.scenario import Expect, scenario

BEFORE_TRAVERSAL = "torch<1.10"
ONEFLOW = "the collector knows nothing of OneFlow's tensors"


def over(tensor):
    """A hook that holds a tensor: it scales the gradient by the tensor's size."""

    def hook(grad):
        return grad * tensor.numel()

    return hook


def by_argument(count):
    """The same hook, given the number that it needs."""

    def hook(grad):
        return grad * count

    return hook


@scenario(
    title="A leaf's hook over the leaf",
    origin=["pytorch/pytorch#25340", "pytorch/pytorch#58271"],
    pattern="GL350",
    expects=[
        Expect("hook", "never", on="oneflow-0.9", because=ONEFLOW),
        Expect(
            "hook", "gc", on="torch-*", because="both owners of a leaf's hook dictionary are shown to the collector"
        ),
        Expect("x", "gc", on="torch-*"),
    ],
)
def leaf_hook_over_leaf(lab):
    """`x.register_hook(hook)` where x is a leaf and the hook's closure refers to x.

    Hook registered: x's wrapper -> hook dictionary -> hook -> closure cell -> x. The dictionary has two owners, the
    wrapper and the leaf's C++ list of hooks, and the wrapper's traverse shows both.

    Name dropped: a cycle that the collector sees as a whole, so it is freed when it runs (`gc`), in every release of
    PyTorch. Until then the leaf, its gradient and its memory stay. OneFlow never frees it.

    Fix: let the hook use its argument, or hold what it needs and not the tensor.
    """
    x = lab.tensor(requires_grad=True)
    hook = over(x)
    x.register_hook(hook)
    lab.watch("x", x)
    lab.watch("hook", hook)
    del hook
    lab.stage("hook registered")
    del x
    lab.stage("name dropped", all_names_gone=True)


@leaf_hook_over_leaf.fixed(
    title="A leaf's hook without the leaf",
    fix="give the hook the number that it needs, not the tensor",
    expects=[
        Expect("x", "del", on="torch-*"),
        Expect("hook", "del", on="torch-*", because="the leaf owns the hook and nothing owns the leaf"),
    ],
)
def leaf_hook_by_argument(lab):
    """The same hook closes over a number: leaf -> dictionary -> hook, and the end."""
    x = lab.tensor(requires_grad=True)
    hook = by_argument(x.numel())
    x.register_hook(hook)
    lab.watch("x", x)
    lab.watch("hook", hook)
    del hook
    lab.stage("hook registered")
    del x
    lab.stage("name dropped", all_names_gone=True)


@scenario(
    title="An activation's hook over the activation",
    origin=["pytorch/pytorch#12863", "jacobgil/pytorch-grad-cam#88"],
    pattern="GL351",
    expects=[
        Expect(
            "hook",
            "never",
            on="torch-* oneflow-0.9",
            because="the node owns the dictionary, too, and shows it to the collector only when nothing but its wrapper owns it",
        ),
        Expect("y", "never", on="torch-*"),
    ],
)
def activation_hook_over_activation(lab):
    """`y.register_hook(hook)` where y is the result of an operation and the hook's closure refers to y.

    Hook registered: here the gradient passes through y's grad_fn, so the hook dictionary has a third owner, the C++ node:
    y -> grad_fn -> dictionary -> hook -> y. Backward done: backward frees no hooks, so it does not help.

    Name dropped: the collector sees y -> dictionary -> hook -> y and finds one reference to the dictionary that it
    cannot explain, the node's. It takes the dictionary for held from outside and leaves all of it alone, for ever
    (`never`), in every release. This is how a Grad-CAM loses one activation for each picture.

    Fix: remove the hook when the gradient has come, or write it so that it does not refer to y.
    """
    y = lab.tensor(requires_grad=True) * 2
    hook = over(y)
    y.register_hook(hook)
    lab.watch("y", y)
    lab.watch("hook", hook)
    del hook
    lab.stage("hook registered")
    y.sum().backward()
    lab.stage("backward done")
    del y
    lab.stage("name dropped", all_names_gone=True)


@activation_hook_over_activation.fixed(
    title="An activation's hook removed",
    fix="handle.remove() when it has done its work",
    expects=[
        Expect(
            "hook",
            "dead",
            probe="expiry",
            stage="hook removed",
            on="torch-*",
            because="all owners share one dictionary; removing the entry frees the hook",
        ),
        Expect("y", "del", on="torch-*"),
        Expect("hook", "del", on="torch-*"),
    ],
)
def activation_hook_removed(lab):
    """The same program keeps the handle and calls `handle.remove()` after backward. The handle knows the dictionary
    weakly and takes its entry out. All three owners look at the same dictionary, so the hook is gone at once, and with it
    the way back to y."""
    y = lab.tensor(requires_grad=True) * 2
    hook = over(y)
    handle = y.register_hook(hook)
    lab.watch("y", y)
    lab.watch("hook", hook)
    del hook
    y.sum().backward()
    lab.stage("backward done")
    lab.attempt("remove", lambda: handle.remove())
    lab.stage("hook removed")
    del y, handle
    lab.stage("name dropped", all_names_gone=True)


@activation_hook_over_activation.fixed(
    title="An activation's hook without the activation",
    fix="use the gradient that the hook is given",
    expects=[Expect("y", "del", on="torch-*"), Expect("hook", "del", on="torch-*")],
)
def activation_hook_by_argument(lab):
    """The same hook closes over a number. y -> grad_fn -> dictionary -> hook, and no way back."""
    y = lab.tensor(requires_grad=True) * 2
    hook = by_argument(y.numel())
    y.register_hook(hook)
    lab.watch("y", y)
    lab.watch("hook", hook)
    del hook
    lab.stage("hook registered")
    y.sum().backward()
    lab.stage("backward done")
    del y
    lab.stage("name dropped", all_names_gone=True)


@scenario(
    title="A Function's output with a hook over it",
    origin=["pytorch/pytorch#58271", "pytorch/pytorch#102174"],
    pattern="GL351",
    expects=[
        Expect(
            "hook",
            "never",
            on=BEFORE_TRAVERSAL + " oneflow-0.9",
            because="the collector sees no edge from a tensor to its grad_fn",
        ),
        Expect(
            "hook",
            "gc",
            on="torch>=1.10,<2.0",
            because="the output shows its grad_fn, and ctx shows the node's hooks",
        ),
        Expect(
            "hook",
            "never",
            on="torch-2.*",
            because="ctx shows the node's hooks only when nothing but ctx owns the node, and the output does",
        ),
    ],
)
def function_output_hook_over_output(lab):
    """The same with a custom Function's output, whose node has a Python object beside it that the collector knows.

    In PyTorch 1.10 to 1.13 the whole road was shown: y -> grad_fn (ctx) -> hook dictionary -> hook -> y, and the
    collector freed it. That was too much: a node that C++ needed could lose its hooks to the collector (issue 102174).
    Since then a node shows its hooks only when its wrapper is its sole owner, which is not so while its output lives,
    and the story is `never` again.
    """

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    y = Double.apply(lab.tensor(requires_grad=True))
    hook = over(y)
    y.register_hook(hook)
    lab.watch("hook", hook)
    del hook
    lab.stage("hook registered")
    del y
    lab.stage("name dropped", all_names_gone=True)


@function_output_hook_over_output.fixed(
    title="A Function's output with its hook removed",
    fix="handle.remove()",
    expects=[Expect("hook", "del", on="torch-*")],
)
def function_output_hook_removed(lab):
    """The same hook, removed before the output goes."""

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    y = Double.apply(lab.tensor(requires_grad=True))
    hook = over(y)
    handle = y.register_hook(hook)
    lab.watch("hook", hook)
    del hook
    lab.stage("hook registered")
    lab.attempt("remove", lambda: handle.remove())
    del y, handle
    lab.stage("name dropped", all_names_gone=True)
