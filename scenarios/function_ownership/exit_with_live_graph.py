"""The interpreter exits while a graph is alive: which objects may be released, and which must be left alone."""

import sys

from gradlife.scenario import Expect, scenario

LIBRARY = '''
class Farewell:
    """Tells its end, however late."""

    def __init__(self, text):
        self.text = text

    def __del__(self):
        tell(self.text)


class Packed(Farewell):
    """What a pack hook makes of a tensor."""

    def __init__(self, tensor):
        Farewell.__init__(self, "packed data released")
        self.tensor = tensor.detach()


def unpack(packed):
    return packed.tensor


class Double(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.farewell = Farewell("ctx attribute released")
        return x * 2

    @staticmethod
    def backward(ctx, grad):
        return grad * 2
'''
GONE = "the interpreter is shutting down when the node's destructor looks, so the reference is given up on purpose"


def library(lab):
    """A library: its functions' globals are its own, not those of the main program."""
    names = {"Function": lab.fw.autograd.Function, "tell": lab.at_exit}
    exec(LIBRARY, names)
    return names


def keep_until_exit(obj):
    """Make the object a global of the main program, as a script's variables are."""
    sys.modules["__main__"].kept_by_the_story = obj


class Farewell:
    """Report its end, however late. A class of the main program."""

    def __init__(self, lab, text):
        self.tell = lab.at_exit
        self.text = text

    def __del__(self):
        self.tell(self.text)


def double_of_main(lab):
    """A Function y = 2x that belongs to the main program: its functions' globals are the script's."""

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.farewell = Farewell(lab, "ctx attribute released")
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Double


@scenario(
    title="Exit with a live Function of the script",
    origin=["pytorch/pytorch#73961", "pytorch/pytorch#58271"],
    pattern="GL110",
    isolation="fresh",
    needs="ctx_attributes",
    expects=[
        Expect("exit code", 0, probe="exit", because="whatever is left at exit, the process must end in peace"),
        Expect(
            "stderr lines",
            [],
            probe="exit",
            on="torch<1.10",
            because="output -> node -> ctx -> class -> globals -> output: the collector sees no edge to the node",
        ),
        Expect(
            "stderr lines",
            ["ctx attribute released"],
            probe="exit",
            on="torch>=1.10",
            because="the collector's last run sees that cycle and calls the finalizers of all that is in it",
        ),
    ],
)
def exit_with_live_function(lab):
    """A script ends while its global `y` still holds a graph with a Function that the script itself defines.

    Kept until exit: the script's globals own y, y owns its node, the node owns ctx, ctx owns its class, the class its
    forward, and every function owns its globals: the script's. A cycle through the whole main program.

    At exit Python drops the main module and collects what is left of it. PyTorch 1.1 to 1.9 show no edge from a tensor
    to its grad_fn, so the cycle looks held from outside, and *nothing* of the main program is released, unrelated
    globals included. From 1.10 on the edge is shown, the collector takes the cycle for garbage, and calls the finalizers
    in it: the attribute of ctx says farewell. The exit code is 0 in every release.
    """
    keep_until_exit(double_of_main(lab).apply(lab.tensor(requires_grad=True)))
    lab.stage("kept until exit")


@exit_with_live_function.fixed(
    title="Exit after the graph was dropped",
    fix="drop what needs a finalizer before the program ends",
    expects=[
        Expect("exit code", 0, probe="exit"),
        Expect(
            "stderr lines",
            ["ctx attribute released"],
            probe="exit",
            on="torch-* oneflow-*",
            because="dropped while all was well",
        ),
    ],
)
def exit_without_live_function(lab):
    """The same script deletes its global before it ends: the attribute's `__del__` runs at once, in every release."""
    keep_until_exit(double_of_main(lab).apply(lab.tensor(requires_grad=True)))
    lab.stage("kept")
    del sys.modules["__main__"].kept_by_the_story
    lab.stage("dropped before exit")


@scenario(
    title="Exit with a live Function of a library",
    origin=["pytorch/pytorch#73961"],
    pattern="GL110",
    isolation="fresh",
    needs="ctx_attributes",
    expects=[
        Expect("exit code", 0, probe="exit"),
        Expect(
            "stderr lines",
            ["ctx attribute released"],
            probe="exit",
            on="mini:torch-1.[128] mini:torch-1.[128]+*",
            because="before 1.9 the destructor did not ask: it gave the reference back, and was lucky that one could",
        ),
        Expect("stderr lines", [], probe="exit", on="torch>=2.13 mini:torch-*", because=GONE),
    ],
)
def exit_with_library_function(lab):
    """The same with a Function that a library defines, one operation away from the global.

    Its functions' globals are the library's, so no way leads from ctx back to the script. And between y and the
    Function's node stands the node of the sum, so no release shows ctx to the collector. When the script's globals go,
    y goes with them, unseen, by way of C++.

    At that moment the interpreter is past the point of no return. y's C++ side is freed, its node is destroyed, and the
    node's destructor has a Python reference to give back, the one to ctx. It must ask first whether there is still an
    interpreter to give it back to (and take its lock: this may be any thread). There is not, so it gives the reference
    up: the attribute's `__del__` never runs. Leaking at exit costs nothing; touching a dead interpreter crashes, or
    waits for a lock that nobody will release.

    The mini engine's policy `interpreter_exit=release` is the mistake: it touches.
    """
    keep_until_exit(library(lab)["Double"].apply(lab.tensor(requires_grad=True)).sum())
    lab.stage("kept until exit")


@scenario(
    title="Exit with packed data",
    origin=["pytorch/pytorch#73961"],
    pattern="GL110",
    needs="hooks",
    isolation="fresh",
    expects=[
        Expect("exit code", 0, probe="exit"),
        Expect("stderr lines", [], probe="exit", on="torch-*", because=GONE),
    ],
)
def exit_with_packed_data(lab):
    """A script ends while a C++ node holds data that a library's pack hook made: a Python object owned by a saved slot.

    The slot's destructor, as the node's, gives up the packed object and both hooks if the interpreter is going: no
    `__del__` runs in any release, and the exit code is 0.
    """
    names = library(lab)
    with lab.fw.autograd.graph.saved_tensors_hooks(names["Packed"], names["unpack"]):
        keep_until_exit(lab.tensor(requires_grad=True).exp())
    lab.stage("kept until exit")
