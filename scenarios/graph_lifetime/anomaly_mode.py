"""Anomaly mode, a debugging aid: each node of a gradient's graph keeps the node that created it."""

import warnings

from gradlife.scenario import Expect, scenario

HELD = "only the gradient held"


def one_gradient(lab):
    """The gradient of a Function's output with a graph of its own, which needs the input and not the Function's node."""

    class Square(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            lab.watch("ctx", ctx)
            return x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * x * 2

    x = lab.tensor(requires_grad=True)
    (slope,) = lab.fw.autograd.grad(Square.apply(x).sum(), x, create_graph=True)
    return slope


@scenario(
    title="anomaly mode keeps the forward behind a gradient",
    origin=["pytorch/pytorch#15803", "pytorch/pytorch#34666"],
    pattern="GL410",
    needs="autograd.detect_anomaly cxx_metadata",
    expects=[
        Expect(
            "ctx",
            "alive",
            probe="expiry",
            stage=HELD,
            on="torch-2.*",
            because="gradient -> its node -> metadata `parent_` -> the forward's node -> ctx",
        ),
        Expect("parent noted", True, probe="value", on="torch-2.*"),
        Expect("ctx", "del", on="torch-2.*", because="a chain, not a cycle"),
    ],
)
def anomaly_mode_keeps_the_forward(lab):
    """`with autograd.detect_anomaly():` left on after debugging, in a program with second derivatives.

    To be able to say which forward line a failing backward belongs to, each node that is made while another node's
    backward runs notes that node as its parent, in its metadata: a strong reference, gradient -> parent.

    Only the gradient held: without the mode the gradient's graph owns what it saved, and no node of the forward that it
    does not need. With it every node drags its parent along, with ctx, hooks and edges, generation by generation.

    Gradient dropped: all goes; the mode costs memory and time, it loses nothing.

    Fix: leave the mode off when the fault is found.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with lab.fw.autograd.detect_anomaly():
            slope = one_gradient(lab)
    lab.value("parent noted", "parent_" in slope.grad_fn.metadata)
    lab.stage(HELD)
    del slope
    lab.stage("gradient dropped", all_names_gone=True)


@anomaly_mode_keeps_the_forward.fixed(
    title="a gradient without anomaly mode",
    fix="leave anomaly mode off",
    expects=[
        Expect(
            "ctx", "dead", probe="expiry", stage=HELD, on="torch-2.*", because="the gradient's graph does not need it"
        ),
        Expect("parent noted", False, probe="value", on="torch-2.*"),
        Expect("ctx", "del", on="torch-2.*"),
    ],
)
def gradient_without_anomaly_mode(lab):
    """The same gradient without the mode: the Function's node goes with its output."""
    slope = one_gradient(lab)
    lab.value("parent noted", "parent_" in slope.grad_fn.metadata)
    lab.stage(HELD)
    del slope
    lab.stage("gradient dropped", all_names_gone=True)
