"""`id(x.grad)` read again and again."""

from gradlife.scenario import Expect, scenario

CACHED = "torch<1.10 oneflow-0.8"


def leaf_with_grad(fw):
    """A leaf whose gradient was not read yet."""
    x = fw.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    return x


def ids_of_grad(fw, x, reads=8):
    """The ids that x.grad has over several reads, while other tensors are made and kept in between."""
    ids, others = [], []
    for _ in range(reads):
        ids.append(id(x.grad))
        others.append([fw.ones(1) for _ in range(4)])
    return set(ids)


@scenario(
    title="x.grad read again and again, no name kept",
    origin=["Oneflow-Inc/oneflow#9500", "Oneflow-Inc/oneflow#9544", "pytorch/pytorch#55686"],
    pattern="GL201",
    expects=[
        Expect("one id over 8 reads", False, probe="value", on=CACHED, because="each read makes a wrapper anew"),
        Expect("one id over 8 reads", True, probe="value", because="C++ keeps the wrapper that it once gave out"),
        Expect(
            "distinct ids of 8 reads in a row",
            2,
            probe="value",
            on="mini:oneflow-0.8",
            because="the engine makes the new wrapper before the old one's memory is free: two addresses take turns",
        ),
        Expect("distinct ids of 8 reads in a row", 1, probe="value", on="torch>=1.10"),
    ],
)
def grad_id_without_a_name(lab):
    """Is `x.grad` one Python object or many?

    After `backward()` the gradient lives in C++: x's autograd data holds the tensor impl, and no Python object stands
    for it yet. The first `x.grad` makes a wrapper, a Python object that holds the impl strongly.

    What holds the wrapper? Where the impl only borrows a pointer back to it (torch up to 1.9, OneFlow up to 0.8),
    nobody does: when `id()` returns, the wrapper dies, and the next `x.grad` makes another one. The reporter saw ids
    that took turns between two addresses. As recorded on 0.8.0, eight reads in a row give one address and reads with
    other tensors in between give many: where the allocator puts the next wrapper is chance. Everything that the wrapper
    carried is lost too: attributes, subclass, weak references, its place in a dict keyed by id.

    Where the impl owns the wrapper as soon as anybody in C++ owns the impl (torch from 1.10 on, OneFlow 0.9), the id
    stays. The fix in your own code, which works everywhere: keep the object that you want to recognise again.
    """
    fw = lab.fw
    x = leaf_with_grad(fw)
    lab.value("one id over 8 reads", len(ids_of_grad(fw, x)) == 1)
    y = leaf_with_grad(fw)
    lab.value("distinct ids of 8 reads in a row", len({id(y.grad) for _ in range(8)}))
    lab.identity("x.grad", lambda: x.grad)
    lab.stage("read")


@grad_id_without_a_name.fixed(
    title="x.grad read again and again, a name kept",
    fix="keep the object: `grad = x.grad`, then ask `x.grad is grad`",
    expects=[
        Expect("one id over 8 reads", True, probe="value", because="the living wrapper is found through the impl"),
        Expect("x.grad is grad", True, probe="value", because="every design but making wrappers anew answers so"),
    ],
)
def grad_id_with_a_name(lab):
    """One held name makes the id stable in every release.

    While `grad` is held, the wrapper lives, and the impl's pointer back to it, owned or borrowed, leads every read
    to the same object. This is what the reporter of the OneFlow bug found out first: with `a_grad = a.grad` the ids
    stay.
    """
    fw = lab.fw
    x = leaf_with_grad(fw)
    grad = x.grad
    lab.value("one id over 8 reads", ids_of_grad(fw, x) == {id(grad)})
    lab.value("x.grad is grad", x.grad is grad)
    lab.watch("x.grad", grad)
    lab.stage("a name kept")
    del grad
    lab.stage("only C++ holds it")
