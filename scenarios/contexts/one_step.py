"""One training step in several contexts: which of them turn a cycle into a leak, and which break it.

Plain; under no_grad; under both kinds of checkpoint; with a backward that raises; without backward; with the forward in another
thread; compiled.
"""

from functools import partial

from gradlife.scenario import Expect, scenario

EVERY = "plain no_grad checkpoint reentrant exception skipped thread compile"
WITH_A_GRAPH = "plain exception skipped thread"


def told(lab, forward):
    """Run a forward and a backward in the context, then drop all names."""
    x = lab.tensor(requires_grad=True)
    y = lab.forward(forward, x)
    lab.stage("forward done")
    lab.backward(y)
    lab.stage("step done")
    del x, y
    lab.stage("names gone", all_names_gone=True)


@scenario(
    title="a step without a cycle",
    contexts=EVERY,
    expects=[
        Expect("hidden", "inconclusive", on="oneflow-*"),
        Expect("hidden", "del", because="nothing else holds it"),
    ],
)
def step_without_a_knot(lab):
    """The control: hidden = x * x, y = hidden * hidden, and nothing else.

    Whatever the circumstances, the names are all that keeps the graph, and all goes with them.

    Fix: nothing to fix.
    """

    def forward(x):
        hidden = x * x
        lab.watch_first("hidden", hidden)
        return hidden * hidden

    told(lab, forward)


@scenario(
    title="a step whose activation has a hook over itself",
    pattern="GL311",
    contexts=EVERY,
    expects=[
        Expect(
            "hook", "never", within=WITH_A_GRAPH, on="torch-*", because="node -> hook -> hidden -> node, through C++"
        ),
        Expect(
            "hook", "never", within="checkpoint compile", on="torch-*", because="the graph is a graph like any other"
        ),
        Expect("hook", "never", within="reentrant", on="oneflow-*", because="every checkpoint there works by hooks"),
        Expect("hook", "del", within="no_grad reentrant", because="the forward records no graph to register a hook in"),
    ],
)
def step_with_a_hook_over_its_activation(lab):
    """`hidden.register_hook(note)`, where note remembers `hidden`.

    hidden -> its grad_fn -> (C++) the hook -> hidden. The collector sees no edge from the node to its hooks, so this is
    lost for ever wherever the forward records a graph. Neither a backward nor one that is broken off takes a hook away.
    Under no_grad there is no graph, and registering is refused.

    Fix: `handle.remove()`, or let the hook use its argument.
    """

    def forward(x):
        hidden = x * x

        def note(gradient):
            return gradient * hidden.detach().sum()

        lab.watch_first("hook", note)
        if hidden.requires_grad:
            hidden.register_hook(note)
        return hidden * hidden

    told(lab, forward)


@scenario(
    title="a step whose Function keeps its output",
    origin=["pytorch/pytorch#25340"],
    pattern="GL101",
    contexts=EVERY,
    needs="ctx_attributes",
    expects=[
        Expect(
            "kept",
            "never",
            within=WITH_A_GRAPH,
            on="torch<1.10",
            because="an edge through C++",
        ),
        Expect("kept", "gc", within=WITH_A_GRAPH, on="torch-*", because="the collector goes through the wrapper kept"),
        Expect("kept", "never", within="reentrant", on="oneflow-*", because="every checkpoint there works by hooks"),
        Expect("kept", "del", within="no_grad reentrant", because="the first call, which is watched, records no graph"),
    ],
)
def step_whose_function_keeps_its_output(lab):
    """A Function that stores its own output on ctx, beside an object that represents the rest of its state.

    y -> node -> ctx -> y. Under a checkpoint the Function is called twice, first without a graph.

    Fix: `ctx.save_for_backward(y)`, or store `y.detach()`.
    """

    class State(object):
        pass

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.output = y
            ctx.state = State()
            lab.watch_first("kept", ctx.state)
            return y

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2

    told(lab, Double.apply)


@scenario(
    title="a step whose Function saves a view of its output",
    pattern="GL110",
    contexts=EVERY,
    needs="ctx_attributes",
    expects=[
        Expect(
            "kept",
            "del",
            within=WITH_A_GRAPH,
            on="torch<1.10",
            because="the view has no wrapper left",
        ),
        Expect("kept", "never", within="skipped exception", on="torch-*", because="slot -> view -> grad_fn -> slot"),
        Expect("kept", "del", within="plain thread", on="torch-*", because="backward released the slot"),
    ],
)
def step_whose_function_saves_a_view_of_its_output(lab):
    """`ctx.save_for_backward(y.view(-1))` where y is the output.

    A saved output is recognized and makes no cycle; a saved view of it is not recognized. A backward that reaches the
    node releases the slot, and with it the cycle. One that is skipped, or broken off before the node, leaves it for
    ever, from 1.10 on. Up to 1.9 a backward that reaches the node cannot read the slot: the view was made before the
    output had a history, so it is a leaf without an accumulator.

    Fix: save the output itself, and take the view in backward.
    """

    class State(object):
        pass

    class Double(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(y.view(-1))
            ctx.state = State()
            lab.watch_first("kept", ctx.state)
            return y

        @staticmethod
        def backward(ctx, gradient):
            return gradient * 2 + 0 * ctx.saved_tensors[0]

    x = lab.tensor(requires_grad=True)
    y = lab.forward(Double.apply, x)
    lab.stage("forward done")
    lab.attempt("backward", partial(lab.backward, y))
    lab.stage("step done")
    del x, y
    lab.stage("names gone", all_names_gone=True)


@scenario(
    title="a step whose input carries its output",
    pattern="GL205",
    contexts=EVERY,
    expects=[
        Expect(
            "note",
            "del",
            within=WITH_A_GRAPH,
            on="torch<1.10",
            because="a wrapper dies with its names",
        ),
        Expect("note", "never", within=WITH_A_GRAPH, on="torch-*", because="the wrapper lives as long as its tensor"),
    ],
)
def step_whose_input_carries_its_output(lab):
    """`x.last = y`: a result is remembered as an attribute of the leaf that it was computed from.

    From 1.10 on: x -> (attributes of its wrapper) y -> grad_fn -> accumulator -> x. Backward does not cut the edges.

    Fix: remember `y.detach()`, or delete the attribute at the end of the step.
    """

    class Note(object):
        pass

    def forward(x):
        y = x * x
        note = Note()
        note.result = y
        lab.watch_first("note", note)
        lab.attempt("remembered", lambda: setattr(x, "last", note))
        return y

    told(lab, forward)
