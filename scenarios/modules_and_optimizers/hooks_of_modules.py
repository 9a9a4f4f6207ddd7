"""Hooks of modules: their closures, hooks that pile up, and what they leave on the module."""

from gradlife.scenario import Expect, scenario


def layer_with_watched_weight(lab):
    """A linear layer; its weight is watched, which dies with it."""
    layer = lab.fw.nn.Linear(4, 4)
    lab.watch("weight", layer.weight)
    return layer


@scenario(
    title="a forward hook over its module",
    origin=["pytorch/pytorch#46386"],
    pattern="GL604",
    needs="nn.Module",
    expects=[Expect("weight", "gc", on="torch-*", because="module -> _forward_hooks -> hook -> closure -> module")],
)
def forward_hook_over_its_module(lab):
    """`layer.register_forward_hook(lambda *args: note(layer))`: the hook names the layer that it is registered on.

    Registered: the module owns the dictionary of its hooks, the hook's closure owns the module: a ring of plain Python
    objects. (A method `self.hook` registered on `self` is the same.) The module owns its parameters and buffers.

    Dropped: the collector finds it (`gc`). A model per experiment in one process means two models at the peak.

    Fix: a hook is given its module as the first argument; use that one.
    """
    calls = []

    def build():
        layer = layer_with_watched_weight(lab)
        layer.register_forward_hook(lambda module, inputs, output: calls.append(layer.training))
        return layer

    layer = build()
    layer(lab.fw.ones(2, 4))
    lab.value("calls", calls)
    lab.stage("called")
    del layer
    lab.stage("dropped", all_names_gone=True)


@forward_hook_over_its_module.fixed(
    title="a forward hook that uses its argument",
    fix="use the module that the hook is given",
    expects=[Expect("weight", "del", on="torch-*", because="module -> hook, and no way back")],
)
def forward_hook_by_argument(lab):
    """The same hook uses its first argument."""
    calls = []

    def build():
        layer = layer_with_watched_weight(lab)
        layer.register_forward_hook(lambda module, inputs, output: calls.append(module.training))
        return layer

    layer = build()
    layer(lab.fw.ones(2, 4))
    lab.value("calls", calls)
    lab.stage("called")
    del layer
    lab.stage("dropped", all_names_gone=True)


class Extractor:
    """Keeps the last output of a layer."""

    def __init__(self, layer):
        self.features = None
        self.handle = layer.register_forward_hook(self.keep)

    def keep(self, module, inputs, output):
        """The hook."""
        self.features = output.detach()


@scenario(
    title="extractors that leave their hooks behind",
    origin=["KamitaniLab/bdpy#72", "huggingface/peft#2761", "fffasttime/MRFI#5"],
    pattern="GL605",
    needs="nn.Module",
    expects=[
        Expect("hooks on the layer", 3, probe="value"),
        Expect("first extractor", "held", because="layer -> _forward_hooks -> bound method -> extractor -> features"),
    ],
)
def extractors_pile_up(lab):
    """An object for each picture: registers a hook, runs the model, reads the features, and is dropped.

    Three pictures done: a registered hook is owned by the module, and a bound method owns its object. So each extractor
    lives on in the model, with its features; and, worse, each is still called: the third forward runs three hooks, and
    all three extractors keep the newest features.

    Layer alone: held by the layer, for the layer's life. Time and memory grow with each picture.

    Fix: `handle.remove()` when done; a `with` block or `try ... finally` around it.
    """
    layer = lab.fw.nn.Linear(4, 4)
    lab.hold(layer)
    for number in range(3):
        extractor = Extractor(layer)
        if number == 0:
            lab.watch("first extractor", extractor)
        layer(lab.fw.ones(2, 4))
    lab.value("hooks on the layer", len(layer._forward_hooks))
    lab.stage("three pictures done")
    del layer, extractor
    lab.stage("layer alone", all_names_gone=True)


@extractors_pile_up.fixed(
    title="extractors that take their hooks off",
    fix="handle.remove() when the features are read",
    needs="nn.Module module_hook_handles",
    expects=[
        Expect("hooks on the layer", 0, probe="value"),
        Expect("first extractor", "del", because="its name was the last owner"),
    ],
)
def extractors_removed(lab):
    """The same loop removes each hook. The handle knows the module's dictionary weakly, so an extractor that keeps its
    handle is no ring."""
    layer = lab.fw.nn.Linear(4, 4)
    lab.hold(layer)
    for number in range(3):
        extractor = Extractor(layer)
        if number == 0:
            lab.watch("first extractor", extractor)
        layer(lab.fw.ones(2, 4))
        extractor.handle.remove()
    lab.value("hooks on the layer", len(layer._forward_hooks))
    lab.stage("three pictures done")
    del layer, extractor
    lab.stage("layer alone", all_names_gone=True)


def remember(module, inputs, output):
    """A hook that writes on the module itself."""
    module.output = output.detach()


@scenario(
    title="activations left on the modules",
    origin=["jmschrei/tangermeme#84"],
    pattern="GL606",
    needs="nn.Module module_hook_handles",
    expects=[
        Expect("hooks on the layer", 0, probe="value"),
        Expect("activation", "held", on="torch-*", because="module -> its attribute `output` -> activation"),
    ],
)
def activation_left_on_the_module(lab):
    """A hook notes each layer's output as an attribute of the layer; the hooks are removed properly at the end.

    Hooks removed: removing a hook undoes nothing that the hook did. The attributes are still there, one activation for
    each layer. It does not grow (the next run overwrites them), so no growth test finds it; it is a batch's worth of
    activations that everybody believes to be free.

    Layer alone: held by the model.

    Fix: keep results in a dictionary of your own, or `del module.output` with the hook.
    """
    layer = lab.fw.nn.Linear(4, 4)
    lab.hold(layer)
    handle = layer.register_forward_hook(remember)
    layer(lab.fw.ones(2, 4))
    lab.watch("activation", layer.output)
    handle.remove()
    lab.value("hooks on the layer", len(layer._forward_hooks))
    lab.stage("hooks removed")
    del layer, handle
    lab.stage("layer alone", all_names_gone=True)


@activation_left_on_the_module.fixed(
    title="activations taken off the modules",
    fix="del module.output where the hook is removed",
    expects=[Expect("activation", "dead", probe="expiry", stage="hooks removed"), Expect("activation", "del")],
)
def activation_taken_off_the_module(lab):
    """The same program cleans up what its hook wrote."""
    layer = lab.fw.nn.Linear(4, 4)
    lab.hold(layer)
    handle = layer.register_forward_hook(remember)
    layer(lab.fw.ones(2, 4))
    lab.watch("activation", layer.output)
    handle.remove()
    del layer.output
    lab.value("hooks on the layer", len(layer._forward_hooks))
    lab.stage("hooks removed")
    del layer, handle
    lab.stage("layer alone", all_names_gone=True)
