"""A held grad_fn of a built-in operation owns its node in every release, and stays complete."""

from gradlife.scenario import Expect, scenario

GONE = "output dropped"
DONE = "backward done, output dropped"
TORCH = "torch-*"
SLOTS = "torch>=1.10"
FREED = (
    "Trying to backward through the graph a second time (or directly access saved tensors after they have already been "
    "freed). Saved intermediate values of the graph are freed when you call .backward() or autograd.grad(). Specify "
    "retain_graph=True if you need to backward through the graph a second time or if you need to access saved tensors "
    "after calling backward."
)


def edges(node):
    """The types of the nodes that this one passes gradients to."""
    return [type(next_node).__name__ for next_node, _ in node.next_functions]


@scenario(
    title="A held C++ grad_fn is whole",
    origin=["pytorch/pytorch#22983", "pytorch/pytorch#70326"],
    expects=[
        Expect("name", "MulBackward0", probe="value", stage=GONE, on=TORCH, because="the held wrapper owns the node"),
        Expect("edges", ["AccumulateGrad"] * 2, probe="value", stage=GONE, on=TORCH),
        Expect("hook accepted", True, probe="value", stage=GONE, on=TORCH),
        Expect("saved factor", [1.0] * 4, probe="value", stage=GONE, on=SLOTS, because="no backward has run"),
        Expect(
            "saved factor",
            ("RuntimeError: " + FREED.replace("saved tensors", "saved variables"))[:330],
            probe="value",
            stage=DONE,
            on="torch-1.9",
            because="the words of 1.9",
        ),
        Expect("edges", ["AccumulateGrad"] * 2, probe="value", stage=DONE, on=TORCH, because="edges survive backward"),
        Expect(
            "saved factor",
            ("RuntimeError: " + FREED)[:330],
            probe="value",
            stage=DONE,
            on=SLOTS,
            because="the node lives, its slot is empty",
        ),
    ],
)
def held_cxx_grad_fn_is_whole(lab):
    """`node = y.grad_fn` of a product, y dropped: the counterpart of `held_grad_fn_is_a_shell`.

    Output dropped: a built-in operation's node is a C++ object, and the Python object that stands for it owns it. So the
    node outlives its output, with its name, its edges, its hooks and what it saved. Only the nodes of custom Functions
    were empty shells in PyTorch 1.2 to 2.10: there it is the other way round, the node owns ctx.

    Backward done, output dropped: the edges are there still, the saved slot is empty, and reading it says so.

    What to learn: the same line, `node = y.grad_fn`, keeps a batch in memory or is worthless later, depending on who
    wrote the operation.
    """
    x = lab.tensor(requires_grad=True)
    y = x * x
    node = y.grad_fn
    del y
    lab.attempt("name", lambda: node.name())
    lab.attempt("edges", lambda: edges(node))
    lab.attempt("hook accepted", lambda: node.register_hook(lambda *grads: None) is not None)
    lab.attempt("saved factor", lambda: node._saved_self)
    lab.stage(GONE)
    y = x * x
    node = y.grad_fn
    y.sum().backward()
    del y
    lab.attempt("edges", lambda: edges(node))
    lab.attempt("saved factor", lambda: node._saved_self)
    lab.stage(DONE)
