"""The layout of the loaded torch: offsets of fields without a public name.

Found once on specimens, and checked on them. The walk follows a field only if the object there has the right C++ class.
A field that is missing or wrong is dropped, and every result says so.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable, Iterable
from typing import Any

from gradlife import _heap
from gradlife.after_fork import after_fork
from gradlife.heap.torch_layout.checks import failed_fields
from gradlife.heap.torch_layout.fields import CLASSES, find_layout
from gradlife.heap.torch_layout.specimens import Toys, has_level
from gradlife.model.unread_layout import UnreadLayout
from gradlife.safe_access import is_initializing, loaded

#: What is lost without each field of the layout.
MEANINGS = {
    "tensor_type": "tensors",
    "storage_type": "storages",
    "context_type": "custom Functions",
    "node_wrapper_type": "grad nodes",
    "impl_in_wrapper": "the C++ object behind a tensor",
    "impl_in_storage_wrapper": "the C++ object behind a storage",
    "tensor_hooks_in_wrapper": "names of a tensor's hooks",
    "post_accumulate_hooks_in_wrapper": "names of a tensor's post-accumulate hooks",
    "node_in_wrapper": "the C++ object behind a grad_fn",
    "node_in_context": "the C++ object behind a ctx",
    "context_in_node": "ctx objects",
    "context_owns_node": "whether a ctx keeps its node",
    "to_save_in_context": "names of what a running forward saves",
    "saved_for_forward_in_context": "names of what was saved for forward",
    "non_differentiable_in_context": "names of outputs that are marked non-differentiable",
    "dirty_in_context": "names of inputs that are marked dirty",
    "count_in_target": "C++ references to a wrapper",
    "are_counts_coupled": "C++ references to a wrapper",
    "are_nodes_coupled": "C++ references to a grad_fn",
    "wrapper_in_impl": "C++ references to a tensor",
    "wrapper_in_storage": "C++ references to a storage",
    "wrapper_in_node": "C++ references to a grad_fn",
    "sequence_number_in_node": "whether a grad node is another's successor at the same address",
    "storage_in_impl": "storages of tensors",
    "meta_in_impl": "autograd metadata of tensors",
    "bytes_in_storage": "bytes of storages",
    "storage_block": "bytes of storages",
    **dict.fromkeys(
        (
            *("data_in_storage", "context_in_storage", "deleter_in_storage", "function_deleter"),
            *("owner_in_function", "code_in_function", "closures"),
        ),
        "owners of borrowed storage memory",
    ),
    "device_in_storage": "devices",
    "device_names": "devices",
    "dimensions_in_impl": "sizes of tensors",
    "sizes_in_impl": "sizes of tensors",
    "dtype_in_impl": "dtypes",
    "dtype_names": "dtypes",
    "grad_in_meta": "gradients",
    "node_in_meta": "grad_fn of tensors",
    "base_in_meta": "bases of views",
    "has_base_in_meta": "bases of views",
    "hooks_in_meta": "hooks of leaves",
    "post_accumulate_hook_in_meta": "post-accumulate hooks",
    "impl_bytes": "parts of tensors that are made of others",
    "metadata_in_node": "metadata of grad nodes",
    "tensor_hooks_in_node": "tensor hooks",
    "prehooks_in_node": "prehooks of grad nodes",
    "hooks_in_node": "hooks of grad nodes",
    **dict.fromkeys(
        ("shapes_in_node", "shape_bytes", "sizes_in_shape", "sort_in_shape"), "sizes of nested tensors in grad nodes"
    ),
    "saved_in_context": "saved tensors of custom Functions",
    "slot_bytes": "saved tensors of nodes",
    "hooks_in_slot": "hooks of packed tensors",
    "flags_in_slot": "which words of grad nodes are saved tensors",
    "tangents_in_meta": "forward-mode tangents",
    "list_in_tangents": "forward-mode tangents",
    "tangents_in_slot": "forward-mode tangents of saved results",
    "edges_in_node": "next edges",
    "edge_bytes": "next edges",
    "variable_in_accumulator": "variables of accumulators",
    "dict_in_hook": "hooks",
    "dict_in_metadata": "metadata of grad nodes",
    "pack_in_hooks": "pack hooks",
    "unpack_in_hooks": "unpack hooks",
    "packed_in_hooks": "packed data",
    "slots_in_node": "saved tensors of nodes",
    "grad_fn_in_slot": "grad nodes of packed tensors",
    "accumulator_in_slot": "accumulators of packed leaves",
    "saved_tensor_type": "inputs of checkpoints",
    "slot_in_saved_tensor": "inputs of checkpoints",
    "ownership_of_saved_tensor": "inputs of checkpoints",
    "saved_names": "names of saved tensors",
    **{name: class_name.rpartition("::")[2] for name, class_name in CLASSES.items()},
}

#: What only describes objects that are found without it. Every other field leads to objects, or to their holders.
DESCRIPTIONS = frozenset(
    {
        *("names of a tensor's hooks", "names of a tensor's post-accumulate hooks", "names of saved tensors"),
        *("names of what a running forward saves", "names of what was saved for forward"),
        *("names of outputs that are marked non-differentiable", "names of inputs that are marked dirty"),
        *("devices", "dtypes", "sizes of tensors", "whether a grad node is another's successor at the same address"),
    }
)

#: The newest release that gradlife was tested with.
NEWEST_TESTED = (2, 15)

#: Specimens of each kind, most of which must agree, and the number of attempts.
TOYS_EACH = 3
MAX_TRIES = 3

_state: dict[str, Any] = {}

#: Held while the layout is searched; other threads wait, but a signal handler of the same thread does not.
_lock = threading.RLock()


def _renew_lock() -> None:
    """Replace the lock in a forked child, where the thread that held it does not exist."""
    global _lock
    _lock = threading.RLock()


after_fork(_renew_lock)


def ensure_calibrated() -> tuple[str, ...]:
    """Calibrate once for the loaded torch; imports nothing. Return what could not be found."""
    torch = loaded("torch")
    if torch is None or is_initializing(torch) or not {"_C", "autograd"} <= vars(torch).keys():
        return ()
    if not is_calibrated(torch):
        with _lock:
            if not is_calibrated(torch):
                known, has_tangents = (torch, loaded("numpy") is not None), has_level(torch)
                _state["limits"] = calibrate(torch)
                _state.update(known=known, has_tangents=has_tangents)
    return tuple(_state["limits"])


def is_calibrated(torch: Any) -> bool:
    """Whether the layout of this torch is known as well as it can be now: array-backed storage is found on an array, and
    tangents within a level of forward-mode differentiation.
    """
    is_known = _state.get("known") == (torch, loaded("numpy") is not None)
    return is_known and (bool(_state.get("has_tangents")) or not has_level(torch))


def missing_fields() -> tuple[str, ...] | None:
    """Return the layout fields that calibration did not find; None if it failed altogether or did not run."""
    found: tuple[str, ...] | None = _state.get("missing")
    return found


def unread_layout() -> UnreadLayout | None:
    """Return what cannot be read of the loaded torch, as of the last calibration; None if nothing is missing."""
    if not _state.get("limits"):
        return None
    kinds = tuple(dict.fromkeys(MEANINGS[name] for name in _state.get("missing", MEANINGS)))
    version = str(getattr(_state["known"][0], "__version__", "?"))
    hides = not DESCRIPTIONS.issuperset(kinds)
    return UnreadLayout(version, kinds, len({*MEANINGS.values()}), release_of(version) > NEWEST_TESTED, hides)


def release_of(version: str) -> tuple[int, ...]:
    """Return the first two numbers of a version; empty if it has no such numbers."""
    numbers = version.split(".")[:2]
    return tuple(map(int, numbers)) if all(map(str.isdecimal, numbers)) else ()


def calibrate(torch: Any) -> tuple[str, ...]:
    """Find the layout and pass it to the extension. Unverified fields are omitted and reported."""
    _state.pop("missing", None)
    try:
        layout = undisturbed(lambda: surest_layout(torch))
    except Exception as error:  # out of threads or memory: no reason to fail the user's question
        _heap._set_torch_layout(None)
        return (
            f"PyTorch's objects in C++: how they are laid out could not be found ({type(error).__name__}: {error})",
        )
    _state["missing"] = missing = tuple(name for name in MEANINGS if name not in layout)
    return (limit_text(torch, missing),) if missing else ()


def limit_text(torch: Any, missing: Iterable[str]) -> str:
    """Describe the limit of this release."""
    meanings = dict.fromkeys(MEANINGS[name] for name in missing)
    fields = ", ".join(missing)
    return f"in PyTorch {getattr(torch, '__version__', '?')}: {', '.join(meanings)} (not found: {fields})"


def surest_layout(torch: Any) -> dict[str, Any]:
    """Return the layout with the most fields of several attempts, now in use.

    An uninitialized word may by chance match once, but not again among other objects.
    """
    tried: list[tuple[dict[str, Any], list[Toys]]] = []  # keep the specimens: the next get other addresses
    for _ in range(MAX_TRIES):
        toys = [Toys(torch) for _ in range(TOYS_EACH)]
        tried.append((verified_layout(toys), toys))
        if len(tried[-1][0]) == len(MEANINGS):
            break
    layout = max((layout for layout, _ in tried), key=len)
    _heap._set_torch_layout(layout)
    return layout


def verified_layout(toys: list[Toys]) -> dict[str, Any]:
    """Return the layout that most specimens agree on, without fields that gave a wrong answer on the first one."""
    layout = agreed([find_layout(each) for each in toys])
    while True:
        _heap._try_torch_layout(layout)  # other threads go on with the verified one
        failed = failed_fields(toys[0], set(layout))
        if not failed:
            return layout
        layout = {name: value for name, value in layout.items() if name not in failed}


def agreed(layouts: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the values that more than half of the layouts share, by field."""
    names = dict.fromkeys(name for layout in layouts for name in layout)
    found = {name: [layout[name] for layout in layouts if name in layout] for name in names}
    return {name: value for name, values in found.items() for value in values if 2 * values.count(value) > len(layouts)}


def undisturbed(work: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Run a function in its own thread: the program's modes, hooks and devices belong to its threads, so they neither
    see nor affect it.
    """
    results: list[Any] = []
    done = _thread.allocate_lock()
    done.acquire()

    def run() -> None:
        try:
            results.append(work())
        except BaseException as error:
            results.append(error)
        finally:
            done.release()

    _thread.start_new_thread(run, ())
    done.acquire()
    result = results.pop()  # the thread may take a moment to end, and keeps the list until then
    if isinstance(result, BaseException):
        raise result
    return dict(result)
