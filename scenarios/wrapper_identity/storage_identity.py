"""The Python object of a tensor's storage."""

from gradlife.scenario import Expect, scenario

ANEW = "torch-1.* oneflow-*"


def storage_of(tensor):
    """The storage's Python object; before torch 2.0 there was only the typed kind."""
    return tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage()


@scenario(
    title="the storage of a tensor asked again",
    origin=["pytorch/pytorch#166342", "pytorch/pytorch#167564"],
    pattern="GL201",
    needs="Tensor.storage",
    expects=[
        Expect("asked again, a name kept", False, probe="value", on=ANEW, because="a new object at each call"),
        Expect("asked again, a name kept", True, probe="value"),
        Expect("of a view", False, probe="value", on=ANEW, because="a new object at each call"),
        Expect("of a view", True, probe="value", because="a view shares the storage, and so its wrapper"),
        Expect("storage.is same", False, probe="identity", on=ANEW),
        Expect("storage.is same", True, probe="identity", because="the storage owns its wrapper"),
        Expect("storage.attribute kept", True, probe="identity", on="torch-2.*"),
        Expect("storage.weak reference kept", True, probe="identity", on="torch-2.*"),
        Expect("storage", 1, probe="refcount", on="torch>=2.10", because="the storage, owned by x, owns it too"),
    ],
)
def storage_wrapper(lab):
    """Do two tensors share memory? `x.untyped_storage() is y.untyped_storage()` is a fair question only since torch 2.

    A storage is owned by every tensor on it. Its wrapper was made anew by each call up to 1.13: two calls, two
    objects, and attributes or weak references said nothing about the memory. From torch 2 on the storage has one
    wrapper and owns it while a tensor owns the storage, so it can be watched: when the weak reference dies, the
    memory is gone. That is how the lab follows storages.

    The fix that works in every release: compare `data_ptr()`.
    """
    x = lab.tensor()
    y = x.view(2, 2)
    storage = storage_of(x)
    lab.value("asked again, a name kept", storage_of(x) is storage)
    lab.value("of a view", storage_of(y) is storage)
    lab.refcount("storage", storage)
    del storage
    lab.identity("storage", lambda: storage_of(x))
    lab.stage("asked")


@storage_wrapper.fixed(
    title="two tensors on one storage, compared by address",
    fix="compare `data_ptr()` of the storages, not the Python objects",
    needs="Tensor.storage",
    expects=[
        Expect("view shares", True, probe="value", because="the same memory has the same address"),
        Expect("clone shares", False, probe="value"),
    ],
)
def storage_by_address(lab):
    """The address of the memory is the same for every object that stands for it, in every release."""
    x = lab.tensor()
    y, z = x.view(2, 2), x.clone()
    lab.value("view shares", storage_of(x).data_ptr() == storage_of(y).data_ptr())
    lab.value("clone shares", storage_of(x).data_ptr() == storage_of(z).data_ptr())
    lab.stage("asked")
