"""GL8xx and GL9xx: references that native code holds, devices and processes."""

from __future__ import annotations

from gradlife.model.hunt import FindingKind
from gradlife.model.trace import PROFILED, UNHELD
from gradlife.patterns.matching.pattern import Case, Pattern

NATIVE = frozenset({FindingKind.NATIVE, FindingKind.NEVER, FindingKind.GROWTH})


def is_held_unseen(case: Case) -> bool:
    """Whether it is referenced although no visible object leads to it."""
    return not case.steps and not case.cycle


def is_of_torchscript(case: Case) -> bool:
    """Whether TorchScript holds it."""
    holders = [holder.description + holder.symbol for holder in case.trace.ledger.native]
    return is_held_unseen(case) and any("jit::" in text or "CompilationUnit" in text for text in holders)


def is_traced(case: Case) -> bool:
    """Whether it belongs to the class that torch.jit.trace made of a module."""
    return is_held_unseen(case) and any("torch.jit._trace." in step.detail for step in case.trace.lead[:1])


def is_of_rref(case: Case) -> bool:
    """Whether torch.distributed.rpc holds it for the RRefs of other workers."""
    return is_held_unseen(case) and any("OwnerRRef" in holder.description for holder in case.trace.ledger.native)


def is_in_cast_cache(case: Case) -> bool:
    """Whether the cache of torch.autocast holds it."""
    return is_held_unseen(case) and any("torch.autocast" in holder.description for holder in case.trace.ledger.native)


def is_of_library(case: Case) -> bool:
    """Whether a table of torch.library holds it."""
    return bool(case.steps) and case.steps[0].detail.startswith(("torch._library.", "torch.library"))


def is_memory(case: Case) -> bool:
    """Whether it is memory without an object."""
    return is_held_unseen(case) and case.trace.object == UNHELD


def is_profiled(case: Case) -> bool:
    """Whether it is memory without an object, and a profiler of torch records."""
    return is_memory(case) and case.trace.detail == PROFILED


def is_wrapperless(case: Case) -> bool:
    """Whether it is a tensor or a storage without a Python object."""
    return is_held_unseen(case) and case.trace.object in {"TensorImpl", "StorageImpl"}


NATIVE_PATHS = (
    Pattern(
        "GL802",
        "TorchScript keeps the constants of a compiled graph",
        "No Python object refers to it. A compiled TorchScript graph keeps the weights as constants in a compilation unit, "
        "and the unit outlives the Python object.",
        "Compile once, and load new weights into the compiled module.",
        "traced = torch.jit.trace(model, example)  # once\ntraced.load_state_dict(weights)",
        change="{once}",
        when=is_of_torchscript,
        kinds=NATIVE,
        links=("pytorch/pytorch#96726",),
        example="(no Python referrer) CompilationUnit → Graph → Node → Tensor",
    ),
    Pattern(
        "GL807",
        "each call of torch.jit.trace leaves a class and a graph in TorchScript",
        "torch.jit.trace makes a class of the module and registers it, with its graph, in a compilation unit of the process. "
        "Nothing removes them: each call adds others, also if its result is dropped.",
        "Trace once, before the loop, and call the result. Trace again only for another model.",
        "traced = torch.jit.trace(model, example)  # once, before the loop",
        when=is_traced,
        kinds=NATIVE,
        links=("pytorch/pytorch#35600", "pytorch/pytorch#86537"),
        example="(no Python referrer) type TracedModule.__init__.<locals>.QualnameWrapper → dict",
    ),
    Pattern(
        "GL809",
        "a region of torch.autocast that stays open keeps weights",
        "In a region of torch.autocast each weight is cast once. The cast, and with it the weight, is kept until the "
        "outermost region is left, also if the model is dropped before. All snapshots were taken in such a region.",
        "Leave the region after each step, or switch its cache off: cache_enabled=False.",
        "torch.clear_autocast_cache()  # between the steps",
        when=is_in_cast_cache,
        kinds=NATIVE,
        links=("pytorch/pytorch#86136",),
        example="(no Python referrer) cache of casts → Tensor → ToCopyBackward0 → AccumulateGrad → Parameter",
    ),
    Pattern(
        "GL911",
        "other workers keep RRefs to values of this one",
        "torch.distributed.rpc keeps each value that a remote call returned, as long as another worker has an RRef to it.",
        "Look in the calling workers for RRefs that pile up, and drop each after its value was fetched.",
        "value = rref.to_here()  # in the calling worker\ndel rref",
        when=is_of_rref,
        kinds=NATIVE,
        links=("https://docs.pytorch.org/docs/stable/rpc/rref.html",),
        example="(no Python referrer) OwnerRRef → Future → ConcretePyObjectHolder → Tensor",
    ),
    Pattern(
        "GL808",
        "an operator is registered at each step",
        "{holder} of torch.library has {count} entries: each step registers an operator under a new name. The registration "
        "keeps the functions of the operator, with what they close over, as long as the process lives.",
        "Register the operator once, when the module is loaded, and pass what varies as an argument.",
        '@torch.library.custom_op("mylib::scale", mutates_args=())\ndef scale(x: Tensor, table: Tensor) -> Tensor:\n    ...',
        paths=("torchmodule.global* torch.*|object.*~ @ {growing} ...",),
        when=is_of_library,
        kinds=frozenset({FindingKind.GROWTH}),
        example="module torch._library.simple_registry .singleton._data → dict [41] → SimpleOperatorEntry → function",
    ),
    Pattern(
        "GL803",
        "C++ code keeps tensors that Python no longer has",
        "No Python object and no visible root refers to it: a container or a static variable in C++ holds the tensor.",
        "Look for what compiled or extension code creates in each step: a compiled graph, a cache, a communicator.",
        "",
        when=is_wrapperless,
        kinds=NATIVE,
        links=("pytorch/pytorch#96726",),
        example="(no Python referrer) StorageImpl",
    ),
    Pattern(
        "GL804",
        "a profiler that is still open records every step",
        "A profiler of torch is on, and keeps what it records of every operation in memory until it ends.",
        "Profile a few steps, and leave the profiler before the others: a schedule does that by itself.",
        "schedule = torch.profiler.schedule(wait=5, warmup=2, active=3, repeat=1)\n"
        "with torch.profiler.profile(schedule=schedule) as profiler:\n    ...  # and profiler.step() after each step",
        when=is_profiled,
        kinds=NATIVE,
        example="(no object) malloc: 20 kB more for each step",
    ),
    Pattern(
        "GL806",
        "native code allocates memory at each step and frees none",
        "malloc hands out about the same amount in every step, and no object of Python or PyTorch owns it: C or C++ code keeps "
        "it or has lost it.",
        "Find the allocating function with a native memory profiler, and free the memory there.",
        "memray run --native -o run.bin train.py\nmemray flamegraph --leaks run.bin",
        when=is_memory,
        kinds=NATIVE,
        example="(no object) malloc: 20 kB more for each step",
    ),
    Pattern(
        "GL801",
        "native code took a reference and never released it",
        "References to {what}: {count}, {unseen} of them unaccounted for. An extension function took a reference and did not "
        "release it.",
        "Check the extension functions that return or take such objects for an extra INCREF or a missing DECREF.",
        "",
        when=is_held_unseen,
        kinds=NATIVE,
        links=("pytorch/pytorch#167124", "pytorch/pytorch#181761", "pytorch/pytorch#188034"),
        example="Tensor: 1 reference, not known",
    ),
    Pattern(
        "GL804",
        "a profiler keeps what it recorded",
        "{holder} is a profiler that is still open, or whose results are kept.",
        "Close the profiler, and keep its summary.",
        "",
        paths=("profiler.* ...",),
        example="state .profiles → list [3] → profile → …",
    ),
    Pattern(
        "GL805",
        "unused capsules keep their tensors",
        "{holder} has {count} capsules. A capsule owns a tensor until native code takes it over.",
        "Pass each capsule on at once, or drop it.",
        "imported = torch.from_dlpack(capsule)",
        paths=("@ {growing} {inside}~ =capsule$",),
        kinds=frozenset({FindingKind.GROWTH}),
        links=("https://dmlc.github.io/dlpack/latest/python_spec.html",),
        example="state .exported → list [41] → PyCapsule",
    ),
    Pattern(
        "GL901",
        "memory shared with another process is still registered",
        "{holder} of torch.multiprocessing keeps memory that was shared with another process.",
        "Let the receiving process release it, and join it.",
        "",
        paths=("sharing*.* ...", "*.global:shared_cache ..."),
        links=("pytorch/pytorch#27975", "pytorch/pytorch#145703"),
        example="module torch.multiprocessing.reductions global variable 'shared_cache' → …",
    ),
    Pattern(
        "GL902",
        "handles of distributed operations pile up",
        "{holder} has {count} handles of torch.distributed. Each keeps the tensors of its operation until it is dropped.",
        "Wait for each operation, and drop its handle.",
        "while {holder_code}:\n    {holder_code}.pop().wait()",
        paths=("@ {growing} {inside}~ =distributed$",),
        kinds=frozenset({FindingKind.GROWTH}),
        example="state .works → list [41] → Work",
    ),
    Pattern(
        "GL902",
        "a distributed operation was never waited for",
        "{holder} is a handle of torch.distributed. It keeps the tensors of its operation until someone waits for it.",
        "Wait for the operation, and drop the handle.",
        "work.wait()",
        paths=("distributed*.* ...",),
        example="state .works → list [41] → Work → …",
    ),
    Pattern(
        "GL911",
        "remote references pile up",
        "{holder} has {count} RRefs. Each keeps its value in the worker that owns it, as long as anyone has an RRef to it.",
        "Fetch the value, and drop the RRef.",
        "value = rref.to_here()\ndel rref",
        paths=("@ {growing} {inside}~ =rref$",),
        kinds=frozenset({FindingKind.GROWTH}),
        links=("https://docs.pytorch.org/docs/stable/rpc/rref.html",),
        example="state .results → list [41] → PyRRef",
    ),
    Pattern(
        "GL910",
        "process groups are made and never destroyed",
        "{holder} has {count} process groups. torch.distributed registers each one, with its threads and open files, until "
        "it is destroyed; dropping the last name does not free it.",
        "Make the group once, before the loop, and use it again. Destroy a group that is no longer needed.",
        "group = dist.new_group(ranks)  # once, before the loop\n...\ndist.destroy_process_group(group)",
        paths=("... =processgroup$",),
        kinds=frozenset({FindingKind.GROWTH}),
        links=("https://docs.pytorch.org/docs/stable/distributed.html#shutdown",),
        example="module torch.distributed.distributed_c10d global variable '_pg_map' → dict [41] → ProcessGroup",
    ),
    Pattern(
        "GL903",
        "a device object keeps device memory",
        "{holder} belongs to a device's runtime: a captured graph, a memory pool, a stream.",
        "Drop it, or capture once and replay.",
        "",
        paths=("device*.* ...",),
        example="state .graphs → list [3] → CUDAGraph → …",
    ),
)
