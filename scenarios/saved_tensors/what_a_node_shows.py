"""What a node shows of its saved tensors, release by release. The collector sees nothing of them."""

import gc

from gradlife.scenario import Expect, scenario

TORCH = "torch-*"


@scenario(
    title="what a node shows of its saved tensors",
    origin=["pytorch/pytorch#60551", "pytorch/pytorch#60663", "pytorch/pytorch#62563"],
    expects=[
        Expect("saved tensors", [], probe="value", on="torch-1.[128]", because="nothing is shown before 1.9"),
        Expect(
            "saved tensors", ["_saved_other", "_saved_self"], probe="value", on=TORCH, because="unpacked at each read"
        ),
        Expect("raw slots", [], probe="value", on="torch<1.10", because="hooks and slots came with 1.10"),
        Expect("raw slots", ["_raw_saved_other", "_raw_saved_self"], probe="value", on=TORCH),
        Expect("names of a slot", ["register_hooks"], probe="value", on="torch>=1.10,<2.10"),
        Expect("names of a slot", ["data", "register_hooks", "unpack_hook"], probe="value", on="torch-2.10"),
        Expect("names of a slot", ["data", "register_hooks", "unpack", "unpack_hook"], probe="value", on="torch>=2.12"),
    ],
)
def what_a_node_shows_of_its_slots(lab):
    """The attributes of `(x * x).grad_fn` that lead to the saved factors.

    What backward needs is owned by the node's saved slots, and in early releases nobody could ask for it: a leak hunter
    saw a scalar and its node, and the batch behind them was invisible. 1.9 brought `_saved_self`, a read that unpacks;
    1.10 the slots themselves, to put hooks on; 2.10 and 2.12 a look into a slot that runs no hook.

    A tool should ask what is there, not which release it runs on.
    """
    x = lab.tensor(requires_grad=True)
    node = (x * x).grad_fn
    lab.value("saved tensors", [name for name in dir(node) if name.startswith("_saved_")])
    raw = [name for name in dir(node) if name.startswith("_raw_saved_")]
    lab.value("raw slots", raw)
    if raw:
        slot = getattr(node, raw[0])
        known = ("data", "register_hooks", "unpack", "unpack_hook")
        lab.value("names of a slot", [name for name in known if hasattr(type(slot), name)])
    lab.stage("asked")


@scenario(
    title="packed data and the collector",
    origin=["pytorch/pytorch#62563", "pytorch/pytorch#115255"],
    pattern="GL310",
    needs="hooks",
    expects=[
        Expect("referrers of the packed object", [], probe="value", because="its owner is a slot, and a slot is C++"),
        Expect("referrers of the unpack hook", [], probe="value", because="each slot owns it, unseen"),
        Expect("seen behind the node", [], probe="value", because="no traverse function shows a slot"),
        Expect(
            "packed",
            1,
            probe="refcount",
            stage="packed",
            because="the slot's reference, and the story's name is not it",
        ),
        Expect("packed", "del", on="torch-*"),
    ],
)
def packed_data_and_the_collector(lab):
    """Who refers to what a pack hook returned? Nobody, says `gc.get_referrers`; one more than known, says its count.

    Packed: node -> slot -> packed object, and slot -> both hooks. The references are counted and not shown. So a
    reference browser finds an object without a referrer, and the collector takes everything behind it for reachable:
    that is why cycles through a packed object are for ever (see `packed_holds_the_output`).

    Story's name dropped: the slot gives its references back when the node goes.
    """

    class Packed:
        pass

    class Unpack:
        def __call__(self, packed):
            return lab.tensor()

    box = Packed()
    hooks = [lambda tensor: box, Unpack()]
    x = lab.tensor(requires_grad=True)
    with lab.fw.autograd.graph.saved_tensors_hooks(*hooks):
        y = x.sin()
    lab.watch("packed", box)

    def referrers(thing):
        ignored = ("cell", "frame", "list", "dict", "tuple")
        return sorted(type(seen).__name__ for seen in gc.get_referrers(thing) if type(seen).__name__ not in ignored)

    lab.value("referrers of the packed object", referrers(box))
    lab.value("referrers of the unpack hook", referrers(hooks[1]))
    lab.value(
        "seen behind the node",
        [type(seen).__name__ for seen in gc.get_referents(y.grad_fn) if seen is not type(y.grad_fn)],
    )
    hooks = None
    lab.stage("packed")
    del y
    box = None
    lab.stage("node dropped", all_names_gone=True)
