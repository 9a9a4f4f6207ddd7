"""A legacy instance called again while the graph of its first call is alive: PyTorch 1.2 warns of it."""

import sys
import warnings

from gradlife.scenario import Expect, scenario

DEPRECATED = "Legacy autograd function with non-static forward method"
CALLED_TWICE = "Legacy autograd function object was called twice."
SECOND = "the instance still has its first node, and its saved tensors are about to be overwritten"


def scaling(lab, static):
    """A Function y = x * 1 with the gradient grad * x, in the old style or with static methods."""

    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * 1

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * x

    methods = {"forward": forward, "backward": backward}
    if static:
        methods = {name: staticmethod(method) for name, method in methods.items()}
    return type("Scale", (lab.fw.autograd.Function,), methods)


def call_twice(lab, call, owner, action):
    """Call with x1, keep the output, and call with x2 while warnings are treated as `action`.

    Returns the outcome of the second call, how its warnings begin, and how many references to the instance, to x2 and to
    the first output are left once the second output is dropped.
    """
    x1, x2 = lab.fw.tensor([3.0]).requires_grad_(), lab.fw.tensor([5.0]).requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = call(x1)
    counts = [sys.getrefcount(each) for each in (owner, x2, kept)]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter(action)
        outcome = outcome_of(lambda: call(x2))
    left = [sys.getrefcount(each) for each in (owner, x2, kept)]
    beginnings = [beginning(each.message) for each in caught]
    return [outcome, beginnings, [now - before for now, before in zip(left, counts)]]


def beginning(message):
    """The first seven words of a warning."""
    return " ".join(str(message).split()[:7])


def outcome_of(action):
    """'called', or the type of what was raised and how its text begins. The result is dropped."""
    try:
        action()
    except Exception as error:
        return "{}: {}".format(type(error).__name__, beginning(error))
    return "called"


def raise_the_second_only(lab, function):
    """The outcome of a second call whose own warning is an error, and the gradients of x1 and x2 after backward from the
    first output."""
    f = function()
    x1, x2 = lab.fw.tensor([3.0]).requires_grad_(), lab.fw.tensor([5.0]).requires_grad_()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        kept = f(x1)
        warnings.filterwarnings("error", message="Legacy autograd function object was called twice")
        outcome = outcome_of(lambda: f(x2))
    kept.backward()
    return [outcome, x1.grad, x2.grad]


@scenario(
    title="The warning about a legacy instance called twice",
    origin=["pytorch/pytorch#22983"],
    pattern="GL108",
    needs="legacy",
    expects=[
        Expect("shown", ["called", [], [0, 0, 0]], probe="value", on="torch-1.1", because="1.1 warns of nothing"),
        Expect(
            "shown", ["called", [DEPRECATED, CALLED_TWICE], [0, 0, 0]], probe="value", on="torch-1.2", because=SECOND
        ),
        Expect("ignored", ["called", [], [0, 0, 0]], probe="value", on="torch-1.1 torch-1.2"),
        Expect("raised", ["called", [], [0, 0, 0]], probe="value", on="torch-1.1", because="1.1 warns of nothing"),
        Expect(
            "raised",
            ["UserWarning: " + DEPRECATED, [], [0, 0, 0]],
            probe="value",
            on="torch-1.2",
            because="the first of the two warnings is an exception already, and the call stops there",
        ),
        Expect(
            "only the second raised",
            ["called", None, [5.0]],
            probe="value",
            on="torch-1.1",
            because="the second call overwrote what the first had saved",
        ),
        Expect(
            "only the second raised",
            ["UserWarning: " + CALLED_TWICE, [3.0], None],
            probe="value",
            on="torch-1.2",
            because="the call stops before it saves anything, so the first graph is whole",
        ),
    ],
)
def legacy_second_call_warns(lab):
    """`y = f(x1)` is kept, then `f(x2)`: the second call overwrites what the first has saved, and y's gradient is wrong.

    PyTorch 1.1 says nothing. PyTorch 1.2 gives two warnings at the second call: that the style is deprecated, as at each
    call, and that this object was called twice. The second is given only while the first graph is alive: an instance that
    is called once a step, each graph dead before the next call, gets the first warning only.

    The warnings are shown, ignored, or turned into exceptions. As an exception the second one protects the gradient: the
    call stops before forward runs, and backward from y is right. No reference may be left behind in any of these cases.

    Fix: static forward and backward, called by `Scale.apply`.
    """
    for name, action in (("shown", "always"), ("ignored", "ignore"), ("raised", "error")):
        f = scaling(lab, static=False)()
        lab.value(name, call_twice(lab, f, f, action))
    lab.value("only the second raised", raise_the_second_only(lab, scaling(lab, static=False)))
    lab.stage("called twice")


@legacy_second_call_warns.fixed(
    title="A static Function applied twice warns of nothing",
    fix="static forward and backward, called by Scale.apply",
    needs="",
    expects=[
        Expect(name, ["called", [], [0, 0, 0]], probe="value", because="each call has a ctx of its own")
        for name in ("shown", "ignored", "raised")
    ],
)
def static_second_call_is_silent(lab):
    """The same two calls through `Scale.apply`: nothing is overwritten, and there is nothing to warn of."""
    for name, action in (("shown", "always"), ("ignored", "ignore"), ("raised", "error")):
        Scale = scaling(lab, static=True)
        lab.value(name, call_twice(lab, Scale.apply, Scale, action))
    lab.stage("called twice")
