"""A rejected design for legacy Functions: mark an instance as used up by its first call."""

import warnings

from gradlife.scenario import Expect, scenario


def scaling_legacy(lab):
    """A Function in the old style, y = x * 1 with the gradient grad * x."""

    class Scale(lab.fw.autograd.Function):
        def forward(self, x):
            self.save_for_backward(x)
            return x * 1

        def backward(self, grad):
            (x,) = self.saved_tensors
            return grad * x

    return Scale


def passing_legacy(lab):
    """The same without anything saved: the gradient is passed on."""

    class Pass(lab.fw.autograd.Function):
        def forward(self, x):
            return x * 1

        def backward(self, grad):
            return grad

    return Pass


def gradient(lab, function, number):
    """The gradient of a leaf of one element through a legacy instance, or the type of what is raised."""
    x = lab.fw.tensor([number]).requires_grad_()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(x).backward()
    except Exception as error:
        return type(error).__name__
    return float(x.grad[0])


@scenario(
    title="Rejected: a legacy instance is consumed by its call",
    origin=["pytorch/pytorch#22983"],
    pattern="GL108",
    profile="torch-1.2+legacy_functions=consumed",
    expects=[
        Expect("first call", 3.0, probe="value"),
        Expect(
            "second call, the first graph dead",
            "RuntimeError",
            probe="value",
            because="the mark outlives the reason for it",
        ),
    ],
)
def legacy_consumed(lab):
    """The first call marks the instance; any later call is refused.

    It would have ended the clobbering of `legacy_used_twice` with a clear error. But it also refuses what was never
    wrong: an instance kept in a module that saves nothing and is called once a step, each graph dead before the next
    call. Code that worked would have stopped working in a release that only meant to repair an ownership, so two warnings
    came instead, and later the removal of the style.
    """
    f = scaling_legacy(lab)()
    lab.value("first call", gradient(lab, f, 3.0))
    lab.value("second call, the first graph dead", gradient(lab, f, 5.0))
    lab.stage("called twice")


@legacy_consumed.fixed(
    title="Accepted: a legacy instance gets a new node, and nothing is refused",
    fix="make a new node when the old one is gone",
    profile="torch-1.2",
    expects=[
        Expect("first call", 3.0, probe="value"),
        Expect(
            "second call, the first graph dead",
            "RuntimeError",
            probe="value",
            because="the call is taken, and backward reads what the first node's death marked as freed",
        ),
        Expect(
            "second call that saves nothing", 1.0, probe="value", because="an empty weak pointer asks for a new node"
        ),
    ],
)
def legacy_renewed(lab):
    """What PyTorch 1.2 does: the weak pointer to the first node is empty, so the second call makes another.

    The call is taken. But the first node's death has marked the instance as one whose buffers are freed, and no later
    call takes the mark away: a backward that reads `saved_tensors` raises in 1.2 (see
    `legacy_called_again_after_its_graph_died` for the release itself). One that saves nothing works.
    """
    f = scaling_legacy(lab)()
    lab.value("first call", gradient(lab, f, 3.0))
    lab.value("second call, the first graph dead", gradient(lab, f, 5.0))
    f = passing_legacy(lab)()
    gradient(lab, f, 3.0)
    lab.value("second call that saves nothing", gradient(lab, f, 5.0))
    lab.stage("called twice")
