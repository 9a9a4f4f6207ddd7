from __future__ import annotations

import gc
import weakref

from gradlife.backends import fake
from gradlife.backends.fake import Tensor, ones
from gradlife.probes.expiry import CANARY_NAME, is_tensor, watch_object
from gradlife.probes.memory import live_bytes, watch_storage
from gradlife.probes.refcount import beyond


class Plain:
    pass


class Node:
    """Like a C++ node: no weak references, no attributes, but a dictionary."""

    __slots__ = ("metadata",)

    def __init__(self) -> None:
        self.metadata: dict[str, object] = {}


class Slotted:
    """No weak references, and one attribute only."""

    __slots__ = ("other",)


class Noted:
    __slots__ = (CANARY_NAME,)


def test_a_watch_keeps_nothing_alive() -> None:
    subject = Plain()
    watch = watch_object("it", subject)
    assert watch.expiry() == "alive"
    del subject
    assert watch.expiry() == "dead"


def test_reading_a_watch_leaves_no_reference_behind() -> None:
    subject = Plain()
    watch = watch_object("it", subject)
    for _ in range(3):
        watch.expiry()
        watch.refcount()
        watch.use_count()
    assert watch.refcount() == 0
    assert gc.get_referrers(subject) == []


def test_the_reference_count_is_that_beyond_an_object_with_one_name() -> None:
    subject = Plain()
    watch = watch_object("it", subject)
    assert watch.refcount() == 0
    holders = [subject, subject]
    assert watch.refcount() == len(holders)
    del subject
    assert watch.refcount() == 1


def test_a_dead_subject_has_no_counts() -> None:
    watch = watch_object("it", Plain())
    assert watch.refcount() is None
    assert watch.use_count() is None


def test_a_node_is_watched_by_a_canary_in_its_metadata() -> None:
    node = Node()
    watch = watch_object("node", node)
    assert list(node.metadata) == [CANARY_NAME]
    assert watch.expiry() == "alive"
    assert watch.refcount() is None
    del node
    assert watch.expiry() == "dead"


def test_an_object_that_takes_attributes_only_is_watched_by_a_canary_there() -> None:
    noted = Noted()
    watch = watch_object("noted", noted)
    assert watch.expiry() == "alive"
    del noted
    assert watch.expiry() == "dead"


def test_an_object_that_takes_nothing_is_inconclusive() -> None:
    watch = watch_object("it", Slotted())
    assert watch.expiry() == "inconclusive"
    assert watch.refcount() is None


def test_the_count_of_an_immortal_object_is_inconclusive() -> None:
    assert beyond(2**32 - 1, 2) == "inconclusive"
    assert beyond(5, 2) == 3


def test_watching_runs_no_code_of_the_subject() -> None:
    class Hostile(Plain):
        def __getattribute__(self, name: str) -> object:
            raise ZeroDivisionError(name)

    subject = Hostile()
    watch = watch_object("it", subject)
    assert not is_tensor(fake, subject)
    assert (watch.expiry(), watch.refcount(), watch.use_count()) == ("alive", 0, None)


def test_a_wrapper_without_its_object_has_no_use_count() -> None:
    class Emptied(Plain):
        def _use_count(self) -> int:
            raise RuntimeError("undefined Tensor")

    subject = Emptied()
    watch = watch_object("it", subject)
    assert watch.use_count() == "inconclusive"
    assert watch.refcount() == 0


def test_a_use_count_is_the_frameworks_own() -> None:
    class Counted(Plain):
        def _use_count(self) -> int:
            return 3

    subject = Counted()
    assert watch_object("it", subject).use_count() == 3


def test_a_storage_is_watched_for_itself() -> None:
    tensor = ones(6)
    watch = watch_storage(fake, "t.storage", tensor)
    assert (watch.expiry(), live_bytes([watch])) == ("alive", 24)
    storage = tensor.untyped_storage()
    del tensor
    assert watch.expiry() == "alive"
    del storage
    assert (watch.expiry(), live_bytes([watch])) == ("dead", 0)


def test_a_shared_storage_counts_once() -> None:
    tensor, view = ones(6), ones(6)
    view._storage = tensor.untyped_storage()
    assert live_bytes([watch_storage(fake, "t", tensor), watch_storage(fake, "v", view)]) == 24


def test_a_storage_that_is_a_new_object_at_each_call_is_inconclusive() -> None:
    class Rewrapping(Tensor):
        def untyped_storage(self) -> object:  # type: ignore[override]
            return Plain()

    watch = watch_storage(fake, "t.storage", Rewrapping(2))
    assert watch.expiry() == "inconclusive"
    assert live_bytes([watch]) is None


def test_a_storage_wrapper_that_dies_with_its_name_is_inconclusive() -> None:
    class Borrowing(Tensor):
        cache: weakref.ref[object] | None = None

        def untyped_storage(self) -> object:  # type: ignore[override]
            storage = self.cache() if self.cache is not None else None
            if storage is None:
                storage = ones(1).untyped_storage()
                self.cache = weakref.ref(storage)
            return storage

    assert watch_storage(fake, "t.storage", Borrowing(2)).expiry() == "inconclusive"
