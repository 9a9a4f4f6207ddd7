"""One hook over the gradients of several tensors."""

from gradlife.scenario import Expect, scenario

COUPLED = "torch>=2.13"
NEEDS = "autograd.graph.register_multi_grad_hook"


class Note:
    """A plain object that can be watched."""


def hook_over(lab, note, **mode):
    """Two activations with one hook that keeps nothing but a note; gives the loss and the hook's handle."""
    hidden = lab.tensor(requires_grad=True) * 2
    output = hidden * 3

    def hook(grads):
        note.seen = True

    handle = lab.fw.autograd.graph.register_multi_grad_hook([hidden, output], hook, **mode)
    return output.sum(), handle


@scenario(
    title="a hook over several tensors keeps their graph",
    origin=["pytorch/pytorch#86260", "pytorch/pytorch#90132"],
    pattern="GL357",
    needs=NEEDS,
    expects=[
        Expect("called", True, probe="value", on="torch-2.*"),
        Expect(
            "note",
            "never",
            on=COUPLED,
            because="node -> its hooks -> the registered hook -> the list of nodes that it waits for -> node",
        ),
    ],
)
def multi_grad_hook_keeps_its_graph(lab):
    """`register_multi_grad_hook([a, b], hook)` calls `hook` once, when the gradients of both tensors are there.

    Hook registered: to know for how many gradients to wait, the registered hook asks which of the tensors' grad nodes the
    current backward will run. So it keeps these nodes in a list, and the nodes keep it: a ring, made by the registering
    function, whatever the hook itself refers to. Backward done: backward frees no hooks.

    Loss dropped: the edge from a node to its hooks is C++; the collector does not follow it while anybody else owns the
    node, and the list does. The nodes, what their hooks close over, and the leaves behind them are lost, for each step.
    For leaves the list has their accumulators: the same ring, and the parameter in it.

    Fix: `handle.remove()` at the end of the step; or `mode="any"`, which needs no list.
    """
    note = Note()
    loss, handle = hook_over(lab, note)
    lab.watch("note", note)
    lab.stage("hook registered")
    loss.backward()
    lab.value("called", getattr(note, "seen", False))
    lab.stage("backward done")
    del loss, handle, note
    lab.stage("loss dropped", all_names_gone=True)


@multi_grad_hook_keeps_its_graph.fixed(
    title="a hook over several tensors, removed",
    fix="handle.remove() at the end of the step",
    expects=[
        Expect("called", True, probe="value", on="torch-2.*"),
        Expect("note", "del", on="torch-2.*", because="each node's hook was taken out, and the list with it"),
    ],
)
def multi_grad_hook_removed(lab):
    """The same step removes its hook."""
    note = Note()
    loss, handle = hook_over(lab, note)
    lab.watch("note", note)
    lab.stage("hook registered")
    loss.backward()
    lab.value("called", getattr(note, "seen", False))
    handle.remove()
    lab.stage("backward done")
    del loss, handle, note
    lab.stage("loss dropped", all_names_gone=True)


@multi_grad_hook_keeps_its_graph.fixed(
    title="a hook over several tensors that waits for one",
    fix='mode="any", if the first gradient will do',
    expects=[
        Expect("called", True, probe="value", on="torch-2.*"),
        Expect("note", "del", on="torch-2.*", because="waiting for one gradient takes no list of nodes"),
    ],
)
def multi_grad_hook_for_any(lab):
    """The same hook is called at the first gradient. It counts nothing, so it keeps no nodes."""
    note = Note()
    loss, handle = hook_over(lab, note, mode="any")
    lab.watch("note", note)
    lab.stage("hook registered")
    loss.backward()
    lab.value("called", getattr(note, "seen", False))
    lab.stage("backward done")
    del loss, handle, note
    lab.stage("loss dropped", all_names_gone=True)
