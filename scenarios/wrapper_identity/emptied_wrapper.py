"""A strong reference made from a weak one while C++ owned the wrapper, after which C++ releases the tensor."""

import weakref

from gradlife.scenario import Expect, scenario

CACHED = "torch<1.10 micrograd"
RESURRECT = "torch>=1.10,<2.10"
ONEFLOW = "oneflow-*"
EMPTY = "the flip emptied the wrapper's own pointer, and no call of x.grad filled it again"


def leaf_with_grad(fw):
    """A leaf whose gradient was not read yet."""
    x = fw.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    return x


@scenario(
    title="a strong reference out of a weak one, then C++ lets go",
    origin=["pytorch/pytorch#56017", "Oneflow-Inc/oneflow#9500", "pytorch/pytorch#167564"],
    pattern="GL202",
    expects=[
        Expect("wrapper", "dead at once", probe="value", on=CACHED, because="the wrapper went with its last name"),
        Expect("wrapper", "alive", probe="value", on="torch-* mini:[!o]*"),
        Expect("wrapper", "no weak reference", probe="value", on=ONEFLOW),
        Expect("shape", [0], probe="value", on=RESURRECT, because=EMPTY),
        Expect("shape", [3], probe="value", on="torch>=2.10", because="a wrapper holds its impl whatever else happens"),
        Expect("sum", 6.0, probe="value", on="torch>=2.10", because="it is an ordinary tensor"),
        Expect(
            "sum",
            "RuntimeError: Expected a Tensor of type Variable but found an undefined Tensor for argument #0 'self'",
            probe="value",
            on="torch-1.10",
            because=EMPTY,
        ),
    ],
)
def emptied_wrapper(lab):
    """State 3 of the five has a trap: the wrapper that C++ owns has given up its own hold on the impl.

    `weakref.ref(x.grad)` leaves the wrapper in the impl's hands (torch 1.10 to 2.9): the impl owns it, and its own
    `data` only borrows the impl. Calling the reference makes a *Python* reference that the framework cannot notice:
    no `x.grad` ran, so nobody made `data` an owner again or cleared `owns_pyobj`. While x still holds the impl this
    goes unseen. Then `x.grad = None` drops the impl, and what you hold is a tensor object without a tensor: shape
    `[0]`, "undefined Tensor" on use.

    The reviewers of the change saw it coming and had no way to intercept the weak reference. Coupled counts (2.10)
    end it: every living wrapper holds its impl. The fix on older releases: fetch through the owner (`x.grad`), which
    runs the hand-back, instead of through the weak reference.
    """
    x = leaf_with_grad(lab.fw)
    try:
        ref = weakref.ref(x.grad)
    except TypeError:
        lab.value("wrapper", "no weak reference")
        lab.stage("refused")
        return
    grad = ref()
    lab.value("wrapper", "dead at once" if grad is None else "alive")
    if grad is not None:
        x.grad = None
        lab.attempt("shape", lambda: list(grad.shape))
        lab.attempt("sum", lambda: float(grad.sum()))
    lab.stage("C++ let go")


@emptied_wrapper.fixed(
    title="a strong reference from the owner, then C++ lets go",
    fix="fetch through the owner (`x.grad`), which hands the wrapper back to Python, not through the weak reference",
    expects=[Expect("shape", [3], probe="value"), Expect("sum", 6.0, probe="value")],
)
def wrapper_from_its_owner(lab):
    """`x.grad` runs the framework's wrapper resurrection: the wrapper holds its impl again before C++ releases it."""
    x = leaf_with_grad(lab.fw)
    grad = x.grad
    x.grad = None
    lab.attempt("shape", lambda: list(grad.shape))
    lab.attempt("sum", lambda: float(grad.sum()))
    lab.stage("C++ let go")
