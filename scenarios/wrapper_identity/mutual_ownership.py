"""A rejected design: the wrapper and the tensor behind it own each other."""

from gradlife.scenario import Expect, scenario


def gradient(lab):
    """A leaf, and the wrapper of its gradient, which was read once."""
    x = lab.tensor(requires_grad=True)
    (x * 2).sum().backward()
    return x, x.grad


@scenario(
    title="Rejected: a wrapper and its impl own each other",
    origin=["Oneflow-Inc/oneflow#9500"],
    pattern="GL201",
    profile="torch-1.10+tensor_identity=mutual",
    expects=[
        Expect(
            "same object", True, probe="value", because="the impl owns its wrapper, so the wrapper is there to find"
        ),
        Expect("named, beyond its names", 1, probe="refcount", because="the impl's reference"),
        Expect(
            "grad", "never", because="wrapper -> impl -> wrapper, and the collector does not see the impl's pointer"
        ),
    ],
)
def wrapper_and_impl_own_each_other(lab):
    """The issue's first thought, and why it was not taken: let the impl own its wrapper as the wrapper owns the impl.

    The identity of `x.grad` is right from the first reading on. But the two are a classic cycle, with one arm in C++: no
    count can ever reach zero, and no `tp_traverse` shows the impl's arm to the collector. Every tensor that Python has
    seen once lives for ever.
    """
    x, grad = gradient(lab)
    first = id(grad)
    lab.watch("grad", grad)
    lab.refcount("named, beyond its names", grad)
    del grad
    lab.value("same object", id(x.grad) == first)
    lab.stage("name dropped")
    x.grad = None
    del x
    lab.stage("all dropped", all_names_gone=True)


@wrapper_and_impl_own_each_other.fixed(
    title="Accepted: ownership flips between a wrapper and its impl",
    fix="one owner at a time: the impl owns the wrapper only while Python does not",
    profile="torch-1.10",
    expects=[
        Expect("same object", True, probe="value", because="while no name holds it, the impl owns the wrapper"),
        Expect("named, beyond its names", 0, probe="refcount", because="while a name holds it, the impl does not"),
        Expect("grad", "del", because="there is one owner at a time, so the last one to go frees both"),
    ],
)
def wrapper_and_impl_take_turns(lab):
    """The issue's proposal, which OneFlow 0.9 follows, and PyTorch 1.10 before it. `five_states_of_a_wrapper` has the steps."""
    x, grad = gradient(lab)
    first = id(grad)
    lab.watch("grad", grad)
    lab.refcount("named, beyond its names", grad)
    del grad
    lab.value("same object", id(x.grad) == first)
    lab.stage("name dropped")
    x.grad = None
    del x
    lab.stage("all dropped", all_names_gone=True)
