"""A subclass of Tensor that only C++ holds: its type, its slots, and how often `__del__` runs."""

from functools import partial

from gradlife.scenario import Expect, scenario

PRESERVING = "torch>=1.10"
CACHED = "torch<1.10 oneflow-*"
LOST = "C++ knows no Python class: the new wrapper is a plain Tensor"


def as_subclass(kind, tensor):
    """The tensor as an object of the subclass, by whichever way this release has."""
    if hasattr(tensor, "as_subclass"):
        return tensor.as_subclass(kind)
    if hasattr(kind, "_make_subclass"):
        return kind._make_subclass(kind, tensor)
    return kind(tensor.tolist())


def mark(grad):
    """Write a slot and an attribute."""
    grad.slot = 7
    grad.tag = [1, 2]


@scenario(
    title="a subclass with slots, stored as x.grad",
    origin=["pytorch/pytorch#55686", "pytorch/pytorch#56017"],
    pattern="GL201",
    expects=[
        Expect("type", "Tagged", probe="value", on=PRESERVING, because="the wrapper itself was kept"),
        Expect("type", "Tensor", probe="value", on=CACHED, because=LOST),
        Expect("slot", 7, probe="value", on=PRESERVING, because="slots are part of the wrapper, which was kept"),
        Expect("slot", "AttributeError: 'Tensor' object has no attribute 'slot'", probe="value", on=CACHED),
        Expect("attribute", [1, 2], probe="value", on=PRESERVING, because="its __dict__ was kept with it"),
        Expect("attribute", "AttributeError: 'Tensor' object has no attribute 'tag'", probe="value", on=CACHED),
    ],
)
def subclass_with_slots_in_grad(lab):
    """A tensor subclass is a Python class on top of the wrapper: class, `__slots__` and `__dict__` are all Python's.

    The story makes a `Tagged` gradient, hands it to `x.grad` and drops its own name. Now C++ holds the impl. If the
    impl does not own the wrapper, the next `x.grad` gives a plain Tensor: same numbers, same memory, and the class,
    the slot and the attribute gone without an error. Quantised, named or logging subclasses were not reliable
    before torch 1.10 for this reason. The fix there: keep the subclass object in Python for as long as it must come
    back.
    """
    fw = lab.fw

    class Tagged(fw.Tensor):
        __slots__ = ("slot",)

    x = fw.ones(3, requires_grad=True)
    grad = as_subclass(Tagged, fw.ones(3))

    lab.attempt("written", partial(mark, grad))
    x.grad = grad
    del grad
    others = [fw.ones(1) for _ in range(4)]
    lab.collect()
    lab.value("type", type(x.grad).__name__)
    lab.attempt("slot", lambda: x.grad.slot)
    lab.attempt("attribute", lambda: x.grad.tag)
    lab.stage("read back")
    del others


@scenario(
    title="__del__ of a subclass, stored as x.grad",
    origin=["pytorch/pytorch#56017", "Oneflow-Inc/oneflow#9500"],
    expects=[
        Expect("finalizers run", [0, 0, 0, 0, 1], probe="value", on=PRESERVING, because="a death called off runs none"),
        Expect(
            "finalizers run", [0, 1, 1, 1, 1], probe="value", on=CACHED, because="the wrapper dies with its last name"
        ),
    ],
)
def finalizer_runs_once(lab):
    """How often does `__del__` of a tensor run, when its wrapper is dropped and fetched again?

    Counted after each of: stored in x.grad; last name dropped; fetched and dropped; fetched and dropped again;
    `x.grad = None`. Up to torch 1.9 the finalizer runs at the first drop, while the tensor itself lives on. From
    1.10 to 2.9 the wrapper's deallocation is called off at that point (it is *resurrected*: ownership flips to
    C++), which must happen before the finalizer or `__del__` would run each time. From 2.10 on the count never
    reaches zero while C++ holds the tensor. Either way the answer is the one a Python programmer expects: once, at
    the end.
    """
    fw = lab.fw
    counted = [0]

    class Finalized(fw.Tensor):
        def __del__(self):
            counted[0] += 1

    def fetch_and_drop():
        grad = x.grad
        del grad

    x = fw.ones(3, requires_grad=True)
    grad = as_subclass(Finalized, fw.ones(3))
    x.grad = grad
    seen = [counted[0]]
    del grad
    seen.append(counted[0])
    fetch_and_drop()
    seen.append(counted[0])
    fetch_and_drop()
    seen.append(counted[0])
    x.grad = None
    lab.collect()
    seen.append(counted[0])
    lab.value("finalizers run", seen)
    lab.stage("counted")
