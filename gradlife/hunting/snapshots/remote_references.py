"""Values of this worker that workers of torch.distributed.rpc have remote references (RRefs) to. Only C++ holds them."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Sequence
from contextlib import suppress

from gradlife.model.trace import Confidence, NativeHolder
from gradlife.safe_access import LibraryObject, loaded

#: A value may have parts of several tensors, and a tensor at the address of a freed one is not recognized.
MIN_SHARE = 0.8

#: The holder of such values.
HOLDER = NativeHolder("OwnerRRef", "object", "torch.distributed.rpc", "", Confidence.LIKELY)


def owned_now() -> int:
    """Count the values by torch's debug information; 0 without rpc. Torch never waits for the GIL with this lock taken."""
    api: LibraryObject = loaded("torch.distributed.rpc.api")
    with suppress(Exception):
        if api._is_current_rpc_agent_set():
            return int(sys.modules["torch._C"]._distributed_rpc._rref_context_get_debug_info()["num_owner_rrefs"])
    return 0


def are_owned(counts: Sequence[int], new: int) -> bool:
    """Whether ``new`` objects without a known holder may be such values: each round added some, as many in all."""
    added = [after - before for before, after in itertools.pairwise(counts)]
    return bool(added) and min(added) > 0 and new >= MIN_SHARE * sum(added)
