"""Graphs that Python does not see: deep ones that must be freed without recursion, and ones that only C++ holds."""

import threading

from gradlife.scenario import Expect, scenario

DEPTH = 2000
SMALL_STACK = 256 * 1024


def on_small_stack(action):
    """Run the action in a thread with a stack of 256 kB."""
    former = threading.stack_size(SMALL_STACK)
    try:
        thread = threading.Thread(target=action)
        thread.start()
    finally:
        threading.stack_size(former)
    thread.join()


@scenario(
    title="A deep chain dies on a small stack",
    origin=["pytorch/pytorch#5534", "pytorch/pytorch#6873", "pytorch/pytorch#11611", "Oneflow-Inc/oneflow#8056"],
    expects=[
        Expect(
            "first node",
            "dead",
            probe="expiry",
            stage="chain dropped",
            on="torch-*",
            because="the chain is freed from a list on the heap",
        ),
        Expect("first node", "del", on="torch-*"),
    ],
)
def deep_chain_dies_on_small_stack(lab):
    """A chain of 2000 additions, built and dropped in a thread whose stack is 256 kB.

    Each node is the only owner of the one before. Freed naively, the destructor of the last one would call that of the
    one before, and so on: 2000 nested destructors here, a million in a long recurrence, and the stack is full. So a
    dying node does not free its neighbours: it hands them to a list, and the outermost destructor empties the list.

    This holds for nodes that nobody looked at. A wrapper on every node of the chain brings the recursion back: in
    PyTorch 2.13, 50,000 looked-at nodes overflow a stack of 8 MB, which is why a tool must not walk a graph carelessly.
    """

    def build_and_drop():
        y = lab.tensor(1, requires_grad=True) + 1
        lab.watch("first node", y.grad_fn)
        for _ in range(DEPTH):
            y = y + 1

    on_small_stack(build_and_drop)
    lab.stage("chain dropped", all_names_gone=True)


@scenario(
    title="A deep chain of Functions dies on a small stack",
    origin=["pytorch/pytorch#5534", "pytorch/pytorch#22983"],
    expects=[
        Expect(
            "contexts alive",
            0,
            probe="value",
            on="torch>=1.2",
            because="freed by reference counts",
        ),
        Expect("contexts alive after collection", 0, probe="value", on="torch-*"),
    ],
)
def deep_function_chain_dies_on_small_stack(lab):
    """The same with custom Functions: every node owns a Python object, and freeing that one may run Python code.

    Now the chain alternates: node -> ctx is a Python reference, node -> node is C++. Both sides have their own device
    against recursion, the node's list and the interpreter's trashcan. With an interpreter before 3.9 the trashcan may
    park the chain's rest until the next container is dropped, so that a tool that counts right after gc.collect() sees
    a leak that is none.
    """
    alive = []

    class Count:
        def __init__(self):
            alive.append(1)

        def __del__(self):
            alive.pop()

    class Step(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.count = Count()
            return x + 1

        @staticmethod
        def backward(ctx, grad):
            return grad

    def build_and_drop():
        y = lab.tensor(1, requires_grad=True)
        for _ in range(500):
            y = Step.apply(y)

    on_small_stack(build_and_drop)
    lab.value("contexts alive", len(alive))
    lab.collect()
    lab.value("contexts alive after collection", len(alive))
    lab.stage("chain dropped")


@scenario(
    title="A collection while only C++ holds the graph",
    origin=["pytorch/pytorch#1318", "pytorch/pytorch#4437"],
    needs="ctx_attributes",
    expects=[
        Expect(
            "ctx",
            "alive",
            probe="expiry",
            stage="collector ran",
            because="its node owns it, and one reference is one reference",
        ),
        Expect("gradient", [12.0] * 4, probe="value", because="nothing that backward needs was collected"),
        Expect("ctx", "del"),
    ],
)
def collection_while_only_the_graph_holds(lab):
    """A graph of built-in operations and one Function; everything but the loss is unnamed; then the collector runs.

    Collector ran: ctx, the saved tensors' wrappers (from 1.10 on) and the hook dictionaries are known to the collector,
    but none of their owners is. Each has at least one reference that it can't explain, and so it must take them for
    reachable. An engine that let a C++ owner go uncounted, or that showed an edge to an object which others own, too,
    would lose a piece of a living graph here: a crash or a wrong gradient at the next backward.
    """

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            ctx.notes = {"factor": 2}
            lab.watch("ctx", ctx)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * x * ctx.notes["factor"]

    x = lab.tensor(requires_grad=True)
    loss = (Double.apply(x * 2) * 3).sum()
    lab.stage("only the loss has a name")
    lab.collect()
    lab.stage("collector ran")
    loss.backward()
    lab.value("gradient", x.grad * 0.5)
    lab.stage("backward done")
    del loss, x
    lab.stage("names dropped", all_names_gone=True)


@scenario(
    title="A leaf outlives its name through a graph",
    origin=["pytorch/pytorch#3818", "pytorch/pytorch#24368"],
    pattern="GL407",
    needs="numpy",
    expects=[
        Expect(
            "leaf's memory",
            "alive",
            probe="expiry",
            stage="leaf's name dropped",
            on="torch-*",
            because="accumulator -> leaf",
        ),
        Expect(
            "leaf's memory",
            "alive",
            probe="expiry",
            stage="backward done",
            on="torch-*",
            because="edges survive backward, the accumulator at their end too",
        ),
        Expect("leaf's memory", "del"),
    ],
)
def leaf_outlives_its_name(lab):
    """A parameter is replaced (`model.weight = new`) while an old loss is kept.

    Leaf's name dropped: loss -> nodes -> accumulator -> leaf. The accumulator owns its leaf, because backward has to put
    the gradient somewhere. Backward done: saved tensors are released, edges are not, so the leaf and its new .grad are
    still there, though nobody can ever read that gradient. Loss dropped: all goes.

    Fix: do not keep losses with a history, see `training_losses_kept`.
    """
    array = lab.fw.ones(4).numpy()
    lab.watch("leaf's memory", array)
    leaf = lab.fw.from_numpy(array).requires_grad_()
    del array
    loss = (leaf * 2).sum()
    del leaf
    lab.stage("leaf's name dropped")
    loss.backward()
    lab.stage("backward done")
    del loss
    lab.stage("loss dropped", all_names_gone=True)


@leaf_outlives_its_name.fixed(
    title="A leaf whose old losses are detached",
    fix="keep loss.detach() or loss.item()",
    expects=[
        Expect(
            "leaf's memory",
            "dead",
            probe="expiry",
            stage="leaf's name dropped",
            because="the detached loss leads nowhere",
        ),
        Expect("leaf's memory", "del"),
    ],
)
def leaf_goes_with_its_name(lab):
    """The same with the loss kept detached: no graph, no accumulator, no leaf."""
    array = lab.fw.ones(4).numpy()
    lab.watch("leaf's memory", array)
    leaf = lab.fw.from_numpy(array).requires_grad_()
    del array
    loss = (leaf * 2).sum().detach()
    del leaf
    lab.stage("leaf's name dropped")
    del loss
    lab.stage("loss dropped", all_names_gone=True)
