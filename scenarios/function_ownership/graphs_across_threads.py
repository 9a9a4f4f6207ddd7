"""Graphs that one thread builds, another joins and a third destroys."""

import threading

from gradlife.scenario import Expect, scenario

DROPPED = "network output dropped"


def in_thread(action):
    """Run the action in a thread of its own and return its result."""
    result = []
    thread = threading.Thread(target=lambda: result.append(action()))
    thread.start()
    thread.join()
    return result[0]


class Farewell:
    """Notes the thread in which it dies."""

    def __init__(self, deaths):
        self.deaths = deaths

    def __del__(self):
        self.deaths.append(threading.get_ident())


@scenario(
    title="A graph dies in another thread",
    origin=["pytorch/pytorch#22983", "pytorch/pytorch#73961"],
    needs="ctx_attributes",
    expects=[
        Expect("ctx attribute died in that thread", True, probe="value", stage="dropped in a thread"),
        Expect(
            "ctx",
            "dead",
            probe="expiry",
            stage="dropped in a thread",
            because="the last owner dropped it, whichever thread that was",
        ),
        Expect("ctx", "del"),
    ],
)
def graph_dies_in_another_thread(lab):
    """The last tensor of a graph is dropped by another thread than the one that built it.

    Dropping a tensor lets the interpreter lock go while the C++ side is freed (it may take long). So the node's
    destructor runs in a thread that does *not* hold the lock, and the node owns a Python object, ctx. The destructor has
    to take the lock before it touches ctx, and only then: a destructor that takes it while the collector holds it and
    waits for another lock is a deadlock. Python code on ctx (`__del__` of an attribute) runs in the dropping thread.
    """
    deaths = []

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.farewell = Farewell(deaths)
            lab.watch("ctx", ctx)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    box = [Double.apply(lab.tensor(requires_grad=True)).sum()]
    lab.stage("built in this thread")
    dropper = in_thread(lambda: (box.clear(), threading.get_ident())[1])
    lab.value("ctx attribute died in that thread", deaths == [dropper])
    lab.stage("dropped in a thread", all_names_gone=True)


def parallel_functions(lab):
    """Scatter, Gather and Broadcast as DataParallel has them, for two replicas; each one's backward is another's forward."""
    fw = lab.fw
    gathered = []

    class Broadcast(fw.autograd.Function):
        @staticmethod
        def forward(ctx, weight):
            lab.watch("ctx of Broadcast", ctx)
            return weight.clone(), weight.clone()

        @staticmethod
        def backward(ctx, first, second):
            return first + second

    class Scatter(fw.autograd.Function):
        @staticmethod
        def forward(ctx, batch):
            return batch[:1].clone(), batch[1:].clone()

        @staticmethod
        def backward(ctx, first, second):
            return Gather.apply(first, second)

    class Gather(fw.autograd.Function):
        @staticmethod
        def forward(ctx, first, second):
            gathered.append(None)
            lab.watch("ctx of Gather %d" % len(gathered), ctx)
            return fw.cat([first, second])

        @staticmethod
        def backward(ctx, grad):
            return Scatter.apply(grad)

    return Broadcast, Scatter, Gather


def replicated(lab, batch, weight):
    """The network batch x weight on two replicas, each in a thread of its own."""
    Broadcast, Scatter, Gather = parallel_functions(lab)
    weights = Broadcast.apply(weight)
    parts = Scatter.apply(batch)
    outputs = [in_thread(lambda i=i: (parts[i] * weights[i]).sum(1, True)) for i in range(2)]
    return Gather.apply(*outputs)


@scenario(
    title="A gradient penalty through replicas",
    origin=["pytorch/pytorch#16532", "pytorch/pytorch#22983"],
    pattern="GL106",
    expects=[
        Expect(
            "gradient of the weight",
            [[0.25] * 4],
            probe="value",
            because="the penalty's graph owns every node that it needs",
        ),
        Expect(
            "ctx of Broadcast",
            "alive",
            probe="expiry",
            stage=DROPPED,
            on="torch-*",
            because="the penalty depends on the weights",
        ),
        Expect(
            "ctx of Gather 1",
            "dead",
            probe="expiry",
            stage=DROPPED,
            on="torch-*",
            because="only the network's output led to it",
        ),
        Expect(
            "ctx of Gather 2",
            "alive",
            probe="expiry",
            stage=DROPPED,
            on="torch-*",
            because="it is the head of the penalty's graph",
        ),
        Expect("ctx of Broadcast", "del", on="torch-*"),
        Expect("ctx of Gather 2", "del", on="torch-*"),
    ],
)
def gradient_penalty_through_replicas(lab):
    """The shape of issue 16532: DataParallel, a gradient penalty, and the network's output out of scope before backward.

    Output computed: batch and weight are scattered to two replicas, each computes in its own thread, the results are
    gathered. The nodes were made in three threads and carry their ctx objects across.

    Penalty computed: `autograd.grad(..., create_graph=True)` runs Gather's backward, which applies Scatter, and so on: a
    second graph whose nodes hang on those of the first.

    Network output dropped: nothing in Python refers to the first graph any more, only nodes of the second one do. Backward
    done: the gradient must be complete, and dropping the penalty must free all. It is, in every release, because this
    Broadcast copies its argument for each replica. What loses the gradient in 1.1 is a parameter that is returned as it
    is: see `penalty_through_replicas_output_dropped`.
    """
    fw = lab.fw
    weight = fw.ones(1, 4).requires_grad_()
    batch = fw.ones(2, 4).requires_grad_()
    output = replicated(lab, batch, weight)
    lab.stage("output computed")
    (slope,) = fw.autograd.grad(output.sum(), batch, create_graph=True)
    penalty = slope.mean()
    del slope
    lab.stage("penalty computed")
    del output
    lab.stage(DROPPED)
    in_thread(penalty.backward)
    lab.value("gradient of the weight", weight.grad)
    lab.stage("backward done")
    del penalty, batch, weight
    lab.stage("names dropped", all_names_gone=True)
