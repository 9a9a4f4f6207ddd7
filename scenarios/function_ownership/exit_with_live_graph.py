"""The interpreter goes down while a graph is alive: what may be released then, and what has to be left alone."""

import sys

from gradlife.scenario import Expect, scenario


class Farewell:
    """Tells its end on standard error, however late."""

    def __init__(self, lab, text):
        self.tell = lab.at_exit
        self.text = text

    def __del__(self):
        self.tell(self.text)


def keep_until_exit(obj):
    """Make the object a global of the main program, as a script's variables are."""
    sys.modules["__main__"].kept_by_the_story = obj


@scenario(
    title="Interpreter exit with a live Function",
    origin=["pytorch/pytorch#73961"],
    pattern="GL110",
    isolation="fresh",
    expects=[
        Expect("exit code", 0, probe="exit", because="whatever is left at exit, the process must end in peace"),
        Expect(
            "stderr lines",
            [],
            probe="exit",
            on="torch-1.1 torch-1.2 torch-1.9",
            because="ctx attributes are left alone at exit",
        ),
        Expect(
            "stderr lines",
            ["ctx attribute released"],
            probe="exit",
            on="torch-1.10 torch-1.13 torch-2.*",
            because="the main program's globals are dropped while the interpreter still runs, and the graph goes with them",
        ),
    ],
)
def exit_with_live_function(lab):
    """A script ends while its global `y` still holds a graph with a custom Function in it.

    Python drops the globals of the main program while it shuts down. The tensor goes, its node goes, and the node's
    destructor wants to drop a Python reference, the one to ctx. Is there still an interpreter to drop it in? A C++
    destructor that runs after the end (from a static, or from a thread) must look first and then leak on purpose:
    leaking at exit costs nothing, touching a dead interpreter crashes.

    PyTorch 1.1 to 1.9 leave ctx and its attributes alone in this situation; from 1.10 on the `__del__` of an attribute
    runs. The exit code is 0 in every release.
    """

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.farewell = Farewell(lab, "ctx attribute released")
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    keep_until_exit(Double.apply(lab.tensor(requires_grad=True)))
    lab.stage("kept until exit")


@exit_with_live_function.fixed(
    title="Interpreter exit after the graph was dropped",
    fix="drop what needs a destructor before the program ends",
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
    """The same script deletes its global before it ends: the attribute's `__del__` runs then and there, in every release."""

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.farewell = Farewell(lab, "ctx attribute released")
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    keep_until_exit(Double.apply(lab.tensor(requires_grad=True)))
    lab.stage("kept")
    del sys.modules["__main__"].kept_by_the_story
    lab.stage("dropped before exit")


@scenario(
    title="Interpreter exit with packed data",
    origin=["pytorch/pytorch#189025", "pytorch/pytorch#73961"],
    pattern="GL110",
    needs="hooks",
    isolation="fresh",
    expects=[
        Expect("exit code", 0, probe="exit"),
        Expect(
            "stderr lines",
            [],
            probe="exit",
            on="torch-*",
            because="the slots of C++ nodes leave Python objects alone at exit",
        ),
    ],
)
def exit_with_packed_data(lab):
    """A script ends while a C++ node holds data that a pack hook made: a Python object owned by a saved slot.

    The slot's destructor needs the interpreter lock to drop it. At exit PyTorch does not take it any more, so the
    packed object and both hooks are leaked on purpose: no `__del__` runs in any release, and the exit code is 0.
    """
    fw = lab.fw

    class Packed(Farewell):
        def __init__(self, tensor):
            Farewell.__init__(self, lab, "packed data released")
            self.tensor = tensor.detach()

    with fw.autograd.graph.saved_tensors_hooks(Packed, lambda packed: packed.tensor):
        y = lab.tensor(requires_grad=True).exp()
    keep_until_exit(y)
    lab.stage("kept until exit")
