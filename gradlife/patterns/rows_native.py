"""GL8xx and GL9xx: references that native code holds, devices and processes."""

from __future__ import annotations

from gradlife.model.hunt import FindingKind
from gradlife.model.trace import UNHELD
from gradlife.patterns.pattern import Case, Pattern

NATIVE = frozenset({FindingKind.NATIVE, FindingKind.NEVER, FindingKind.GROWTH})


def is_held_unseen(case: Case) -> bool:
    """Does nothing that can be seen lead to it, though references are held?"""
    return not case.steps and not case.ring


def is_of_torchscript(case: Case) -> bool:
    """Does C++ memory of TorchScript hold it, or an object of TorchScript?"""
    holders = [holder.description + holder.symbol for holder in case.trace.ledger.native]
    return is_held_unseen(case) and any("jit::" in text or "CompilationUnit" in text for text in holders)


def is_memory(case: Case) -> bool:
    """Is it memory, and no object?"""
    return is_held_unseen(case) and case.trace.object == UNHELD


def is_wrapperless(case: Case) -> bool:
    """Is it a tensor or a storage that has no Python object?"""
    return is_held_unseen(case) and case.trace.object in {"TensorImpl", "StorageImpl"}


NATIVE_WAYS = (
    Pattern(
        "GL802",
        "TorchScript keeps the constants of a compiled graph",
        "No Python object refers to it. A compiled TorchScript graph keeps the weights as constants, in a compilation unit "
        "that is not released with the Python object.",
        "Compile once, and load new weights into it.",
        "traced = torch.jit.trace(model, example)  # once\ntraced.load_state_dict(weights)",
        when=is_of_torchscript,
        kinds=NATIVE,
        links=("pytorch/pytorch#96726",),
        example="(no Python referrer) CompilationUnit → Graph → Node → Tensor",
    ),
    Pattern(
        "GL803",
        "C++ code keeps tensors that Python has let go",
        "No Python object refers to it, and no root that can be seen: a container or a static variable of C++ code holds "
        "the tensor itself.",
        "Look for what was made in each step in compiled or extension code: a compiled graph, a cache, a communicator.",
        "",
        when=is_wrapperless,
        kinds=NATIVE,
        links=("pytorch/pytorch#96726",),
        example="(no Python referrer) StorageImpl",
    ),
    Pattern(
        "GL806",
        "native code takes memory at each step and gives none back",
        "malloc gives out more in every round, as much for each step, and no object of Python or PyTorch has it: C or C++ code "
        "keeps it, or has forgotten it.",
        "See who takes it, with a profiler that knows the functions of C and C++, and free it there.",
        "memray run --native -o run.bin train.py\nmemray flamegraph --leaks run.bin",
        when=is_memory,
        kinds=NATIVE,
        example="(no object) malloc: 20 kB more for each step",
    ),
    Pattern(
        "GL801",
        "native code took a reference and never gave it back",
        "References to {what}: {count}, {unseen} of them from nothing that can be seen. A function of an extension "
        "took a reference and did not release it.",
        "Look at the extension function that returns or takes such objects: an INCREF too many, a missing DECREF.",
        "",
        when=is_held_unseen,
        kinds=NATIVE,
        links=("pytorch/pytorch#167124", "pytorch/pytorch#188034"),
        example="Tensor: 1 reference, 0 of them known",
    ),
    Pattern(
        "GL804",
        "a profiler keeps what it recorded",
        "{holder} is a profiler that has not been closed, or whose results are kept.",
        "Close the profiler, and keep its summary.",
        "",
        ways=("profiler.* ...",),
        example="state .profiles → list [3] → profile → …",
    ),
    Pattern(
        "GL805",
        "capsules that nobody takes keep their tensors",
        "{holder} has {count} entries, each of them a capsule: it owns a tensor until native code takes it over.",
        "Hand the capsule over at once, or let go of it.",
        "imported = torch.from_dlpack(capsule)",
        ways=("@ {growing} {inside}~ =capsule$",),
        kinds=frozenset({FindingKind.GROWTH}),
        links=("https://dmlc.github.io/dlpack/latest/python_spec.html",),
        example="state .exported → list [41] → PyCapsule",
    ),
    Pattern(
        "GL901",
        "memory that is shared with another process is still registered",
        "{holder} of torch.multiprocessing keeps it: the memory was shared with another process.",
        "Let the receiving process release it, and join it.",
        "",
        ways=("sharing*.* ...", "*.global:shared_cache ..."),
        links=("pytorch/pytorch#27975", "pytorch/pytorch#145703"),
        example="module torch.multiprocessing.reductions global variable 'shared_cache' → …",
    ),
    Pattern(
        "GL902",
        "an operation between processes has not been waited for",
        "{holder} is a handle of torch.distributed, which keeps the tensors of an operation that is under way or was never "
        "waited for.",
        "Wait for it, and let go of the handle.",
        "work.wait()",
        ways=("distributed*.* ...",),
        example="state .works → list [41] → Work → …",
    ),
    Pattern(
        "GL903",
        "a device object keeps memory of the device",
        "{holder} belongs to a device's runtime: a captured graph, a memory pool, a stream.",
        "Let go of it, or capture once and replay.",
        "",
        ways=("device*.* ...",),
        example="state .graphs → list [3] → CUDAGraph → …",
    ),
)
