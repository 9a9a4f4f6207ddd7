"""A legacy Function is its own ctx. Used twice, its two calls share one ctx."""

from gradlife.scenario import Expect, scenario

OLD = "torch-1.1 torch-1.2"
REFUSED = (
    "RuntimeError: Legacy autograd function with non-static forward method is deprecated. Please use new-style "
    "autograd function with static forward method. (Example: (link))"
)
FREED = (
    "RuntimeError: Trying to backward through the graph a second time, but the buffers have already been freed. "
    "Specify retain_graph=True when calling backward the first time."
)
NOW = "torch>=1.8"
WHY_REFUSED = "an instance that is its own ctx can't be right, so calling one is refused since 1.5"


def scaling_legacy(lab):
    """A Function in the old style, y = x * 1 with the gradient grad * x: forward and backward are methods of the instance."""

    class Scale(lab.fw.autograd.Function):
        def forward(self, x):
            self.save_for_backward(x)
            return x * 1

        def backward(self, grad):
            (x,) = self.saved_tensors
            return grad * x

    return Scale


def scaling(lab):
    """The same Function in the static style: each call gets a ctx of its own."""

    class Scale(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * x

    return Scale


def leaf(lab, number):
    """A leaf of one element."""
    return lab.fw.tensor([number]).requires_grad_()


def grads(*leaves):
    """The gradients of leaves of one element, None where there is none."""
    return [None if x.grad is None else float(x.grad[0]) for x in leaves]


@scenario(
    title="A legacy instance used once",
    origin=["pytorch/pytorch#22983"],
    pattern="GL108",
    expects=[
        Expect(
            "gradient, and is grad_fn the instance",
            [[3.0], True],
            probe="value",
            on=OLD,
            because="the instance is ctx and node in one",
        ),
        Expect("gradient, and is grad_fn the instance", REFUSED, probe="value", on=NOW, because=WHY_REFUSED),
    ],
)
def legacy_used_once(lab):
    """`f = Scale(); y = f(x)`: the style of PyTorch before static methods.

    The instance is the ctx: `self.save_for_backward` fills it, and `y.grad_fn is f`. Up to 1.3 this works, in 1.1 with
    the node embedded in the instance, from 1.2 on with a node that the first call makes. From 1.5 on the call raises.
    """
    f = scaling_legacy(lab)()
    x = leaf(lab, 3.0)

    def run():
        y = f(x)
        y.backward()
        return [grads(x), y.grad_fn is f]

    lab.attempt("gradient, and is grad_fn the instance", run)
    lab.stage("backward tried")


@scenario(
    title="A legacy instance used twice",
    origin=["pytorch/pytorch#22983"],
    pattern="GL108",
    expects=[
        Expect(
            "gradients of x1 and x2",
            [None, 5.0],
            probe="value",
            on=OLD,
            because="the second call overwrote what the first had saved",
        ),
        Expect("gradients of x1 and x2", REFUSED, probe="value", on=NOW, because=WHY_REFUSED),
        Expect("one grad_fn for both", True, probe="value", on=OLD, because="the instance is the only ctx there is"),
        Expect("one grad_fn for both", "no output", probe="value", on=NOW, because=WHY_REFUSED),
    ],
)
def legacy_used_twice(lab):
    """`y = f(x1); z = f(x2); y.backward()` with one instance f.

    Both calls use the same ctx. The second overwrites the saved input, the edges and the node of the first: clobbering.
    `y.grad_fn is z.grad_fn`, and backward from y runs the second call: x1.grad stays None, x2.grad gets a gradient that
    nobody asked for, computed from x2. No error is raised.

    Fix: static forward and backward, and `Scale.apply`.
    """
    f = scaling_legacy(lab)()
    x1, x2 = leaf(lab, 3.0), leaf(lab, 5.0)
    outputs = []

    def run():
        outputs.extend([f(x1), f(x2)])
        outputs[0].backward()
        return grads(x1, x2)

    lab.attempt("gradients of x1 and x2", run)
    one = outputs[0].grad_fn is outputs[1].grad_fn if outputs else "no output"
    lab.value("one grad_fn for both", one)
    lab.stage("backward tried")


@legacy_used_twice.fixed(
    title="A static Function used twice",
    fix="static forward and backward, called by Scale.apply",
    expects=[
        Expect(
            "gradients of x1 and x2", [3.0, None], probe="value", because="each call has a ctx and a node of its own"
        ),
        Expect("one grad_fn for both", False, probe="value", on="torch-*"),
    ],
)
def static_used_twice(lab):
    """The same two calls through `Scale.apply`. Each call makes a ctx, so the first backward finds what the first call
    saved, in every release."""
    Scale = scaling(lab)
    x1, x2 = leaf(lab, 3.0), leaf(lab, 5.0)
    y, z = Scale.apply(x1), Scale.apply(x2)
    lab.attempt("gradients of x1 and x2", lambda: (y.backward(), grads(x1, x2))[1])
    lab.attempt("one grad_fn for both", lambda: y.grad_fn is z.grad_fn)
    lab.stage("backward tried")


@scenario(
    title="A legacy instance called again after its graph died",
    origin=["pytorch/pytorch#22983", "pytorch/pytorch#22998"],
    pattern="GL108",
    expects=[
        Expect(
            "gradient of the second call",
            [5.0],
            probe="value",
            on="torch-1.1",
            because="the node is a part of the instance and is used again; nothing has marked it as freed",
        ),
        Expect(
            "gradient of the second call",
            FREED,
            probe="value",
            on="torch-1.2",
            because="the first node's death left the instance marked as one whose buffers are gone",
        ),
        Expect("gradient of the second call", REFUSED, probe="value", on=NOW, because=WHY_REFUSED),
    ],
)
def legacy_called_again_after_its_graph_died(lab):
    """`f(x1)`, the output dropped, then `f(x2)` and backward.

    In PyTorch 1.1 the node is a part of the instance and is simply used again. In 1.2 it died with the first graph; the
    instance's weak pointer is empty, and the second call makes a new node. But the death of the first has set the mark
    "buffers freed" on the instance, and nothing takes it away again: the saved tensor is there, and reading it raises. A
    Function that saves nothing works (`legacy_renewed`); one that saves has to be a static one.
    """
    f = scaling_legacy(lab)()
    x1, x2 = leaf(lab, 3.0), leaf(lab, 5.0)

    def first():
        f(x1)
        return "dropped"

    def second():
        f(x2).backward()
        return grads(x2)

    lab.attempt("first call", first)
    lab.stage("first graph dead")
    lab.attempt("gradient of the second call", second)
    lab.stage("called again")


@legacy_called_again_after_its_graph_died.fixed(
    title="A static Function applied again",
    fix="static forward and backward, called by Scale.apply",
    expects=[
        Expect(
            "gradient of the second call",
            [5.0],
            probe="value",
            because="the first call's ctx is gone and of no concern",
        )
    ],
)
def static_applied_again(lab):
    """The same through `Scale.apply`: the second call has nothing to do with the first, in every release."""
    Scale = scaling(lab)
    x1, x2 = leaf(lab, 3.0), leaf(lab, 5.0)
    y = Scale.apply(x1)
    del y
    lab.stage("first graph dead")
    lab.attempt("gradient of the second call", lambda: (Scale.apply(x2).backward(), grads(x2))[1])
    lab.stage("called again")
