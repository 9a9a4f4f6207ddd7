"""How long a legacy instance lives, and what still works on it when its graph is gone."""

from gradlife.scenario import Expect, scenario

OLD = "torch-1.1 torch-1.2"
NOW = "torch>=1.8"
DROPPED = "instance dropped, output alive"
NAUGHTY = (
    "RuntimeError: Legacy autograd function attempted to call backward before forward was called.  This could "
    "occur if you manually called _do_backward on Function.  In any case, this is very naughty!  If you absolutely "
    "need this to work, try porting your code to use non-legacy autograd function, see: (link)"
)
NEVER_CALLED = (
    "RuntimeError: Legacy autograd function had next_functions accessed before the function was invoked.  This "
    "doesn't make any sense: we have no idea what the next functions are, because you haven't actually inserted "
    "this grad_fn inside a graph.  Try invoking your function first before accessing this field."
)
FREED = (
    "RuntimeError: Trying to backward through the graph a second time, but the buffers have already been freed. "
    "Specify retain_graph=True when calling backward the first time."
)


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


def call(function, x):
    """The output of calling a legacy instance, or None where that is refused."""
    try:
        return function(x)
    except (RuntimeError, TypeError, AttributeError):
        return None


@scenario(
    title="A legacy instance lives through its graph",
    origin=["pytorch/pytorch#22983"],
    pattern="GL108",
    expects=[
        Expect("instance", "alive", probe="expiry", stage=DROPPED, on=OLD, because="output -> node -> instance"),
        Expect(
            "instance",
            "dead",
            probe="expiry",
            stage=DROPPED,
            on=NOW,
            because="the call was refused, so nothing but the name held it",
        ),
        Expect("instance", "del", on="torch-*"),
    ],
)
def legacy_instance_lives_through_its_graph(lab):
    """The only name of a legacy instance is dropped while its output is alive.

    Instance dropped, output alive: the instance is the ctx, and the output's node owns its ctx; so it lives. In 1.1 the
    node is a part of it and the owners of the node hold it by Python references; in 1.2 the node owns it outright.
    Output dropped: node and instance go together, at once. Where the call is refused there never was a graph.
    """
    f = scaling_legacy(lab)()
    lab.watch("instance", f)
    y = call(f, lab.tensor(requires_grad=True))
    lab.stage("called")
    del f
    lab.stage(DROPPED)
    del y
    lab.stage("output dropped", all_names_gone=True)


@scenario(
    title="A legacy instance whose graph is gone",
    origin=["pytorch/pytorch#22983", "pytorch/pytorch#22998"],
    pattern="GL108",
    needs="legacy",
    expects=[
        Expect(
            "_do_backward", [[1.0] * 4], probe="value", on="torch-1.1", because="the node is a part of the instance"
        ),
        Expect(
            "_do_backward",
            NAUGHTY[:330],
            probe="value",
            on="torch-1.2",
            because="the weak pointer to the node is empty",
        ),
        Expect("next_functions", 1, probe="value", on="torch-1.1"),
        Expect(
            "next_functions",
            NEVER_CALLED[:330],
            probe="value",
            on="torch-1.2",
            because="the weak pointer to the node is empty",
        ),
        Expect("saved_tensors", 1, probe="value", on="torch-1.1"),
        Expect(
            "saved_tensors",
            FREED[:330],
            probe="value",
            on="torch-1.2",
            because="what the dead node had saved went with it",
        ),
        Expect("instance", "del", on=OLD),
    ],
)
def legacy_instance_without_its_graph(lab):
    """`f` is kept, its output is dropped, and then f is asked for everything, even `f._do_backward(...)`.

    PyTorch 1.1: the node is inside f, so all of it still works, and backward can be run by hand over a graph that no
    tensor leads to any more.

    PyTorch 1.2: the node died with the output. Every accessor has to look whether its weak pointer is empty and say so.
    `_do_backward` is the worst of them: it would run C++ code on a dead node. The words of the error are that release's.
    """
    f = scaling_legacy(lab)()
    lab.watch("instance", f)
    y = call(f, lab.tensor(requires_grad=True))
    lab.stage("called")
    del y
    lab.attempt("next_functions", lambda: len(f.next_functions))
    lab.attempt("saved_tensors", lambda: len(f.saved_tensors))
    lab.attempt("_do_backward", lambda: list(f._do_backward((lab.tensor(),), True)))
    lab.stage("graph gone, instance alive")
    del f
    lab.stage("instance dropped", all_names_gone=True)


@scenario(
    title="A hook put on a legacy instance before its call",
    origin=["pytorch/pytorch#22983", "pytorch/pytorch#22925"],
    pattern="GL108",
    needs="legacy",
    expects=[
        Expect(
            "hook registered",
            "RemovableHandle",
            probe="value",
            on="torch-1.1",
            because="the node is there from the start",
        ),
        Expect(
            "hook registered",
            "RuntimeError",
            probe="value",
            on="torch-1.2",
            because="before the call there is no node to put it on",
        ),
        Expect("times the hook ran", 1, probe="value", on="torch-1.1"),
        Expect("times the hook ran", 0, probe="value", on="torch-1.2"),
    ],
)
def legacy_hook_before_the_call(lab):
    """`f.register_hook(hook)` first, `f(x)` and backward afterwards.

    PyTorch 1.1: the hook goes on the node inside f and runs in backward. PyTorch 1.2: the node is made by the call, so
    registering raises, with a text that says what to do; silently losing the hook would have been easier.

    Fix: call first, then register on `y.grad_fn`.
    """
    calls = []
    f = scaling_legacy(lab)()

    def register():
        try:
            return type(f.register_hook(lambda *grads: calls.append(1))).__name__
        except (RuntimeError, AttributeError) as error:
            return type(error).__name__

    lab.value("hook registered", register())
    y = call(f, lab.tensor(requires_grad=True))
    lab.stage("called")
    y.sum().backward()
    lab.value("times the hook ran", len(calls))
    lab.stage("backward done")


@legacy_hook_before_the_call.fixed(
    title="A hook put on a legacy instance after its call",
    fix="register on y.grad_fn after the call",
    expects=[
        Expect("hook registered", "RemovableHandle", probe="value", on=OLD),
        Expect("times the hook ran", 1, probe="value", on=OLD),
    ],
)
def legacy_hook_after_the_call(lab):
    """The same hook registered after the call: the node exists in both releases, and the hook runs."""
    calls = []
    f = scaling_legacy(lab)()
    y = call(f, lab.tensor(requires_grad=True))
    lab.attempt("hook registered", lambda: type(y.grad_fn.register_hook(lambda *grads: calls.append(1))).__name__)
    lab.stage("called")
    y.sum().backward()
    lab.value("times the hook ran", len(calls))
    lab.stage("backward done")
