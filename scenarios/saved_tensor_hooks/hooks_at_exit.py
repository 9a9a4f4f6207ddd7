"""Packed data and hooks that are still held at interpreter exit."""

import atexit
import builtins
import sys
import types

from gradlife.scenario import Expect, scenario

LEFT_ALONE = "the slot sees that the interpreter is going and leaves its references alone"


class Finalized:
    """Says on its way out that it goes."""

    def __init__(self, lab, name):
        self.lab = lab
        self.name = name

    def __del__(self):
        self.lab.at_exit(self.name + " finalized")


class Pack(Finalized):
    """A pack hook that says when it goes."""

    def __call__(self, tensor):
        return Finalized(self.lab, "packed")


class Unpack(Finalized):
    """An unpack hook that says when it goes."""

    def __call__(self, packed):
        return self.lab.tensor()


def imported_module():
    """A module whose globals lead to nothing of the story, so that they are taken apart at exit whatever leaks."""
    module = types.ModuleType("gradlife_results")
    sys.modules[module.__name__] = module
    return module


def packed_graph(lab):
    """An output whose only slot owns the hooks and the packed object."""
    x = lab.tensor(requires_grad=True)
    with lab.fw.autograd.graph.saved_tensors_hooks(Pack(lab, "pack"), Unpack(lab, "unpack")):
        return x.sin()


@scenario(
    title="a packed graph in a module's global, at interpreter exit",
    origin=["pytorch/pytorch#60975"],
    pattern="GL312",
    needs="hooks",
    isolation="fresh",
    expects=[
        Expect("exit code", 0, probe="exit", because="nobody called into an interpreter that is gone"),
        Expect("stderr lines", ["atexit"], probe="exit", because=LEFT_ALONE, on="torch-*"),
    ],
)
def packed_graph_at_exit(lab):
    """A program ends with a graph in a global variable of a module. Who finalizes the packed data, and when?

    At exit Python first runs atexit functions, then declares itself uninitialised, then takes its modules apart.
    The global goes, the output goes, the C++ graph goes, the slot goes; and the slot owns three Python
    references. Dropping them now would run `__del__` methods, and take the interpreter lock, in an interpreter that
    is half gone. So the slot asks whether the interpreter is still there and, if not, leaks on purpose: the process
    is ending anyway. The finalizers never run, and the exit code is 0.

    An engine that released them here (`interpreter_exit=release`) would crash or run user code after the end. If your
    packed data must be finalized (a temporary file to delete), drop the graph yourself before exit: see the twin.
    """
    atexit.register(lab.at_exit, "atexit")
    imported_module().kept = packed_graph(lab)
    lab.stage("kept")


@packed_graph_at_exit.fixed(
    title="a packed graph in a module's global, dropped before exit",
    fix="drop the graph in an atexit function, while the interpreter is whole",
    expects=[
        Expect("exit code", 0, probe="exit"),
        Expect(
            "stderr lines",
            ["atexit", "pack finalized", "unpack finalized", "packed finalized"],
            probe="exit",
            because="the slot gives its references back while the interpreter is whole",
            on="torch-*",
        ),
    ],
)
def packed_graph_dropped_before_exit(lab):
    """An atexit function runs while the interpreter is whole: deleting the name there finalizes everything."""
    module = imported_module()
    module.kept = packed_graph(lab)
    atexit.register(delattr, module, "kept")
    atexit.register(lab.at_exit, "atexit")
    lab.stage("kept")


@scenario(
    title="a packed graph held by builtins, at interpreter exit",
    origin=["pytorch/pytorch#60975"],
    pattern="GL312",
    needs="hooks",
    isolation="fresh",
    expects=[
        Expect("exit code", 0, probe="exit"),
        Expect("stderr lines", ["atexit"], probe="exit", because=LEFT_ALONE, on="torch-*"),
    ],
)
def packed_graph_in_builtins_at_exit(lab):
    """The builtins are the last module to go: the same graph, dropped even later.

    `builtins.kept` survives all other modules (a profiler or a notebook's display hook may keep a result there). By
    then even `sys` is stripped. The slot's rule is the same: no interpreter, no release.
    """
    atexit.register(lab.at_exit, "atexit")
    builtins.gradlife_kept = packed_graph(lab)
    lab.stage("kept")


@scenario(
    title="a packed graph that leaked, at interpreter exit",
    origin=["pytorch/pytorch#115255"],
    pattern="GL312",
    needs="hooks",
    isolation="fresh",
    expects=[
        Expect("exit code", 0, probe="exit"),
        Expect("stderr lines", ["atexit"], probe="exit", because="a ring in C++ is never dropped, not even at exit"),
    ],
)
def leaked_packed_graph_at_exit(lab):
    """A packed object that holds its own output: alive at exit, with no name anywhere.

    Nothing drops the ring, so nothing is finalized: the operating system takes the memory. The story is here
    because a leak detector that forces a last collection, or an engine with a static list of live nodes, must not
    touch it either.
    """
    atexit.register(lab.at_exit, "atexit")
    held = []
    x = lab.tensor(requires_grad=True)
    with lab.fw.autograd.graph.saved_tensors_hooks(lambda tensor: held, lambda packed: lab.tensor()):
        y = x.sin()
    held.extend([y, Finalized(lab, "packed")])
    lab.stage("leaked")
