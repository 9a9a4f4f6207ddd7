"""Small programs of copies, pickles and files of tensors: what is alike afterwards, what shares memory, what is refused."""

from __future__ import annotations

import copy
import io
import pickle
import sys
import warnings
from collections import OrderedDict
from typing import Any

from programs_tools import attempt, fates, programs_in, vector, watch


def pickled(value: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pickle.loads(pickle.dumps(value))


def filed(fw: Any, value: Any, **named: Any) -> Any:
    file = io.BytesIO()
    fw.save(value, file)
    file.seek(0)
    return fw.load(file, **named)


WAYS: list[Any] = [lambda fw, v: pickled(v), lambda fw, v: copy.deepcopy(v), lambda fw, v: copy.copy(v), filed]


def several(framework: Any) -> list[Any]:
    fw = framework
    matrix = fw.arange(6.0).view(2, 3)
    return [
        matrix,
        matrix[1],
        matrix.t(),
        matrix[:, ::2],
        fw.tensor(3),
        fw.empty(0, 3),
        fw.tensor([True, False]),
        fw.tensor([1.5, float("inf"), -0.0], dtype=fw.float64),
        vector(fw, 1.0, 2.0),
        fw.nn.Parameter(fw.ones(2)),
        fw.nn.Parameter(fw.ones(2), requires_grad=False),
    ]


def tensors_in_every_way(fw: Any) -> Any:
    def look(t: Any) -> Any:
        shape = [list(t.shape), list(t.stride()), t.storage_offset(), t.untyped_storage().nbytes()]
        return [repr(t), *shape, t.requires_grad, t.is_leaf, t._is_view(), str(t.grad), t._version]

    return [look(way(fw, value)) for way in WAYS for value in several(fw)]


def memory_that_is_shared(fw: Any) -> Any:
    seen = []
    for way in WAYS:
        base = fw.arange(4.0)
        first, second = way(fw, [base, base[1:3]])
        first[1] = 9
        seen.append([second.tolist(), base.tolist(), first._base is None, second._base is None])
    return seen


def attributes_and_gradients(fw: Any) -> Any:
    seen = []
    for way in WAYS[:3]:
        for tensor in (vector(fw), fw.nn.Parameter(fw.ones(1))):
            tensor.name_of_mine = [1]
            tensor.grad = fw.ones(1)
            other = way(fw, tensor)
            result = getattr(other, "name_of_mine", None)
            seen.append([type(other).__name__, result, result is tensor.name_of_mine, str(other.grad)])
    return seen


def results_of_operations(fw: Any) -> Any:
    y = vector(fw) * 2
    return [
        attempt(lambda: copy.deepcopy(y)),
        [str(pickled(y).grad_fn), pickled(y).requires_grad],
        [str(copy.copy(y).grad_fn), copy.copy(y).is_leaf],
    ]


def hooks_are_left_out(fw: Any) -> Any:
    x = vector(fw)
    x.register_hook(pickle.dumps)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        other = pickle.loads(pickle.dumps(x))
    texts = [str(item.message).replace(fw.__name__, "torch") for item in caught]
    return [texts, len(other._backward_hooks), type(copy.deepcopy(x)._backward_hooks).__name__]


def a_subclass_is_not_copied_deeply(fw: Any) -> Any:
    class Sub(fw.Tensor):  # type: ignore[misc]
        pass

    tensor = fw.ones(2).as_subclass(Sub)
    tensor.mine = 1
    other = copy.copy(tensor)
    return [
        attempt(lambda: copy.deepcopy(tensor)),
        type(other).__name__,
        other.mine,
        other.data_ptr() == tensor.data_ptr(),
    ]


def modules_and_optimizers(fw: Any) -> Any:
    seen = []
    for way in (*WAYS[:2], lambda fw, v: filed(fw, v, weights_only=False)):
        module = fw.nn.Linear(2, 2)
        module.register_buffer("count", fw.zeros(1))
        tied = [module, fw.nn.ModuleList([module])]
        other, parameters = way(fw, tied)
        seen.append(
            [
                module.weight.tolist() == other.weight.tolist(),
                other.weight is module.weight,
                parameters[0] is other.weight,
            ]
        )
        optimizer = fw.optim.SGD(module.parameters(), lr=0.1, momentum=0.9)
        module(fw.ones(1, 2)).sum().backward()
        optimizer.step()
        twin = way(fw, optimizer)
        seen.append(
            [len(twin.state), next(iter(twin.state)) is twin.param_groups[0]["params"][0], twin.param_groups[0]["lr"]]
        )
        twin.step()
    return seen


def values_in_files(fw: Any) -> Any:
    value = {
        "n": None,
        "o": OrderedDict(x=1),
        "l": [1, 2.0, "x", True, (1,), 1 + 2j],
        "b": b"x",
        "s": {1},
        3: fw.float64,
    }
    tensors = [fw.ones(2), fw.nn.Parameter(fw.ones(1)), fw.Size([2]), fw.device("cpu"), fw.strided]
    return [str(filed(fw, value)), str(filed(fw, tensors)), dict(filed(fw, fw.nn.Linear(1, 1).state_dict())._metadata)]


class Runs:
    """Would run code when read."""

    def __reduce__(self) -> Any:
        return print, ("this must never be seen",)


def what_files_may_not_bring(fw: Any) -> Any:
    def first(value: Any) -> str:
        return attempt(lambda: filed(fw, value)).split(" you trust")[0]

    return [first(Runs()), first(fw.nn.Linear(1, 1)), filed(fw, fw.nn.Linear(1, 1), weights_only=False).in_features]


def what_is_no_file(fw: Any) -> Any:
    return [
        attempt(lambda: fw.load(io.BytesIO(b""))),
        attempt(lambda: fw.load("/nonexistent/x")),
        attempt(lambda: fw.load(3)),
        attempt(lambda: fw.save(1, 3)),
    ]


def what_copies_keep(fw: Any) -> Any:
    kept: list[Any] = []

    def build() -> list[Any]:
        base = fw.arange(4.0)
        kept.extend(way(fw, base[1:3]) for way in WAYS)
        return watch(base)

    return fates(build)


def copies_of_storages(fw: Any) -> Any:
    x = fw.tensor([1.0, 2.0, 3.0])
    storage = x.untyped_storage()
    clones = [storage.clone(), copy.copy(storage), copy.deepcopy(storage)]
    seen = [[each.tolist() == storage.tolist(), each.data_ptr() == storage.data_ptr(), len(each)] for each in clones]
    x.zero_()
    ends = fates(lambda: watch(storage.clone(), copy.deepcopy(storage)))
    return seen, [each.tolist()[:4] for each in clones], storage.element_size(), ends


def copies_of_storages_share_with_those_of_tensors(fw: Any) -> Any:
    a, b = fw.ones(2, 2), fw.zeros(3)
    both = [a, [a.untyped_storage(), a.untyped_storage(), b.untyped_storage()], a.view(4), b]
    first, storages, flat, second = copy.deepcopy(both)
    first.add_(1)
    return (
        [storages[0] is storages[1], storages[0] is first.untyped_storage(), storages[2] is second.untyped_storage()],
        [flat.tolist(), a.tolist(), second.untyped_storage() is b.untyped_storage()],
        [copy.deepcopy([storages[2], second])[1].tolist()],
    )


def what_storages_weigh(fw: Any) -> Any:
    sizes = [sys.getsizeof(fw.ones(count).untyped_storage()) for count in (0, 10, 100)]
    return [size - sizes[0] for size in sizes]


def classes_that_are_none_of_tensors(fw: Any) -> Any:
    x: Any = fw.ones(2)
    return [attempt(lambda: x.as_subclass(int)), attempt(lambda: fw.Tensor._make_subclass(int, x))]


def copies_of_a_tensor_that_holds_itself(fw: Any) -> Any:
    x = fw.ones(2)
    x.me = x
    copied = copy.deepcopy(x)
    return copied.me is x, copied.me is copied, copied.me.me is copied.me


PROGRAMS = programs_in(globals())
