"""A hook in a cycle with its node while a graph needs both: may the collector free it?"""

from gradlife.scenario import Expect, scenario


def over(node, calls):
    """A hook that holds a node and counts its calls."""

    def hook(grad):
        calls.append(node is not None)

    return hook


@scenario(
    title="The collector leaves hooks that a graph needs",
    origin=["pytorch/pytorch#102174"],
    pattern="GL352",
    expects=[
        Expect(
            "hook",
            "alive",
            probe="expiry",
            stage="collector ran",
            on="torch-2.*",
            because="the node has an owner besides its wrapper and shows nothing",
        ),
        Expect("times the hook ran", 2, probe="value", stage="backward twice", on="torch-2.*"),
        Expect(
            "hook",
            "gc",
            on="torch-2.*",
            because="with the graph gone the wrapper owns the node alone and shows the cycle",
        ),
    ],
)
def collector_leaves_needed_hooks(lab):
    """A hook on a middle tensor holds that tensor's grad_fn; only the end of the graph has a name.

    Hook registered: node -> dictionary -> hook -> wrapper of the node: a cycle, and seen from Python it has no root,
    because the graph that needs the hook is C++.

    Collector ran: what a node shows to the collector has to agree with who owns it. If the wrapper showed the hooks
    although a later node owns this one, too, the collector would count every reference, find no root, and empty the
    dictionary under a living graph: the hook silently stops firing. That was issue 102174, found in 2.0 and repaired by
    the rule "show the hooks only if the wrapper is the sole owner". Backward runs before and after the collection, and
    the hook has to run both times.

    Names dropped: now the wrapper is the sole owner, and the collector may and does free the cycle.
    """
    calls = []
    middle = lab.tensor(requires_grad=True).clone()
    hook = over(middle.grad_fn, calls)
    middle.register_hook(hook)
    lab.watch("hook", hook)
    del hook
    end = middle.clone().sum()
    del middle
    lab.stage("hook registered")
    end.backward(retain_graph=True)
    lab.collect()
    lab.stage("collector ran")
    end.backward(retain_graph=True)
    lab.value("times the hook ran", len(calls))
    lab.stage("backward twice")
    del end
    lab.stage("names dropped", all_names_gone=True)


@scenario(
    title="retain_grad makes no cycle",
    origin=["pytorch/pytorch#2078", "pytorch/pytorch#85849"],
    expects=[
        Expect("gradient of y", [1.0] * 4, probe="value", on="torch-*"),
        Expect("y", "del", on="torch-*", because="what retain_grad registers points back weakly"),
    ],
)
def retain_grad_makes_no_cycle(lab):
    """`y.retain_grad()` asks the graph to write the gradient into y: something that the node owns has to know y.

    Written as a plain hook it would be the activation's hook over the activation, a permanent leak. So it is built with
    a weak pointer from the node to the tensor: backward stores the gradient if the tensor is still there. y goes with
    its name, at once, in every release.
    """
    y = lab.tensor(requires_grad=True) * 2
    y.retain_grad()
    lab.watch("y", y)
    lab.stage("gradient asked for")
    y.sum().backward()
    lab.value("gradient of y", y.grad)
    lab.stage("backward done")
    del y
    lab.stage("name dropped", all_names_gone=True)
