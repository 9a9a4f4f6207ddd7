"""Functions, methods and classes created at run time: each can be in a cycle that holds tensors."""

from gradlife.scenario import Expect, scenario


def watched(lab, name):
    """A tensor on memory that can be watched in every release: a numpy array that only the storage holds."""
    array = lab.fw.ones(4).numpy()
    lab.watch(name, array)
    return lab.fw.from_numpy(array)


def flattened(tree, is_leaf):
    """The leaves of nested lists."""
    if is_leaf(tree):
        return [tree]
    return [leaf for branch in tree for leaf in flattened(branch, is_leaf)]


@scenario(
    title="an inner function that calls itself",
    origin=["keras-team/keras#23110", "pytorch/pytorch#20199"],
    pattern="GL504",
    needs="numpy",
    expects=[
        Expect("batch's memory", "gc", because="function -> closure -> cell `visit` -> function; and -> cell `leaves`")
    ],
)
def inner_function_calls_itself(lab):
    """A recursive helper defined inside the function that uses it, as `load_state_dict` had it for years.

    Flattened: to call itself, `visit` needs its own name, which is a local of the outer function, so it is kept in a
    cell that belongs to the closure of `visit`: function -> closure -> cell -> function. Its other cells hang on it: here
    the list of leaves, with the whole batch in it.

    Nothing named: each call leaves such a ring behind, and its tensors wait for the collector.

    Fix: define the recursive function at the top level and hand it what it needs.
    """

    def flatten(tree):
        leaves = []

        def visit(branch):
            if isinstance(branch, list):
                for part in branch:
                    visit(part)
            else:
                leaves.append(branch)

        visit(tree)
        return len(leaves)

    lab.value("leaves", flatten([[watched(lab, "batch's memory")], [lab.tensor()]]))
    lab.stage("flattened")
    lab.stage("nothing named", all_names_gone=True)


@inner_function_calls_itself.fixed(
    title="a top-level function that calls itself",
    fix="define the recursive function at the top level",
    expects=[Expect("batch's memory", "del", because="a global name is no cell of a closure")],
)
def top_level_function_calls_itself(lab):
    """The same with a function of the module: it finds itself in the module's globals, and no call makes a new one."""

    def flatten(tree):
        return len(flattened(tree, lambda branch: not isinstance(branch, list)))

    lab.value("leaves", flatten([[watched(lab, "batch's memory")], [lab.tensor()]]))
    lab.stage("flattened")
    lab.stage("nothing named", all_names_gone=True)


class Pooler:
    """An object with a weight, which picks one of its methods."""

    def __init__(self, weight, keep_method):
        self.weight = weight
        self.pool = self.mean if keep_method else "mean"

    def mean(self, batch):
        """The mean of the weighted batch."""
        return float((batch * self.weight).mean())

    def __call__(self, batch):
        """Pool a batch."""
        pool = self.pool if callable(self.pool) else getattr(self, self.pool)
        return pool(batch)


@scenario(
    title="a bound method kept on its own object",
    origin=["pytorch/pytorch#128211"],
    pattern="GL505",
    needs="numpy",
    expects=[
        Expect("pooler", "gc", because="object -> its attribute `pool` -> bound method -> object"),
        Expect("weight's memory", "gc"),
    ],
)
def method_kept_on_its_object(lab):
    """`self.pool = self.mean`: the choice of a method, made once in the constructor.

    Pooled: `self.mean` is a new object each time it is asked for, a bound method that owns `self`. Kept on self, it is a
    ring of two. The object owns its weight.

    Pooler dropped: reference counts never free it. A model that is rebuilt in a loop stays until the collector comes,
    which with few but large objects may be long.

    Fix: keep the name of the method, or the plain function (`type(self).mean`).
    """
    pooler = Pooler(watched(lab, "weight's memory"), keep_method=True)
    lab.watch("pooler", pooler)
    lab.value("pooled", pooler(lab.tensor()))
    lab.stage("pooled")
    del pooler
    lab.stage("pooler dropped", all_names_gone=True)


@method_kept_on_its_object.fixed(
    title="the name of a method kept on its object",
    fix="keep the method's name and look it up when it is needed",
    expects=[
        Expect("pooler", "del", because="a bound method exists during the call only"),
        Expect("weight's memory", "del"),
    ],
)
def name_of_a_method_kept(lab):
    """The same object keeps a text and asks for the method at each call."""
    pooler = Pooler(watched(lab, "weight's memory"), keep_method=False)
    lab.watch("pooler", pooler)
    lab.value("pooled", pooler(lab.tensor()))
    lab.stage("pooled")
    del pooler
    lab.stage("pooler dropped", all_names_gone=True)


@scenario(
    title="a Function class made for each call",
    origin=["pytorch/pytorch#195397", "pytorch/pytorch#5569"],
    pattern="GL506",
    needs="numpy",
    expects=[
        Expect(
            "mask's memory",
            "gc",
            on="torch-*",
            because="class -> its __mro__ -> class; and class -> forward -> closure -> mask",
        )
    ],
)
def class_for_each_call(lab):
    """A Function defined inside the function that applies it, so that `forward` can use a local: the mask.

    Applied: every class is a ring by birth (it is in its own `__mro__`, and its descriptors know it). This one owns its
    two methods, and they own their closures, with the mask. PyTorch adds a second class beside it, for the node.

    Output dropped: the node goes and ctx with it; the classes and the mask wait for the collector. A class costs some
    kilobytes on top, and its instances lose what caches know of their type.

    Fix: one class at the top level, the mask an argument of `apply` (backward returns None for it).
    """

    def apply_mask(x, mask):
        class Masked(lab.fw.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * mask

            @staticmethod
            def backward(ctx, grad):
                return grad * mask

        return Masked.apply(x)

    x = lab.tensor(requires_grad=True)
    y = apply_mask(x, watched(lab, "mask's memory"))
    y.sum().backward()
    lab.value("gradient", x.grad)
    lab.stage("applied")
    del x, y
    lab.stage("output dropped", all_names_gone=True)


@class_for_each_call.fixed(
    title="one Function class for all calls",
    fix="make the mask an argument of apply",
    needs="numpy none_gradients",
    expects=[
        Expect("mask's memory", "del", on="torch-*", because="a saved tensor, released by backward"),
        Expect("gradient", [1.0] * 4, probe="value", on="torch-*"),
    ],
)
def class_for_all_calls(lab):
    """The same Function gets the mask as an input and saves it: it belongs to the node, and backward releases it."""

    class Masked(lab.fw.autograd.Function):
        @staticmethod
        def forward(ctx, x, mask):
            ctx.save_for_backward(mask)
            return x * mask

        @staticmethod
        def backward(ctx, grad):
            (mask,) = ctx.saved_tensors
            return grad * mask, None

    x = lab.tensor(requires_grad=True)
    y = Masked.apply(x, watched(lab, "mask's memory"))
    y.sum().backward()
    lab.value("gradient", x.grad)
    lab.stage("applied")
    del x, y
    lab.stage("output dropped", all_names_gone=True)
