"""The bug behind PR 22983: reading a saved output and dropping it cut the graph, and gradients were lost silently."""

from gradlife.scenario import Expect, scenario

CUT = (
    "several owners' counts stand over one ctx; the one made for the saved output reaches zero and tears the "
    "node's edges off although the others are alive"
)
ONE = "one shared node, however often it is asked for: dropping one holder changes nothing for the others"


def doubling(lab):
    """A Function y = 2x that saves its own output."""

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(y)
            return y

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Double


def next_names(tensor):
    """The type names of the nodes after a tensor's grad_fn."""
    return [type(after).__name__ for after, _ in tensor.grad_fn.next_functions]


@scenario(
    title="Reading a saved output severs the graph",
    origin=[
        "pytorch/pytorch#18619",
        "pytorch/pytorch#22983",
        "pytorch/pytorch#16888",
    ],
    pattern="GL106",
    expects=[
        Expect("next functions before", ["AccumulateGrad"], probe="value", on="torch-*"),
        Expect("next functions after", ["NoneType"], probe="value", on="torch-1.1", because=CUT),
        Expect("next functions after", ["AccumulateGrad"], probe="value", on="torch-*", because=ONE),
        Expect(
            "backward",
            None,
            probe="value",
            on="torch-*",
            because="no error is raised in any release: the loss is silent",
        ),
        Expect("gradient of x", None, probe="value", on="torch-1.1", because=CUT),
        Expect("gradient of x", [2.0] * 4, probe="value", on="torch-*", because=ONE),
    ],
)
def saved_output_severs_graph(lab):
    """Read `y.grad_fn.saved_tensors`, use the tensor, drop it. Then backward.

    Reading a saved output rebuilds a tensor: the saved data, and the node as its grad_fn. So the node has one owner more.

    PyTorch 1.1: the C++ node lives inside the Python ctx. Each place that needs a shared pointer to it makes a new one,
    with a control block of its own whose deleter drops a Python reference to ctx. Each block counts only its own holders.
    When the rebuilt tensor (and what was computed from it) goes, its block reaches zero and runs the deleter for deep
    graphs, which takes the node's edges away to free the graph without recursion. But the node is still in use through
    the other blocks. From then on `next_functions` is [None], and backward ends at this node without a word: x.grad stays
    None. Nothing leaks and nothing raises; training just goes wrong.

    PyTorch 1.2 on: the ownership is inverted. There is one node with one count; it owns ctx, and ctx points back weakly.

    Fix for users of such a framework: none but to keep the tensor that was read alive until backward is done.
    """
    x = lab.tensor(requires_grad=True)
    y = doubling(lab).apply(x)
    lab.attempt("next functions before", lambda: next_names(y))

    def read_and_drop():
        (saved,) = y.grad_fn.saved_tensors
        used = saved * 2
        del saved, used

    lab.attempt("read and drop the saved output", read_and_drop)
    lab.attempt("next functions after", lambda: next_names(y))
    lab.attempt("backward", lambda: y.sum().backward())
    lab.value("gradient of x", x.grad)
    lab.stage("backward done")


@saved_output_severs_graph.fixed(
    title="The saved output kept until backward is done",
    fix="keep what saved_tensors gave until backward is done (or leave 1.1)",
    expects=[
        Expect(
            "next functions after",
            ["AccumulateGrad"],
            probe="value",
            on="torch-*",
            because="no count has reached zero yet",
        ),
        Expect("gradient of x", [2.0] * 4, probe="value", on="torch-*"),
    ],
)
def saved_output_kept_until_backward(lab):
    """The same program holds the tensor that it read. No control block over the node dies before backward, so the edges
    are whole even where the node is embedded in ctx."""
    x = lab.tensor(requires_grad=True)
    y = doubling(lab).apply(x)
    kept = []
    lab.attempt("read the saved output", lambda: kept.append(y.grad_fn.saved_tensors[0]))
    lab.attempt("next functions after", lambda: next_names(y))
    lab.attempt("backward", lambda: y.sum().backward())
    lab.value("gradient of x", x.grad)
    lab.stage("backward done")
    del kept


def product(lab):
    """A Function y = x[:, 0] * x[:, 1] whose backward uses its saved output."""

    class Product(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x[:, 0] * x[:, 1]
            ctx.save_for_backward(x, y)
            return y

        @staticmethod
        def backward(ctx, grad):
            x, y = ctx.saved_tensors
            return (grad * y)[:, None] / x

    return Product


def second_derivatives(lab, function):
    """d2 y[0] / dx[0,0] dx[0,1], computed twice over one graph."""
    fw = lab.fw
    x = fw.ones(2, 2).requires_grad_()
    y = function(x)
    results = []
    for _ in range(2):
        (first,) = fw.autograd.grad(y[0], x, create_graph=True)
        (second,) = fw.autograd.grad(first[0, 0], x, retain_graph=True)
        results.append(float(second[0, 1]))
    return results


@scenario(
    title="The second derivative taken twice",
    origin=["pytorch/pytorch#18619", "pytorch/pytorch#22983"],
    pattern="GL106",
    expects=[
        Expect("custom Function", [1.0, 0.0], probe="value", on="torch-1.1", because=CUT),
        Expect("custom Function", [1.0, 1.0], probe="value", because=ONE),
        Expect(
            "built-in operations",
            [1.0, 1.0],
            probe="value",
            on="torch-* mini:oneflow-* oneflow-0.9",
            because="a C++ node has one control block in every release",
        ),
    ],
)
def second_derivative_taken_twice(lab):
    """The program of issue 18619 in small: a custom Function whose backward reads its saved output, differentiated twice,
    two times in a row.

    In the first round backward reads `ctx.saved_tensors`, computes the first derivative from it, and the second
    derivative flows through the saved output back to the Function's node: 1.0, which is right. At the end of the round
    the temporary tensors go, and with them the last holder of one control block over the node: its edges are cut.

    In the second round the path through the saved output ends at the mutilated node, that part of the sum is missing,
    and PyTorch 1.1 answers 0.0 (it prints -0.0). From 1.2 on both rounds give 1.0. Built-in operations, whose nodes were
    never embedded in a Python object, were right all the time: the control of this story.
    """
    lab.attempt("custom Function", lambda: second_derivatives(lab, product(lab).apply))
    lab.attempt("built-in operations", lambda: second_derivatives(lab, lambda x: x[:, 0] * x[:, 1]))
    lab.stage("both rounds done")
