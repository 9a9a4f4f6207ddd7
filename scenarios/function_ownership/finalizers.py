"""Finalizers of what a ctx owns: they run in the middle of a graph's destruction, and may do anything."""

import gc
import threading

from gradlife.scenario import Expect, scenario

GRAPHS = 10


class CollectsOnDelete:
    """Runs the collector when it dies, and counts that it did."""

    def __init__(self, runs):
        self.runs = runs

    def __del__(self):
        gc.collect()
        self.runs.append(1)


def doubling(lab, make):
    """A Function y = 2x whose ctx owns what `make` returns for it."""

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.owned = make(ctx)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Double


@scenario(
    title="A finalizer on ctx runs the collector",
    origin=["pytorch/pytorch#22983"],
    needs="ctx_attributes",
    expects=[
        Expect("finalizers run", GRAPHS, probe="value", stage="graphs dropped", on="torch-*"),
        Expect("gradients", [2.0 * GRAPHS] * 4, probe="value", on="torch-*"),
        Expect("last ctx", "del", on="torch-*"),
    ],
)
def ctx_finalizer_runs_the_collector(lab):
    """Ten graphs; each ctx owns an object whose `__del__` calls `gc.collect()`. The graphs are dropped.

    The program of test_gc_in_destructor. When a graph goes, C++ takes its nodes apart; a node's last act is to release its
    ctx, whose dictionary releases the object, whose finalizer runs the collector, which visits every object that it
    tracks: also the ctx that is being destroyed just now. So a ctx must be untracked, or whole, before it lets go of
    anything, and the C++ that started all this must not expect its graph to be as it was.
    """
    runs = []
    x = lab.tensor(requires_grad=True)
    Double = doubling(lab, lambda ctx: CollectsOnDelete(runs))
    for number in range(GRAPHS):
        y = Double.apply(x)
        if number == GRAPHS - 1:
            lab.watch("last ctx", y.grad_fn)
        y.sum().backward()
    del y
    lab.value("finalizers run", len(runs))
    lab.value("gradients", x.grad)
    lab.stage("graphs dropped", all_names_gone=True)


@scenario(
    title="A finalizer on ctx runs the collector, ctx in a cycle",
    origin=["pytorch/pytorch#22983"],
    pattern="GL109",
    needs="ctx_attributes",
    expects=[
        Expect("finalizers run, before the collection", 0, probe="value", on="torch-*", because="ctx is in a cycle"),
        Expect("finalizers run, after it", GRAPHS, probe="value", stage="collected", on="torch-*"),
        Expect("last ctx", "gc", on="torch-*", because="the cycle is Python's own: ctx, its dictionary, ctx"),
    ],
)
def ctx_finalizer_runs_the_collector_in_a_cycle(lab):
    """The same with `ctx.itself = ctx`: only the collector frees the ctx objects, and their finalizers start it again.

    The collector calls finalizers before it clears anything, so the nested collection, which Python refuses to run inside
    a running one, must find nothing half-done. All ten finalizers run, and all ten ctx objects go.
    """
    runs, number = [], 0

    def make(ctx):
        ctx.itself = ctx
        if number == GRAPHS - 1:
            lab.watch("last ctx", ctx)
        return CollectsOnDelete(runs)

    x = lab.tensor(requires_grad=True)
    Double = doubling(lab, make)
    for number in range(GRAPHS):  # noqa: B007, `make` reads it
        Double.apply(x).sum().backward()
    lab.value("finalizers run, before the collection", len(runs))
    lab.stage("graphs dropped", all_names_gone=True)
    lab.value("finalizers run, after it", len(runs))
    lab.stage("collected")


class NotesThread:
    """Notes the thread in which it dies, and whether that is the main thread."""

    def __init__(self, notes):
        self.notes = notes

    def __del__(self):
        self.notes.append(threading.current_thread() is threading.main_thread())


@scenario(
    title="A node dies in its own backward",
    origin=["pytorch/pytorch#22983"],
    needs="ctx_attributes",
    expects=[
        Expect(
            "ctx",
            "alive",
            probe="expiry",
            stage="hook done",
            on="torch-*",
            because="the running backward owns its nodes",
        ),
        Expect("finalizer ran in the main thread", [True], probe="value", on="torch-*"),
        Expect("gradient of x", [2.0] * 4, probe="value", on="torch-*"),
        Expect("ctx", "del", on="torch-*"),
    ],
)
def node_dies_in_its_own_backward(lab):
    """A hook on the gradient of y drops the last names of y and of the loss while backward is on its way to y's node.

    From then on only the running backward owns the node. It must not die before its own backward method has returned: it
    owns the ctx that this method is using. When backward is over, or the node's turn, the last owner in C++ goes, and it
    has to take the interpreter's lock to release ctx, whose finalizer is Python code. Up to 1.3 a thread of the engine
    runs the graph, later the thread that called backward.
    """
    names, notes = {}, []
    x = lab.tensor(requires_grad=True)
    names["y"] = doubling(lab, lambda ctx: NotesThread(notes)).apply(x)
    lab.watch("ctx", names["y"].grad_fn)
    names["y"].register_hook(lambda grad: (names.clear(), lab.stage("hook done")) and None)
    (names["y"] * 1).sum().backward()
    lab.value("finalizer ran in the main thread", notes)
    lab.value("gradient of x", x.grad)
    lab.stage("backward done", all_names_gone=True)
