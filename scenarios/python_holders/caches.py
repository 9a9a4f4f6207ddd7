"""Caches that keep too much: a key that is the object, a value that refers to its key."""

import functools
import weakref

from gradlife.scenario import Expect, scenario


def watched(lab, name):
    """A tensor on memory that can be watched in every release: a numpy array that only the storage holds."""
    array = lab.fw.ones(4).numpy()
    lab.watch(name, array)
    return lab.fw.from_numpy(array)


class Kernel:
    """An object with a weight and something that is worth a cache."""

    def __init__(self, weight):
        self.weight = weight

    @functools.lru_cache(maxsize=None)  # noqa: B019
    def grid(self, size):
        """The cache is an attribute of the class, and `self` is a part of each key."""
        return [float(number) for number in range(size)]


class KernelWithOwnCache(Kernel):
    """The same with a cache that belongs to the object."""

    def __init__(self, weight):
        Kernel.__init__(self, weight)
        self.grids = {}

    def grid(self, size):
        """The cache goes with the object."""
        if size not in self.grids:
            self.grids[size] = [float(number) for number in range(size)]
        return self.grids[size]


@scenario(
    title="lru_cache on a method",
    origin=["meta-pytorch/botorch#1650", "huggingface/transformers#45412", "pytorch/pytorch#127686"],
    pattern="GL502",
    needs="numpy",
    expects=[
        Expect("kernel", "held", because="class -> its cache -> key -> self"),
        Expect("weight's memory", "held", because="the kernel owns its weight"),
    ],
)
def method_with_lru_cache(lab):
    """`@lru_cache` on a method: asked once of each object, and each object stays.

    Grid computed: the decorated function is made once, with the class, and so is its cache. A key is made of all
    arguments, and the first argument of a method is `self`. So the class owns the cache, the cache owns the key, the key
    owns the object and all its tensors.

    Kernel dropped: the cache holds it (`held`) until `maxsize` other entries push it out; with `maxsize=None` for ever.

    Fix: keep the cache on the object, or decorate a function of what is really the key (here `size`).
    """
    kernel = Kernel(watched(lab, "weight's memory"))
    lab.watch("kernel", kernel)
    lab.hold(Kernel)
    kernel.grid(3)
    lab.stage("grid computed")
    del kernel
    lab.stage("kernel dropped", all_names_gone=True)
    Kernel.grid.cache_clear()


@method_with_lru_cache.fixed(
    title="a cache that belongs to the object",
    fix="keep the cache on the object",
    expects=[Expect("kernel", "del", because="object -> cache, and no way back"), Expect("weight's memory", "del")],
)
def cache_on_the_object(lab):
    """The same kernel with a dictionary of its own: the cache lives as long as what it is a cache of."""
    kernel = KernelWithOwnCache(watched(lab, "weight's memory"))
    lab.watch("kernel", kernel)
    lab.hold(KernelWithOwnCache)
    kernel.grid(3)
    lab.stage("grid computed")
    del kernel
    lab.stage("kernel dropped", all_names_gone=True)


@scenario(
    title="a weak dictionary whose value refers to its key",
    origin=["python/cpython#88846", "pytorch/pytorch#112301"],
    pattern="GL503",
    needs="numpy",
    expects=[
        Expect("kernel", "held", because="dictionary -> value -> key: the weak key is held by its own value"),
        Expect("weight's memory", "held"),
    ],
)
def weak_key_held_by_its_value(lab):
    """`profiles = WeakKeyDictionary()`, so that a profile goes with its object; and the profile knows the object.

    Profile made: the dictionary refers to its keys weakly and to its values strongly. The value, a record of the object,
    refers to the object for convenience. So the dictionary owns the value and the value owns the key.

    Kernel dropped: the entry would go when the key dies, the key would die if the entry went. It is no cycle either
    (nothing leads from the key to the entry), so the collector has nothing to find: it is simply held.

    Fix: let the record hold names and numbers, or a weak reference to the object.
    """
    profiles = weakref.WeakKeyDictionary()
    lab.hold(profiles)
    kernel = Kernel(watched(lab, "weight's memory"))
    lab.watch("kernel", kernel)
    profiles[kernel] = {"kernel": kernel, "calls": 0}
    lab.stage("profile made")
    del kernel, profiles
    lab.stage("kernel dropped", all_names_gone=True)


@weak_key_held_by_its_value.fixed(
    title="a weak dictionary whose value knows names only",
    fix="no reference from the value to its key",
    expects=[Expect("kernel", "del", because="nothing but the name held it"), Expect("weight's memory", "del")],
)
def weak_key_with_plain_value(lab):
    """The record holds the type's name: the key dies with its last name, and takes the entry along."""
    profiles = weakref.WeakKeyDictionary()
    lab.hold(profiles)
    kernel = Kernel(watched(lab, "weight's memory"))
    lab.watch("kernel", kernel)
    profiles[kernel] = {"kernel": type(kernel).__name__, "calls": 0}
    lab.stage("profile made")
    del kernel, profiles
    lab.stage("kernel dropped", all_names_gone=True)
