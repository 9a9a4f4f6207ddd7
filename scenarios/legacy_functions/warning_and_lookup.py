"""Side effects of calling a legacy instance: it warns, and it looks up names on the instance."""

import sys
import warnings

from gradlife.scenario import Expect, scenario

REFUSED = "RuntimeError"
NOW = "torch>=1.8"
OLD = "torch-1.1 torch-1.2"


def scaling_legacy(lab):
    """A Function in the old style, y = x * 1."""

    class Scale(lab.fw.autograd.Function):
        def forward(self, x):
            return x * 1

        def backward(self, grad):
            return grad

    return Scale


def call_and_count(lab, action):
    """Call a fresh instance with warnings treated as `action`; the outcome and the references left behind."""
    f = scaling_legacy(lab)()
    x = lab.tensor(requires_grad=True)
    counts = [sys.getrefcount(f), sys.getrefcount(x)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        outcome = outcome_of(lambda: f(x))
    left = [sys.getrefcount(f) - counts[0], sys.getrefcount(x) - counts[1]]
    return [outcome, len(caught), left]


def outcome_of(action):
    """'called', or the type of what was raised. The result is dropped."""
    try:
        action()
    except Exception as error:
        return type(error).__name__
    return "called"


@scenario(
    title="The legacy warning: shown, ignored, raised",
    origin=["pytorch/pytorch#22983", "mit-han-lab/temporal-shift-module#20"],
    pattern="GL108",
    expects=[
        Expect(
            "shown", ["called", 0, [0, 0]], probe="value", on="torch-1.1", because="the style is not deprecated yet"
        ),
        Expect("shown", ["called", 1, [0, 0]], probe="value", on="torch-1.2"),
        Expect("shown", [REFUSED, 0, [0, 0]], probe="value", on=NOW),
        Expect("ignored", ["called", 0, [0, 0]], probe="value", on=OLD),
        Expect("ignored", [REFUSED, 0, [0, 0]], probe="value", on=NOW),
        Expect(
            "raised", ["called", 0, [0, 0]], probe="value", on="torch-1.1", because="the style is not deprecated yet"
        ),
        Expect(
            "raised",
            ["UserWarning", 0, [0, 0]],
            probe="value",
            on="torch-1.2",
            because="the warning is an exception now, and the call stops there",
        ),
        Expect("raised", [REFUSED, 0, [0, 0]], probe="value", on=NOW),
    ],
)
def legacy_warning_leaves_counts_balanced(lab):
    """PyTorch 1.2 warns when a legacy instance is called. The reading: what came of the call, how many warnings were
    caught, and how many references to the instance and its input were left behind.

    A warning from C++ is one of three things: printed, dropped by a filter, or turned into an exception by
    `warnings.simplefilter("error")`. In the third case the call has to stop half-way through its set-up and give back
    every reference that it has taken. Leaving early is where counts go wrong; here they must be balanced each time.
    """
    lab.value("shown", call_and_count(lab, "always"))
    lab.value("ignored", call_and_count(lab, "ignore"))
    lab.value("raised", call_and_count(lab, "error"))
    lab.stage("called three times")


def hostile_legacy(lab, asked):
    """A legacy Function whose instances raise on every name that they do not have, and note it."""

    class Hostile(lab.fw.autograd.Function):
        def __getattr__(self, name):
            asked.append(name)
            raise ZeroDivisionError(name)

        def forward(self, x):
            return x * 2

        def backward(self, grad):
            return grad * 2

    return Hostile


@scenario(
    title="A legacy instance with a hostile __getattr__",
    origin=["pytorch/pytorch#22983"],
    pattern="GL108",
    needs="legacy",
    expects=[
        Expect(
            "gradient of x",
            [2.0] * 4,
            probe="value",
            on=OLD,
            because="_is_legacy is found on the class, so __getattr__ is never asked",
        ),
        Expect("instance", "del", on=OLD),
    ],
)
def legacy_with_hostile_getattr(lab):
    """An instance whose `__getattr__` raises something that is no AttributeError for any name.

    Before backward runs Python code, the engine has to know whether the node is a legacy one, and asks ctx for
    `_is_legacy`: an attribute lookup from C++, which may run user code, fail in a new way, and must neither be taken for
    a "no" nor leave an error set. The metaclass puts the answer on the class, so that a well-behaved lookup never reaches
    `__getattr__`; and if user code raises, it has to come out as that exception and not as a crash later on.
    """
    asked = []
    f = hostile_legacy(lab, asked)()
    lab.watch("instance", f)
    x = lab.tensor(requires_grad=True)

    def run():
        f(x).sum().backward()
        return x.grad

    lab.attempt("gradient of x", run)
    lab.value("_is_legacy was asked of __getattr__", "_is_legacy" in asked)
    lab.stage("backward done")
    del f
    lab.stage("instance dropped", all_names_gone=True)
