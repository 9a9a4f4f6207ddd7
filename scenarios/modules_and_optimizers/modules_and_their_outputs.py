"""How an output can keep a whole module, and a module its parent."""

import weakref

from gradlife.scenario import Expect, scenario


@scenario(
    title="an output keeps the module with a backward hook",
    origin=["pytorch/pytorch#46163", "pytorch/pytorch#58271"],
    pattern="GL607",
    needs="hooks nn.Module nn.Module.register_full_backward_hook",
    expects=[
        Expect(
            "module",
            "alive",
            probe="expiry",
            stage="only the output left",
            on="torch-2.*",
            because="output -> node -> its hook -> the hook's record of the call -> module",
        ),
        Expect(
            "module", "alive", probe="expiry", stage="backward done", on="torch-2.*", because="backward frees no hooks"
        ),
        Expect("module", "del", on="torch-2.*", because="a chain, not a cycle"),
    ],
)
def output_keeps_the_module(lab):
    """`register_full_backward_hook` on a module that is then dropped, while one output of it is kept.

    Only the output left: without the hook an output owns nodes, and these own parameters, never the module. A full
    backward hook is to be called with the module when the gradients of its inputs and outputs are known, so at each
    forward the module puts a pair of hooks on the graph that remember it. Now output -> graph -> hook -> module, with all
    its parameters, buffers and whatever else hangs on it.

    Backward done: hooks are no saved tensors; they stay. Output dropped: all goes by reference counts.

    Fix: keep detached outputs.
    """
    module = lab.fw.nn.Linear(4, 4)
    module.register_full_backward_hook(lambda module, grad_input, grad_output: None)
    lab.watch("module", module)
    output = module(lab.fw.ones(2, 4).requires_grad_())
    del module
    lab.stage("only the output left")
    output.sum().backward()
    lab.stage("backward done")
    del output
    lab.stage("output dropped", all_names_gone=True)


@output_keeps_the_module.fixed(
    title="a detached output keeps no module",
    fix="keep output.detach()",
    expects=[Expect("module", "dead", probe="expiry", stage="only the output left"), Expect("module", "del")],
)
def detached_output_keeps_no_module(lab):
    """The same output without its history."""
    module = lab.fw.nn.Linear(4, 4)
    module.register_full_backward_hook(lambda module, grad_input, grad_output: None)
    lab.watch("module", module)
    output = module(lab.fw.ones(2, 4).requires_grad_()).detach()
    del module
    lab.stage("only the output left")
    lab.value("shape", list(output.shape))
    del output
    lab.stage("output dropped", all_names_gone=True)


@scenario(
    title="a module that knows its parent",
    origin=["pytorch/pytorch#63482"],
    pattern="GL608",
    needs="nn.Module",
    expects=[
        Expect("parent", "gc", because="parent -> _modules -> child -> _modules -> parent"),
        Expect(
            "parent is a child of its child", True, probe="value", because="a module as an attribute is a submodule"
        ),
    ],
)
def child_knows_its_parent(lab):
    """`child.parent = self`, to reach a setting of the whole model from one of its layers.

    Built: an attribute that is a module is registered as a submodule. So the parent owns the child and the child owns the
    parent, as a part of itself: apart from the ring, `repr(model)` and a walk over children recurse without end (only
    walks that remember what they saw survive).

    Dropped: the whole model waits for the collector.

    Fix: hand the setting down when the child is built, or keep the parent in a weak reference.
    """

    class Layer(lab.fw.nn.Module):
        pass

    parent, child = Layer(), Layer()
    parent.child = child
    child.parent = parent
    lab.value("parent is a child of its child", parent._modules["child"]._modules.get("parent") is parent)
    lab.watch("parent", parent)
    lab.stage("built")
    del parent, child
    lab.stage("dropped", all_names_gone=True)


@child_knows_its_parent.fixed(
    title="a module that knows its parent weakly",
    fix="child.parent = weakref.ref(self)",
    expects=[
        Expect("parent", "del"),
        Expect("parent is a child of its child", False, probe="value", because="a weak reference is no module"),
    ],
)
def child_knows_its_parent_weakly(lab):
    """The same with a weak reference, which is an attribute like any other."""

    class Layer(lab.fw.nn.Module):
        pass

    parent, child = Layer(), Layer()
    parent.child = child
    child.parent = weakref.ref(parent)
    lab.value("parent is a child of its child", parent._modules["child"]._modules.get("parent") is parent)
    lab.watch("parent", parent)
    lab.stage("built")
    del parent, child
    lab.stage("dropped", all_names_gone=True)


@scenario(
    title="a state dict keeps the weights",
    origin=["choderalab/pinot#23"],
    pattern="GL609",
    needs="nn.Module numpy",
    expects=[
        Expect("weight's memory", "held", on="torch-*", because="record -> state dict -> detached tensor -> storage"),
        Expect(
            "kept number", 7.0, probe="value", on="torch-*", because="the kept tensor shows what training did later"
        ),
    ],
)
def state_dict_keeps_the_weights(lab):
    """`best = model.state_dict()`, to come back to the best epoch; then training goes on, then the model is dropped.

    Training went on: a state dict holds detached tensors, which share the parameters' memory. So it is no copy: the best
    epoch's weights change with every step that follows. Record alone: and it is no reference to the model either, but
    to all of its memory, which stays as long as the record.

    Fix: a copy, if one is wanted (`{name: tensor.clone()}`), of the best epoch only; or save to a file.
    """
    model = lab.fw.nn.Linear(4, 1)
    array = lab.fw.ones(1, 4).numpy()
    lab.watch("weight's memory", array)
    model.weight = lab.fw.nn.Parameter(lab.fw.from_numpy(array))
    del array
    record = {"best": model.state_dict()}
    lab.hold(record)
    with lab.fw.no_grad():
        model.weight.fill_(7.0)
    lab.value("kept number", record["best"]["weight"].sum().item() / 4)
    lab.stage("training went on")
    del model, record
    lab.stage("record alone", all_names_gone=True)


@state_dict_keeps_the_weights.fixed(
    title="a state dict of copies",
    fix="{name: tensor.clone() for name, tensor in model.state_dict().items()}",
    expects=[
        Expect("weight's memory", "del", on="torch-*", because="a copy has memory of its own"),
        Expect("kept number", 1.0, probe="value", on="torch-*"),
    ],
)
def state_dict_of_copies(lab):
    """The same record with copies: the numbers stay those of the best epoch, and the model's memory goes with the model."""
    model = lab.fw.nn.Linear(4, 1)
    array = lab.fw.ones(1, 4).numpy()
    lab.watch("weight's memory", array)
    model.weight = lab.fw.nn.Parameter(lab.fw.from_numpy(array))
    del array
    record = {"best": {name: tensor.clone() for name, tensor in model.state_dict().items()}}
    lab.hold(record)
    with lab.fw.no_grad():
        model.weight.fill_(7.0)
    lab.value("kept number", record["best"]["weight"].sum().item() / 4)
    lab.stage("training went on")
    del model, record
    lab.stage("record alone", all_names_gone=True)
