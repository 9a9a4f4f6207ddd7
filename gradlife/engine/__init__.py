"""The mini autograd engine, under torch's public names: ``import gradlife.engine as torch``.

A real, small engine in C++ whose ownership rules are policies. Objects created inside ``with profile("torch-1.1"):``
follow PyTorch 1.1; ``owners(obj)`` draws who owns whom, ``events()`` returns the event log, ``live_counts()`` counts
living objects. CPU, float32 and float64 (int64, int32 and bool for data, counts and indices; complex64 and complex128
for elementary functions and sums), at most eight dimensions.
"""

from __future__ import annotations

import math as _math
from typing import Any as _Any

from gradlife.errors import ExtensionMissingError as _ExtensionMissingError

try:
    from gradlife import _engine
except ImportError as _error:
    raise _ExtensionMissingError("gradlife._engine") from _error

from gradlife._engine import (
    UntypedStorage as UntypedStorage,
    _foreach_maximum as _foreach_maximum,
    bool as bool,
    complex64 as complex64,
    complex128 as complex128,
    dtype as dtype,
    float32 as float32,
    float64 as float64,
    int32 as int32,
    int64 as int64,
    is_grad_enabled as is_grad_enabled,
    is_inference_mode_enabled as is_inference_mode_enabled,
    is_warn_always_enabled as is_warn_always_enabled,
    set_warn_always as set_warn_always,
)
from gradlife.engine import (
    autograd as autograd,
    cuda as cuda,
    nn as nn,
    operations,
    optim as optim,
    overrides as overrides,
    private,
    random as random,
    return_types as return_types,
    serialization as serialization,
    storage as storage,
    utils as utils,
)
from gradlife.engine.grad_mode import (
    enable_grad as enable_grad,
    inference_mode as inference_mode,
    no_grad as no_grad,
    set_grad_enabled as set_grad_enabled,
)
from gradlife.engine.observing import (
    Event as Event,
    OwnerTree as OwnerTree,
    clear_events as clear_events,
    events as events,
    live_bytes as live_bytes,
    live_counts as live_counts,
    log_events as log_events,
    owners as owners,
    use_count as use_count,
)
from gradlife.engine.policies import (
    AXES as AXES,
    Profile as Profile,
    current_profile as current_profile,
    profile as profile,
    profiles as profiles,
    set_default_profile as set_default_profile,
    set_profile_of_environment as _set_profile_of_environment,
)
from gradlife.engine.random import (
    get_rng_state as get_rng_state,
    initial_seed as initial_seed,
    manual_seed as manual_seed,
    set_rng_state as set_rng_state,
)
from gradlife.engine.releases import TORCH as _LIMITED, limit_names as _limit_names
from gradlife.engine.serialization import load as load, save as save
from gradlife.engine.storage import TypedStorage as TypedStorage
from gradlife.engine.tensors import (
    Size as Size,
    Tensor as Tensor,
    contiguous_format as contiguous_format,
    device as device,
    layout as layout,
    memory_format as memory_format,
    preserve_format as preserve_format,
    strided as strided,
)
from gradlife.engine.typename import typename as typename

ops = _ops = operations
_C = private
float = float32
double = float64
int = int32
long = int64
inf = _math.inf
nan = _math.nan
Storage = UntypedStorage


def is_tensor(obj: _Any) -> _Any:
    """Return whether ``obj`` is a tensor of this engine."""
    return isinstance(obj, Tensor)


def numel(input: Tensor) -> _Any:
    """The number of elements of a tensor."""
    return input.numel()


def is_inference(input: Tensor) -> _Any:
    """Return whether a tensor was made in inference mode."""
    return input.is_inference()


def _version() -> str:
    """The release that this thread's profile imitates, e.g. ``1.10.0+gradlife``."""
    release = current_profile().name.rpartition("-")[2]
    return f"{release if release[:1].isdigit() else '2.13'}.0+gradlife"


def __getattr__(name: str) -> _Any:
    if name == "__version__":
        return _version()
    # Operations and factories are functions of the extension; private ones stay there.
    if not name.startswith("_") and name not in _LIMITED:
        try:
            value = globals()[name] = getattr(_engine, name)  # cached from now on
            return value
        except AttributeError:
            pass
    raise AttributeError(f"module 'gradlife.engine' has no attribute '{name}'")


_limit_names()
_set_profile_of_environment()
