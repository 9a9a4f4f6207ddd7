"""Hooks at the end of backward: after the accumulation of a leaf's gradient, and on the accumulator."""

from gradlife.scenario import Expect, scenario


def over(obj):
    """A hook that holds an object."""

    def hook(leaf):
        held = obj  # holding it is all that this hook does with it

    return hook


@scenario(
    title="A post-accumulate hook over its leaf",
    origin=["pytorch/pytorch#107063", "pytorch/pytorch#187268"],
    pattern="GL354",
    needs="Tensor.register_post_accumulate_grad_hook",
    expects=[
        Expect(
            "hook", "never", on="torch-2.*", because="the C++ owner of the dictionary is not shown to the collector"
        ),
        Expect("weight", "never", on="torch-2.*"),
    ],
)
def post_accumulate_hook_over_leaf(lab):
    """`weight.register_post_accumulate_grad_hook(step_now)` where step_now refers to the weight: the optimizer in
    backward, written with a closure.

    Hook registered: weight -> dictionary -> hook -> weight, as with a plain hook on a leaf. But this dictionary has an
    owner in C++ that the collector does not get to see: it takes the dictionary for held from outside.

    Name dropped: never freed, where a plain `register_hook` on a leaf is freed by the collector.

    Fix: the hook is given the leaf as its argument; use that one.
    """
    weight = lab.tensor(requires_grad=True)
    hook = over(weight)
    weight.register_post_accumulate_grad_hook(hook)
    lab.watch("weight", weight)
    lab.watch("hook", hook)
    del hook
    lab.stage("hook registered")
    (weight * 2).sum().backward()
    lab.stage("backward done")
    del weight
    lab.stage("name dropped", all_names_gone=True)


@post_accumulate_hook_over_leaf.fixed(
    title="A post-accumulate hook that uses its argument",
    fix="use the leaf that the hook is given",
    expects=[Expect("hook", "del", on="torch-2.*"), Expect("weight", "del", on="torch-2.*")],
)
def post_accumulate_hook_by_argument(lab):
    """The same hook uses its argument and closes over nothing."""
    weight = lab.tensor(requires_grad=True)
    hook = over(None)
    weight.register_post_accumulate_grad_hook(hook)
    lab.watch("weight", weight)
    lab.watch("hook", hook)
    del hook
    lab.stage("hook registered")
    (weight * 2).sum().backward()
    lab.stage("backward done")
    del weight
    lab.stage("name dropped", all_names_gone=True)


@post_accumulate_hook_over_leaf.fixed(
    title="A post-accumulate hook removed",
    fix="handle.remove()",
    expects=[
        Expect("hook", "dead", probe="expiry", stage="hook removed", on="torch-2.*"),
        Expect("weight", "del", on="torch-2.*"),
    ],
)
def post_accumulate_hook_removed(lab):
    """The same closure, removed after backward: both owners look at one dictionary, and its entry is gone."""
    weight = lab.tensor(requires_grad=True)
    hook = over(weight)
    handle = weight.register_post_accumulate_grad_hook(hook)
    lab.watch("weight", weight)
    lab.watch("hook", hook)
    del hook
    (weight * 2).sum().backward()
    lab.stage("backward done")
    handle.remove()
    lab.stage("hook removed")
    del weight, handle
    lab.stage("name dropped", all_names_gone=True)


def accumulator_of(tensor):
    """The grad accumulator of the leaf that a one-step graph starts from."""
    return tensor.grad_fn.next_functions[0][0]


@scenario(
    title="A hook on an accumulator is lost with its graph",
    origin=["pytorch/pytorch#139742", "pytorch/pytorch#34501"],
    pattern="GL356",
    expects=[
        Expect(
            "times the hook ran",
            0,
            probe="value",
            stage="second graph run",
            on="torch-*",
            because="the second graph made a new accumulator",
        ),
        Expect(
            "hook",
            "dead",
            probe="expiry",
            stage="first graph dropped",
            on="torch-*",
            because="the leaf remembers its accumulator weakly",
        ),
        Expect("hook", "del", on="torch-*"),
    ],
)
def accumulator_hook_lost(lab):
    """Register a hook on the node that adds into `weight.grad`, once, before training: a trick of gradient reducers.

    Hook registered: graph -> accumulator -> hook. The weight itself knows its accumulator by a weak pointer only, so
    that weight and accumulator do not keep each other alive.

    First graph dropped: the accumulator had no other owner and dies, and the hook with it, in silence.
    Second graph run: a new accumulator was made, without the hook. It runs no more.

    Fix: hold the accumulator (reducers keep a list of them), or use `register_post_accumulate_grad_hook`.
    """
    calls = []
    weight = lab.tensor(requires_grad=True)
    first = weight * 2
    hook = noting(calls)
    lab.watch("hook", hook)
    lab.attempt("registered", lambda: type(accumulator_of(first).register_hook(hook)).__name__)
    del hook
    lab.stage("hook registered")
    del first
    lab.stage("first graph dropped")
    (weight * 2).sum().backward()
    lab.value("times the hook ran", len(calls))
    lab.stage("second graph run")
    del weight
    lab.stage("names dropped", all_names_gone=True)


@accumulator_hook_lost.fixed(
    title="A hook on a held accumulator",
    fix="keep a reference to the accumulator",
    expects=[
        Expect(
            "times the hook ran",
            1,
            probe="value",
            stage="second graph run",
            on="torch-*",
            because="the held accumulator is found and used again",
        ),
        Expect("hook", "del", on="torch-*"),
    ],
)
def accumulator_hook_kept(lab):
    """The same with the accumulator in a list: it outlives the first graph, the second graph finds it through the
    weight's weak pointer, and the hook runs. Note that whoever holds it holds the weight, too."""
    calls = []
    kept = []
    weight = lab.tensor(requires_grad=True)
    first = weight * 2
    hook = noting(calls)
    lab.watch("hook", hook)
    lab.attempt("held", lambda: kept.append(accumulator_of(first)))
    lab.attempt("registered", lambda: type(kept[0].register_hook(hook)).__name__)
    del hook
    lab.stage("hook registered")
    del first
    lab.stage("first graph dropped")
    (weight * 2).sum().backward()
    lab.value("times the hook ran", len(calls))
    lab.stage("second graph run")
    del weight, kept
    lab.stage("names dropped", all_names_gone=True)


def noting(calls):
    """A node hook that notes its calls."""

    def hook(*grads):
        calls.append(1)

    return hook
