"""A Parameter is a Python class over a plain tensor: does it stay one while only C++ holds it?"""

from gradlife.scenario import Expect, scenario

CACHED = "torch<1.10"
PRESERVING = "torch>=1.10"


@scenario(
    title="a Parameter met behind its accumulator",
    origin=["pytorch/pytorch#55686", "pytorch/pytorch#56017"],
    pattern="GL201",
    needs="nn.Parameter cxx_metadata",
    expects=[
        Expect("type, named", "Parameter", probe="value", on="torch-*"),
        Expect("type, name gone", "Tensor", probe="value", on=CACHED, because="C++ knows no Python class"),
        Expect("type, name gone", "Parameter", probe="value", on=PRESERVING, because="the wrapper itself was kept"),
        Expect("note", "AttributeError: 'Tensor' object has no attribute 'note'", probe="value", on=CACHED),
        Expect("note", 4, probe="value", on=PRESERVING),
    ],
)
def parameter_behind_its_accumulator(lab):
    """A module is gone, a graph over it is not; a tool walks the graph to its leaves and asks what they are.

    Name gone: graph -> accumulator -> the parameter's impl. Up to torch 1.9 the wrapper died with the module, and
    `accumulator.variable` makes a plain Tensor: `isinstance(leaf, Parameter)` is False, and the names that were put on it
    are gone. From 1.10 on the very Parameter comes back.

    Fix for a tool that must work everywhere: note which leaves are parameters while the module is there.
    """
    parameter = lab.fw.nn.Parameter(lab.tensor())
    parameter.note = 4
    y = parameter * 2
    accumulator = y.grad_fn.next_functions[0][0]
    lab.value("type, named", type(accumulator.variable).__name__)
    lab.stage("named")
    del parameter
    others = [lab.tensor() for _ in range(4)]
    lab.value("type, name gone", type(accumulator.variable).__name__)
    lab.attempt("note", lambda: accumulator.variable.note)
    lab.stage("name gone")
    del others
