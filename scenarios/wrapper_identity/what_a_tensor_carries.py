"""What Python can attach to a tensor while the tensor has a name."""

import gc
import weakref
from functools import partial

from gradlife.scenario import Expect, scenario

FULL = "torch-* mini:[!o]*"
ONEFLOW = "oneflow-*"
LOOKED_AT = "torch>=2.13"
KEPT = "asking for grad_fn made a wrapper, which its node owns from then on"


@scenario(
    title="what a tensor can carry",
    origin=["pytorch/pytorch#56017", "pytorch/pytorch#9500"],
    expects=[
        Expect("attribute", None, probe="value", on=FULL),
        Expect(
            "attribute",
            "AttributeError: 'Tensor' object has no attribute 'note'",
            probe="value",
            on=ONEFLOW,
            because="a OneFlow tensor has no __dict__",
        ),
        Expect("has a __dict__", True, probe="value", on=FULL),
        Expect("has a __dict__", False, probe="value", on=ONEFLOW),
        Expect("weak reference", True, probe="value", on=FULL),
        Expect(
            "weak reference", "TypeError: cannot create weak reference to 'Tensor' object", probe="value", on=ONEFLOW
        ),
        Expect("known to the collector", True, probe="value", on=FULL),
        Expect(
            "known to the collector", False, probe="value", on=ONEFLOW, because="so none of its cycles is ever found"
        ),
        Expect("subclass with an attribute", ["Tagged", 2], probe="value"),
    ],
)
def what_a_tensor_carries(lab):
    """An attribute, a weak reference, a place in a cycle, a subclass: each is state of the wrapper, not of the tensor.

    PyTorch's wrapper is a full Python object: it has a `__dict__`, takes weak references, and the collector tracks it.
    OneFlow's has none of the three; there only a Python subclass brings a `__dict__` of its own. That spares OneFlow the
    question of what becomes of an attribute when the wrapper dies, and it makes each cycle through a tensor permanent.
    """
    fw = lab.fw
    x = lab.tensor()
    lab.attempt("attribute", partial(setattr, x, "note", 1))
    lab.value("has a __dict__", hasattr(x, "__dict__"))
    lab.attempt("weak reference", lambda: weakref.ref(x)() is x)
    lab.value("known to the collector", gc.is_tracked(x))

    class Tagged(fw.Tensor):
        pass

    def tagged():
        tensor = Tagged([1.0, 2.0])
        tensor.note = 2
        return [type(tensor).__name__, tensor.note]

    lab.attempt("subclass with an attribute", tagged)
    lab.stage("asked")


@scenario(
    title="what the collector sees of a graph",
    origin=["pytorch/pytorch#58271", "pytorch/pytorch#102174"],
    pattern="GL206",
    needs="ctx_attributes",
    expects=[
        Expect("a C++ node is tracked", True, probe="value", on="torch-*"),
        Expect("a Function's node is tracked", True, probe="value", on="torch-*"),
        Expect("seen behind a C++ node", [], probe="value", because="its edges and slots are C++"),
        Expect(
            "seen behind a Function's node", ["dict"], probe="value", on="torch-*", because="ctx's attributes, no edge"
        ),
        Expect("seen behind an output", ["MulBackward0"], probe="value", on=LOOKED_AT, because=KEPT),
        Expect("seen behind an output", [], probe="value", on="torch-*", because="its grad_fn is owned by its impl"),
        Expect(
            "seen behind an output with a hook",
            ["MulBackward0", "OrderedDict"],
            probe="value",
            on=LOOKED_AT,
            because=KEPT,
        ),
        Expect(
            "seen behind an output with a hook",
            ["OrderedDict"],
            probe="value",
            on="torch-*",
            because="the hooks of a tensor are Python",
        ),
    ],
)
def what_the_collector_sees_of_a_graph(lab):
    """`gc.get_referents` along a graph x -> Function -> product: where does the road end?

    At each C++ object. The product's node is tracked and shows nothing: neither the node before it, nor what it saved. The
    Function's node shows ctx's attributes, but not what `save_for_backward` saved, and not its edges. The output shows its
    hooks. So a reference chain drawn by objgraph or gc ends at a tensor, whatever stands behind it; and a cycle
    with one such object in it looks like a chain with an open end.

    The types are listed without `type` and without what every instance has; a dictionary is counted once.
    """

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.note = [1, 2]
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    def behind(thing):
        kinds = {type(seen).__name__ for seen in gc.get_referents(thing) if not isinstance(seen, (type, tuple))}
        return sorted(kinds)

    y = Double.apply(lab.tensor(requires_grad=True))
    z = y * y
    lab.value("a C++ node is tracked", gc.is_tracked(z.grad_fn))
    lab.value("a Function's node is tracked", gc.is_tracked(y.grad_fn))
    lab.value("seen behind a C++ node", behind(z.grad_fn))
    lab.attempt("seen behind a Function's node", lambda: behind(y.grad_fn))
    lab.value("seen behind an output", behind(z))

    def hook(grad):
        return None

    lab.attempt("hooked", lambda: z.register_hook(hook) is not None)
    lab.value("seen behind an output with a hook", behind(z))
    lab.stage("asked")
