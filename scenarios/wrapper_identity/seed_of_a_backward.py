"""The tensor passed to backward(): which part of the engine sees the same object?"""

from gradlife.scenario import Expect, scenario


@scenario(
    title="the gradient that backward is given",
    origin=["pytorch/pytorch#11165"],
    pattern="GL201",
    needs="Tensor.data_ptr",
    expects=[
        Expect(
            "seed reaches the Function",
            True,
            probe="value",
            on="torch-*",
            because="an engine input is passed on as it is",
        ),
        Expect("x.grad is the seed", False, probe="value", because="somebody else holds the seed, so it is copied"),
        Expect("x.grad shares its memory", False, probe="value"),
        Expect("seed", "del", on="torch-*", because="the engine keeps no reference once backward has returned"),
    ],
)
def seed_of_a_backward(lab):
    """`y.backward(seed)` with a Function that hands its gradient on: the seed travels to the leaf unchanged.

    Backward done: the Function's backward is given the very object, attributes and all, since the name `seed` kept its
    wrapper alive. The leaf's accumulator would love to store the tensor itself as `x.grad` (it does so with a gradient
    that nobody else holds: stealing saves a copy). Here the caller still holds it, and a later `x.grad += ...` must not
    change the caller's tensor; so it is copied.

    Names dropped: nothing in the engine holds the seed.
    """
    seen = []
    seed = lab.tensor()

    class Pass(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x.clone()

        @staticmethod
        def backward(ctx, grad):
            seen.append(grad is seed)
            return grad

    x = lab.tensor(requires_grad=True)
    Pass.apply(x).backward(seed)
    lab.value("seed reaches the Function", seen[0])
    lab.value("x.grad is the seed", x.grad is seed)
    lab.value("x.grad shares its memory", x.grad.data_ptr() == seed.data_ptr())
    lab.watch("seed", seed)
    lab.stage("backward done")
    del seed, x
    seen = None
    lab.stage("names dropped", all_names_gone=True)
