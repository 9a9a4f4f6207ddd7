"""Advice for a device whose memory runs out, the largest saving first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradlife.model.device.memory import Advice, BlockOwner, DeviceMemory, OwnerKind
from gradlife.model.peak.report import Owner

#: Less than this part of what is reserved is not worth an advice.
MIN_SHARE = 0.01

#: Advice for owners that are known by what they are for.
BY_OWNER = {
    Owner.SAVED.value: (
        "checkpoint large modules: torch.utils.checkpoint.checkpoint",
        "backward then recomputes the activations; a smaller batch helps, too",
    ),
    Owner.GRADIENT.value: (
        "call optimizer.zero_grad(set_to_none=True) before the forward",
        "nothing reads them between a step and the next backward",
    ),
    Owner.OPTIMIZER.value: (
        "shard the optimizer (FSDP), or use one with less state",
        "Adam keeps two numbers for each parameter; Adafactor, 8-bit Adam and SGD keep less",
    ),
}


def advice_for(memory: DeviceMemory, recognized: Iterable[Advice] = ()) -> tuple[Advice, ...]:
    """Return what helps, that which saves most first: against patterns, and against the failure of a request."""
    least = max(1, MIN_SHARE * memory.reserved_bytes)
    against_failure = (*fragmentation(memory), *owners(memory)) if memory.failed is not None else ()
    found = (one for one in (*recognized, *against_failure) if one.saved_bytes >= least)
    return tuple(sorted(found, key=lambda one: -one.saved_bytes))


def fragmentation(memory: DeviceMemory) -> Iterator[Advice]:
    """Free memory that no request can have because it is in pieces."""
    pieces = memory.free_bytes - memory.idle_bytes - memory.private_free_bytes
    if memory.failed is not None and pieces > 0 and memory.largest_free_bytes < memory.failed.bytes:
        yield Advice(
            "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
            pieces,
            "free memory is in pieces, and no request of this size fits; set it before the program starts",
        )


def owners(memory: DeviceMemory) -> Iterator[Advice]:
    """Yield advice on what owners can release."""
    for owner in memory.owners:
        if owner.text in BY_OWNER:
            text, reason = BY_OWNER[owner.text]
            yield Advice(text, owner.bytes, reason)
        elif owner.kind is OwnerKind.HOLDER and owner.text not in {one.value for one in Owner}:
            yield held(owner)


def held(owner: BlockOwner) -> Advice:
    """Return advice on a variable that holds tensors."""
    name = owner.text.partition(" of ")[0]
    place = f"; made at {owner.place}" if owner.place is not None else ""
    return Advice(f"del {name} after its last use", owner.bytes, f"held by {owner.text}{place}")
