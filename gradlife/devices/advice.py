"""Advice for a device whose memory runs out, the largest saving first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from gradlife.model.device.memory import Advice, BlockOwner, DeviceMemory, Drag, OwnerKind
from gradlife.model.peak.report import Owner

#: Less than this part of what is reserved is not worth an advice.
MIN_SHARE = 0.01

#: Advice for gradients that are zeroed before anything reads them.
ZEROED = "call optimizer.zero_grad(set_to_none=True) before the forward"

#: Advice for owners that are known by what they are for. Gradients are read by the next step unless they are drag.
BY_OWNER = {
    Owner.SAVED.value: (
        "checkpoint large modules: torch.utils.checkpoint.checkpoint",
        "backward then recomputes the activations; a smaller batch helps, too",
    ),
    Owner.OPTIMIZER.value: (
        "shard the optimizer (FSDP), or use one with less state",
        "Adam keeps two numbers for each parameter; Adafactor, 8-bit Adam and SGD keep less",
    ),
}


def advice_for(
    memory: DeviceMemory, recognized: Iterable[Advice] = (), expandable_free_bytes: int = 0
) -> tuple[Advice, ...]:
    """Return what helps, that which saves most first: against patterns, and against the failure of a request.

    ``expandable_free_bytes``: what is free in segments that can already grow.
    """
    least = max(1, MIN_SHARE * memory.reserved_bytes)
    failed = memory.failed is not None
    against_failure = (
        (*fragmentation(memory, expandable_free_bytes), *map(unread, memory.drag), *owners(memory)) if failed else ()
    )
    found = (one for one in (*recognized, *against_failure) if one.saved_bytes >= least)
    return tuple(sorted(found, key=lambda one: -one.saved_bytes))


def fragmentation(memory: DeviceMemory, expandable_free_bytes: int) -> Iterator[Advice]:
    """Free memory that no request can have because it is in pieces."""
    pieces = memory.free_bytes - memory.idle_bytes - memory.private_free_bytes - expandable_free_bytes
    if memory.failed is not None and pieces > 0 and memory.largest_free_bytes < memory.failed.bytes:
        yield Advice(
            "set PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True",
            pieces,
            "free memory is in pieces, and no request of this size fits; set it before the program starts",
        )


def unread(drag: Drag) -> Advice:
    """Return advice on blocks that nothing reads again."""
    return Advice(drag.edit or ZEROED, drag.bytes, f"held longer than used: nothing reads {drag.holder} again")


def owners(memory: DeviceMemory) -> Iterator[Advice]:
    """Yield advice on what owners hold and may still read."""
    for owner in memory.owners:
        nbytes = owner.bytes - owner.unused_bytes
        if owner.text in BY_OWNER:
            text, reason = BY_OWNER[owner.text]
            yield Advice(text, nbytes, reason)
        elif owner.kind is OwnerKind.HOLDER and owner.text not in {one.value for one in Owner}:
            yield held(owner, nbytes)


def held(owner: BlockOwner, nbytes: int) -> Advice:
    """Return advice on a variable that holds tensors which may be read again."""
    name = owner.text.partition(" of ")[0]
    place = f"; made at {owner.place}" if owner.place is not None else ""
    return Advice(f"keep less in {name}, or keep it on the CPU", nbytes, f"held by {owner.text}{place}")
