"""A C reference leak in released frameworks: PyTorch 2.0 to 2.13 never release the return value of setup_context."""

import sys

from gradlife.scenario import Expect, scenario

CALLS = 20
LEAKING = "torch>=2.0,<2.14"


class Token:
    """Something that setup_context returns."""


def doubling(lab, returned):
    """A Function in the two-part form whose setup_context returns `returned`."""

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(x):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            return returned

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    return Double


def references_left(lab, returned, function):
    """How many references to `returned` a number of calls leaves behind."""
    x = lab.tensor(requires_grad=True)
    function.apply(x)
    before = sys.getrefcount(returned)
    for _ in range(CALLS):
        function.apply(x)
    return sys.getrefcount(returned) - before


@scenario(
    title="setup_context leaks what it returns",
    origin=["pytorch/pytorch#188034", "pytorch/pytorch#188039", "pytorch/pytorch#191966", "pytorch/pytorch#89859"],
    pattern="GL107",
    needs="autograd.Function.setup_context",
    expects=[
        Expect(
            "references left by 20 calls",
            CALLS,
            probe="value",
            on=LEAKING,
            because="the C++ caller never drops the result",
        ),
        Expect("token", "never", on=LEAKING, because="its count never comes back to zero"),
        Expect(
            "references left by 20 calls", 0, probe="value", on="torch>=2.14", because="the C++ caller drops the result"
        ),
        Expect("token", "del", on="torch>=2.14"),
    ],
)
def setup_context_leaks_its_result(lab):
    """`setup_context` should return None. If it returns an object (a lambda as setup_context, a decorator that passes a
    result on), each call leaks one reference to it, up to PyTorch 2.13. PyTorch 2.14 releases it.

    Calls done: the C++ code calls setup_context, gets a new reference, checks it for an error, and forgets it. No object
    holds the token; its reference count is simply too high by the number of calls.

    Names dropped: the count can't reach zero any more. To the collector the token looks held from outside, so it is lost
    for the life of the process, with everything that it refers to. The common None leaks as well, and nobody sees it.

    Fix: return nothing from setup_context.
    """
    token = Token()
    lab.watch("token", token)
    function = doubling(lab, token)
    lab.value("references left by 20 calls", references_left(lab, token, function))
    lab.stage("calls done")
    del function, token
    lab.collect()
    lab.stage("names dropped", all_names_gone=True)


@setup_context_leaks_its_result.fixed(
    title="setup_context returns nothing",
    fix="return None from setup_context",
    expects=[
        Expect("references left by 20 calls", 0, probe="value", on="torch-2.*"),
        Expect("token", "del", on="torch-2.*"),
    ],
)
def setup_context_returns_nothing(lab):
    """The same Function keeps the token on ctx and returns nothing: ctx owns one reference and gives it back when it
    goes."""
    token = Token()
    lab.watch("token", token)

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(x, token):
            return x * 2

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.token = inputs[1]

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, None

    x = lab.tensor(requires_grad=True)
    before = sys.getrefcount(token)
    for _ in range(CALLS):
        Double.apply(x, token)
    lab.value("references left by 20 calls", sys.getrefcount(token) - before)
    lab.stage("calls done")
    del token
    lab.stage("names dropped", all_names_gone=True)
