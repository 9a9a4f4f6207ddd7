"""Memory shared by numpy and a tensor, and a storage that points back at its tensor."""

import importlib
import weakref
from functools import partial

from gradlife.scenario import Expect, scenario


def tag_weakly(storage, tensor):
    """Let the storage know its tensor without owning it."""
    storage.owner = weakref.ref(tensor)


@scenario(
    title="a tensor on numpy's memory",
    origin=["pytorch/pytorch#2164", "pytorch/pytorch#98"],
    pattern="GL701",
    needs="numpy",
    expects=[
        Expect("seen through the tensor", [7.0, 1.0, 1.0, 1.0], probe="value", because="one memory, two views of it"),
        Expect("seen through the array", [7.0, 9.0, 1.0, 1.0], probe="value", on="torch-* mini:oneflow-*"),
        Expect("array", "alive", probe="expiry", stage="only the tensor left", because="the storage owns the array"),
        Expect("array", "alive", probe="expiry", stage="only a view left", because="a view owns the storage"),
        Expect("array", "del", because="array, storage and tensor go together"),
    ],
)
def tensor_on_numpy_memory(lab):
    """`from_numpy(array)`: no copy is made, so who owns the memory?

    numpy. The tensor's storage holds one reference to the array and gives it back when the storage dies: tensor ->
    storage -> array -> memory. gc finds an array with one reference that no Python object accounts for. A view of
    the tensor, a graph that saved it, or a dataset item sliced from it keeps the whole array; a change on either
    side shows on the other. The fix where it is not wanted: `torch.tensor(array)` copies.
    """
    numpy = importlib.import_module("numpy")

    array = numpy.ones(4, dtype="float32")
    tensor = lab.fw.from_numpy(array)
    lab.watch("array", array)
    array[0] = 7
    lab.value("seen through the tensor", tensor)
    tensor[1] = 9
    lab.value("seen through the array", array)
    lab.stage("shared")
    del array
    lab.stage("only the tensor left")
    view = tensor[0:1]
    del tensor
    lab.stage("only a view left")
    del view
    lab.stage("all dropped", all_names_gone=True)


@tensor_on_numpy_memory.fixed(
    title="a tensor with a copy of numpy's memory",
    fix="copy: torch.tensor(array), or from_numpy(array).clone()",
    expects=[
        Expect(
            "seen through the tensor",
            [1.0, 1.0, 1.0, 1.0],
            probe="value",
            because="a copy does not follow",
            on="torch-* mini:oneflow-*",
        ),
        Expect("array", "dead", probe="expiry", stage="only the tensor left"),
        Expect("array", "del"),
    ],
)
def tensor_on_its_own_memory(lab):
    """A copy owns its memory: the array is free, and neither sees the other's changes."""
    numpy = importlib.import_module("numpy")

    array = numpy.ones(4, dtype="float32")
    tensor = lab.fw.from_numpy(array).clone()
    lab.watch("array", array)
    array[0] = 7
    lab.value("seen through the tensor", tensor)
    lab.stage("copied")
    del array
    lab.stage("only the tensor left")
    tensor = None
    lab.stage("all dropped", all_names_gone=True)


@scenario(
    title="an array on a tensor's memory",
    origin=["pytorch/pytorch#51849", "pytorch/pytorch#2164"],
    pattern="GL701",
    needs="numpy Tensor.numpy",
    expects=[
        Expect("seen through the array", [7.0, 1.0, 1.0, 1.0], probe="value", on="torch-* mini:oneflow-*"),
        Expect(
            "tensor.storage",
            "alive",
            probe="expiry",
            stage="only the array left",
            on="torch-2.*",
            because="array -> tensor",
        ),
        Expect("tensor.storage", "del", on="torch-2.*"),
    ],
)
def array_on_tensor_memory(lab):
    """`tensor.numpy()`: the other way round. The array holds a tensor as its base object, and that owns the storage.

    A metric kept as `loss_vector.detach().numpy()` keeps the storage alive, whole. Here Python can see the owner:
    `array.base` is the tensor object.
    """
    tensor = lab.tensor()
    array = tensor.numpy()
    tensor[0] = 7
    lab.value("seen through the array", array)
    lab.watch("tensor", tensor)
    lab.stage("shared")
    del tensor
    lab.stage("only the array left")
    array = None
    lab.stage("all dropped", all_names_gone=True)


@scenario(
    title="a storage that points back at its tensor",
    origin=["pytorch/pytorch#166342"],
    pattern="GL703",
    needs="Tensor.untyped_storage",
    expects=[
        Expect(
            "tensor", "never", on="torch-2.*", because="tensor -> (C++) storage -> its wrapper -> __dict__ -> tensor"
        ),
        Expect("tensor.storage", "never", on="torch-2.*"),
    ],
)
def storage_names_its_tensor(lab):
    """`t.untyped_storage().owner = t`: a storage's wrapper is preserved too, so it can close a ring.

    The tensor's impl owns the storage (C++), the storage owns its wrapper since another owner exists, the wrapper's
    dict owns the tensor. The second reference is in C++, so the collector never finds the ring. Memory trackers
    that tag storages meet this first. The fix: tag with a weak reference, a name or a number.
    """
    tensor = lab.tensor()
    lab.attempt("storage.owner = tensor", partial(setattr, tensor.untyped_storage(), "owner", tensor))
    lab.watch("tensor", tensor)
    lab.stage("tied")
    del tensor
    lab.stage("name gone", all_names_gone=True)


@storage_names_its_tensor.fixed(
    title="a storage that knows its tensor weakly",
    fix="tag the storage with weakref.ref(tensor), a name or a number",
    expects=[Expect("tensor", "del", on="torch-2.*"), Expect("tensor.storage", "del", on="torch-2.*")],
)
def storage_knows_its_tensor_weakly(lab):
    """A weak back pointer leaves the ring open: the storage goes with its last tensor."""
    tensor = lab.tensor()
    lab.attempt("storage.owner = weakref.ref(tensor)", partial(tag_weakly, tensor.untyped_storage(), tensor))
    lab.watch("tensor", tensor)
    lab.stage("tied")
    del tensor
    lab.stage("name gone", all_names_gone=True)
