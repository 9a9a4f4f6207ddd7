"""What Python's collector may do to a wrapper that C++ still needs."""

import gc
import weakref

from gradlife.scenario import Expect, scenario

CACHED = "torch<1.10"
PRESERVING = "torch-*"  # of what is left
ONEFLOW = "oneflow-*"
NO_TAG = "AttributeError: 'Tensor' object has no attribute 'tag'"


def leaf_with_grad(fw):
    """A leaf whose gradient was not read yet."""
    x = fw.ones(3, requires_grad=True)
    (x * 2).sum().backward()
    return x


@scenario(
    title="a cycle on a wrapper that C++ holds",
    origin=["pytorch/pytorch#75932", "pytorch/pytorch#56017"],
    pattern="GL204",
    expects=[
        Expect(
            "tag after gc", NO_TAG, probe="value", on=CACHED, because="the wrapper was garbage, and a new one was made"
        ),
        Expect("tag after gc", "kept", probe="value", on=PRESERVING, because="one reference is not the collector's"),
        Expect("tag after gc", NO_TAG, probe="value", on=ONEFLOW, because="a OneFlow tensor has no __dict__"),
        Expect("gradient after gc", [2.0, 2.0, 2.0], probe="value"),
    ],
)
def collector_spares_what_cpp_holds(lab):
    """`g.me = g` on a gradient, then no name, then gc: may the collector break the cycle?

    The wrapper is tied to itself in Python and owned by x's gradient slot in C++. If the collector cleared its
    `__dict__`, the next `x.grad` would hand out a damaged object. With coupled counts (torch 2.10) it finds one
    reference that no Python object accounts for and leaves the wrapper alone. With resurrection (1.10 to 2.9) the
    wrapper hides what it refers to while C++ owns it, to the same end. With a borrowed pointer (1.9) it is garbage,
    collected, and forgotten.
    """
    x = leaf_with_grad(lab.fw)

    def tie():
        grad = x.grad
        grad.me = grad
        grad.tag = "kept"

    lab.attempt("tied", tie)
    lab.collect()
    lab.attempt("tag after gc", lambda: x.grad.tag)
    lab.value("gradient after gc", x.grad)
    lab.stage("collected")
    x.grad = None


@scenario(
    title="a dead cycle that owns a wrapper which C++ holds",
    origin=["pytorch/pytorch#75932", "pytorch/pytorch#145253", "pytorch/pytorch#136358"],
    pattern="GL204",
    expects=[
        Expect("made", None, probe="value", on="torch-* mini:[!o]*"),
        Expect("made", "TypeError: cannot create weak reference to 'Tensor' object", probe="value", on=ONEFLOW),
        Expect("weak reference alive", False, probe="value", on=CACHED, because="the wrapper went with the cycle"),
        Expect(
            "weak reference alive", True, probe="value", on="torch>=2.10", because="the wrapper has an owner in C++"
        ),
        Expect("tag after gc", NO_TAG, probe="value", on=CACHED),
        Expect("tag after gc", "kept", probe="value", on="torch>=2.10"),
    ],
)
def collector_and_a_cycle_that_owns(lab):
    """A dead list that holds itself owns a live gradient's wrapper: the collector must distinguish them.

    list -> itself, list -> wrapper, and x (C++) -> impl -> wrapper. The collector clears a whole group of
    unreachable objects: weak references first, then each object's references. With resurrection the wrapper's only
    Python reference came from the group, so it was counted as part of the garbage: its weak references were cleared
    and its `__dict__` emptied, and only then did its deallocator call the death off. Attributes vanished from live
    tensors (issues 75932, 136358) and entries from weak dictionaries (145253). With coupled counts C++'s hold is a
    reference like any other.
    """
    x = leaf_with_grad(lab.fw)
    refs = []

    def tie():
        grad = x.grad
        refs.append(weakref.ref(grad))
        grad.tag = "kept"
        ring = [grad]
        ring.append(ring)

    lab.attempt("made", tie)
    lab.collect()
    if refs:
        lab.value("weak reference alive", refs[0]() is not None)
        lab.attempt("tag after gc", lambda: x.grad.tag)
    lab.stage("collected")


@scenario(
    title="how many tensors the collector knows of",
    origin=["pytorch/pytorch#56017"],
    pattern="GL206",
    expects=[
        Expect("named and unnamed", 2, probe="value", on=CACHED, because="a wrapper without a name is gone"),
        Expect("named and unnamed", 11, probe="value", on=PRESERVING, because="the graph owns 9 more wrappers"),
        Expect("named and unnamed", 0, probe="value", on=ONEFLOW, because="the collector knows no OneFlow tensor"),
        Expect("a gradient never asked for", 0, probe="value", because="no wrapper was ever made"),
        Expect("a gradient asked for once", 0, probe="value", on=CACHED, because="made and gone again"),
        Expect("a gradient asked for once", 1, probe="value", on=PRESERVING, because="made once, and kept by C++"),
        Expect(
            "a gradient asked for once", 0, probe="value", on=ONEFLOW, because="the collector knows no OneFlow tensor"
        ),
    ],
)
def tensors_known_to_the_collector(lab):
    """A popular way to hunt leaks: count the tensors in `gc.get_objects()`. What does it count?

    Wrappers. The story makes a chain of ten operations and keeps its two ends. The nine tensors in between are
    owned by the graph. Up to torch 1.9 their wrappers are gone and the count says 2: nine activations, invisible.
    From 1.10 on it says 11. A gradient that nobody asked for has no wrapper in any release and stays invisible;
    asking for it once makes it countable for good: looking changed the count.
    """
    fw = lab.fw

    def count():
        return sum(1 for thing in gc.get_objects() if type(thing) is fw.Tensor)

    lab.collect()
    before = count()
    x = fw.ones(3, requires_grad=True)
    y = x
    for _ in range(10):
        y = y.sin()
    lab.value("named and unnamed", count() - before)
    leaf = fw.ones(3, requires_grad=True)
    before = count()
    (leaf * 2).sum().backward()
    lab.value("a gradient never asked for", count() - before)
    leaf.grad.sum()
    lab.value("a gradient asked for once", count() - before)
    lab.stage("counted")
