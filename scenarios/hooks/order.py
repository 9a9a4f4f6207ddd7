"""The order in which the hooks of one node run."""

from gradlife.scenario import Expect, scenario


def noting(order, name):
    """A hook that notes its name and changes nothing."""

    def hook(*grads):
        order.append(name)

    return hook


@scenario(
    title="The order of hooks",
    origin=["pytorch/pytorch#85849", "pytorch/pytorch#35802", "pytorch/pytorch#107063"],
    needs="Tensor.register_post_accumulate_grad_hook",
    expects=[
        Expect(
            "order at an activation",
            ["tensor hook", "second tensor hook", "node prehook", "backward of the Function", "node hook"],
            probe="value",
            on="torch-2.*",
            because="tensor hooks first, in the order of registration, then what belongs to the node",
        ),
        Expect(
            "order at a leaf",
            ["tensor hook", "accumulator prehook", "post-accumulate hook", "accumulator hook"],
            probe="value",
            on="torch-2.*",
        ),
        Expect(
            "gradient seen by retain_grad",
            [20.0] * 4,
            probe="value",
            on="torch-2.*",
            because="it runs last of the tensor's hooks",
        ),
    ],
)
def order_of_hooks(lab):
    """Which hook sees which gradient: the order is part of the contract, and lifetimes hang on it, since every hook may
    drop or keep what it is given.

    At an activation: hooks on the tensor, in the order of registration, then the write of `retain_grad` (it sees what
    they made of the gradient), then the node's prehooks, the node itself, and the node's hooks. At a leaf: hooks on the
    tensor, prehooks of the accumulator, the accumulation, post-accumulate hooks (`.grad` is there now), and hooks on the
    accumulator.
    """
    order = []

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            order.append("backward of the Function")
            return grad * 2

    y = Double.apply(lab.tensor(requires_grad=True))
    y.grad_fn.register_hook(noting(order, "node hook"))
    if hasattr(y.grad_fn, "register_prehook"):  # not before 1.13
        y.grad_fn.register_prehook(noting(order, "node prehook"))
    y.retain_grad()
    y.register_hook(noting(order, "tensor hook"))
    y.register_hook(lambda grad: (order.append("second tensor hook"), grad * 20)[1])
    y.sum().backward()
    lab.value("order at an activation", order)
    lab.value("gradient seen by retain_grad", y.grad)
    lab.value("order at a leaf", order_at_a_leaf(lab))
    lab.stage("backward done")


def order_at_a_leaf(lab):
    """The order of the hooks that meet at a leaf."""
    order = []
    x = lab.tensor(requires_grad=True)
    y = x * 2
    accumulator = y.grad_fn.next_functions[0][0]
    accumulator.register_hook(noting(order, "accumulator hook"))
    if hasattr(accumulator, "register_prehook"):
        accumulator.register_prehook(noting(order, "accumulator prehook"))
    x.register_post_accumulate_grad_hook(noting(order, "post-accumulate hook"))
    x.register_hook(noting(order, "tensor hook"))
    y.sum().backward()
    return order
