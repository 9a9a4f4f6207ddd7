"""A saved tensor read back from its node: the same tensor, or another one with the same values?"""

from functools import partial

from gradlife.scenario import Expect, scenario

WITHOUT = "torch<1.9"
NO_SAVED_SELF = "AttributeError: 'MulBackward0' object has no attribute '_saved_self'"
NO_SAVED_RESULT = "AttributeError: 'ExpBackward' object has no attribute '_saved_result'"
NO_NOTE = "AttributeError: 'Tensor' object has no attribute 'note'"
ITS_DATA = "the slot of an input kept its data only, up to 1.9"
ITSELF = "the slot of an input keeps the tensor's impl, whose wrapper is preserved"


@scenario(
    title="a saved input, read back",
    origin=["pytorch/pytorch#60663", "pytorch/pytorch#60975", "pytorch/pytorch#56017"],
    expects=[
        Expect("saved leaf is the leaf", NO_SAVED_SELF, probe="value", on=WITHOUT, because="first offered by 1.9"),
        Expect("saved leaf is the leaf", False, probe="value", on="torch-1.9", because=ITS_DATA),
        Expect("saved leaf is the leaf", True, probe="value", on="torch-*", because=ITSELF),
        Expect("saved hidden is hidden", NO_SAVED_SELF, probe="value", on=WITHOUT),
        Expect("saved hidden is hidden", False, probe="value", on="torch-1.9", because=ITS_DATA),
        Expect("saved hidden is hidden", True, probe="value", on="torch-*", because=ITSELF),
        Expect("note, hidden named", 5, probe="value", on="torch>=1.10", because=ITSELF),
        Expect("note, only the slot left", 5, probe="value", on="torch>=1.10", because=ITSELF),
        Expect("hidden", "dead", probe="expiry", stage="only the slot left", on="torch<1.10"),
        Expect("hidden", "alive", probe="expiry", stage="only the slot left", on="torch-*", because=ITSELF),
        Expect("hidden", "del", on="torch-*", because="the slot goes with the node, the node with the product"),
    ],
)
def saved_input_is_the_tensor(lab):
    """`hidden * hidden` saves its inputs for backward. Is what was saved `hidden` itself?

    product -> grad node -> slot -> hidden's impl. Since torch 1.10 a slot of an *input* keeps the tensor itself:
    reading `product.grad_fn._saved_self` gives the same Python object, with its attributes, even after your own
    name of it is gone. It costs nothing: no copy, no new tensor. And it means that everything hanging on that
    object (its `__dict__`, its hooks, its `.grad`) lives until backward frees the slot.

    Before 1.10 a slot kept the numbers and the history and made a new tensor at each read.
    """
    x = lab.tensor(requires_grad=True)
    square = x * x
    hidden = x.exp()
    product = hidden * hidden
    lab.attempt("noted", partial(setattr, hidden, "note", 5))
    lab.attempt("saved leaf is the leaf", lambda: square.grad_fn._saved_self is x)
    saved = lab.attempt("saved hidden", lambda: product.grad_fn._saved_self)
    if not isinstance(saved, str):
        lab.value("saved hidden is hidden", product.grad_fn._saved_self is hidden)
        lab.attempt("note, hidden named", lambda: product.grad_fn._saved_self.note)
    else:
        lab.value("saved hidden is hidden", saved)
    lab.watch("hidden", hidden)
    lab.stage("all named")
    del hidden
    lab.stage("only the slot left")
    if not isinstance(saved, str):
        lab.attempt("note, only the slot left", lambda: product.grad_fn._saved_self.note)
    product = None
    lab.stage("graph gone", all_names_gone=True)


@scenario(
    title="a saved output, read back",
    origin=["pytorch/pytorch#60663", "pytorch/pytorch#22983"],
    expects=[
        Expect("saved output is y", NO_SAVED_RESULT, probe="value", on=WITHOUT, because="first offered by 1.9"),
        Expect(
            "saved output is y", False, probe="value", on="torch-*", because="the slot must not own y: y owns the node"
        ),
        Expect("two reads give one object", False, probe="value", on="torch>=1.9"),
        Expect("note of y seen", NO_NOTE, probe="value", on="torch>=1.9"),
        Expect("shares memory with y", True, probe="value", on="torch>=1.9"),
        Expect("its grad_fn is y's", True, probe="value", on="torch>=1.9"),
    ],
)
def saved_output_is_another_tensor(lab):
    """`x.exp()` saves its own result. Reading it back never gives `y`.

    y owns its grad node. If the node's slot owned y, the two would keep each other for ever. So a slot of an
    *output* keeps only the numbers (another impl on the same storage, with the same version counter) and remembers
    that the history is the node itself. Each read builds a new tensor out of the two: same memory, same grad_fn,
    none of your attributes.

    To recognise or annotate an output, annotate y itself; do not expect to meet your object again inside its graph.
    """
    x = lab.tensor(requires_grad=True)
    y = x.exp()
    lab.attempt("noted", partial(setattr, y, "note", 5))
    lab.attempt("saved output is y", lambda: y.grad_fn._saved_result is y)
    if hasattr(y.grad_fn, "_saved_result"):
        lab.value("two reads give one object", y.grad_fn._saved_result is y.grad_fn._saved_result)
        lab.attempt("note of y seen", lambda: y.grad_fn._saved_result.note)
        lab.value("shares memory with y", y.grad_fn._saved_result.data_ptr() == y.data_ptr())
        lab.value("its grad_fn is y's", y.grad_fn._saved_result.grad_fn is y.grad_fn)
    lab.stage("read")


@scenario(
    title="saved tensors of a custom Function, met again in its backward",
    origin=["pytorch/pytorch#22983", "pytorch/pytorch#56017"],
    expects=[
        Expect("saved input is x", False, probe="value", on="torch<1.10", because="each read made a new tensor"),
        Expect("saved input is x", True, probe="value", on="torch-*", because=ITSELF),
        Expect(
            "saved output is y",
            True,
            probe="value",
            on="mini:oneflow-*",
            because="a slot of OneFlow's owns what it saves",
        ),
        Expect(
            "saved output is y", False, probe="value", on="torch-*", because="the slot must not own y: y owns the node"
        ),
        Expect("note of x", NO_NOTE, probe="value", on="torch<1.10"),
        Expect("note of x", 9, probe="value", on="torch-*", because=ITSELF),
        Expect("note of y", NO_NOTE, probe="value", on="torch-*"),
        Expect("gradient", [2.0, 2.0, 2.0, 2.0], probe="value"),
    ],
)
def saved_by_a_custom_function(lab):
    """`ctx.save_for_backward(x, y)` and `ctx.saved_tensors` follow the same rule: input itself, output never.

    The framework looks which of the saved tensors are outputs of this very call. Those go into a slot without an
    owner's hold on the output, so saving one's own output this way leaks nothing, while `ctx.y = y` ties y to its
    own node. The price is that the tensor met in backward is not the object that forward returned.
    """
    fw = lab.fw
    x = lab.tensor(requires_grad=True) * 1
    lab.attempt("noted", partial(setattr, x, "note", 9))
    outputs = []

    class Double(fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, grad):
            saved_x, saved_y = ctx.saved_tensors
            lab.value("saved input is x", saved_x is x)
            lab.value("saved output is y", saved_y is outputs[0])
            lab.attempt("note of x", lambda: saved_x.note)
            lab.attempt("note of y", lambda: saved_y.note)
            return grad * 2

    gradients = []
    x.register_hook(lambda grad: gradients.append(grad))
    y = Double.apply(x)
    lab.attempt("y noted", partial(setattr, y, "note", 10))
    outputs.append(y)
    y.sum().backward()
    lab.value("gradient", gradients[0])
    lab.stage("backward done")
