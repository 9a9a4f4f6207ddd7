"""Hunts made up for tests of reports: nothing is run."""

from __future__ import annotations

from gradlife.model.heap import TypeCount
from gradlife.model.hunt import (
    Advice,
    Amounts,
    Control,
    Diagnosis,
    Explained,
    Finding,
    FindingKind,
    HuntReport,
    Proof,
    Round,
)
from gradlife.model.trace import (
    Confidence,
    Ledger,
    Lifetime,
    NativeHolder,
    PathStep,
    Referrer,
    StepStatus,
    TensorFacts,
    Trace,
)

CONTROLS = (
    Control("a list that grows", "growth", "growth"),
    Control("an uncollectable ctx cycle", "never", "never"),
    Control("a clean twin", "clean", "clean"),
)


def step(text: str, via: str = "", status: str = "unknown", reason: str = "", suspect: bool = False) -> PathStep:
    """A step of an object such as ``list len 20``."""
    name, _, detail = text.partition(" ")
    return PathStep(name, detail, "python", via, "attribute", StepStatus(status), reason, suspect)


HISTORY = Trace(
    "Tensor",
    "float32 []",
    Lifetime.HELD,
    (
        step("module __main__", "global variable 'run'", "expected", "a module lives as long as the process"),
        step("Run", ".history", "expected", "it is there before the first step"),
        step("list len 20", "[17]", suspect=True),
        step("Tensor float32 []", "", "leaking", "made in step 17, which is over"),
    ),
    (),
    Ledger(1, (Referrer("list", "len 20", "[17]", False),)),
    tensor=TensorFacts("MseLossBackward0", False, 65536),
)
LOSSES = Finding(
    FindingKind.GROWTH,
    Lifetime.HELD,
    Diagnosis(
        "GL402",
        "A list of losses keeps the graph of each",
        "Every item of `run.history` (train.py:41) is a loss with its grad_fn, and so with all that backward needs.",
        Advice(
            "Keep the number, not the tensor.",
            'run.history.append(loss.item())  # a float: the graph goes\nif step % 100 == 0:\n    print("mean", 0.5)',
            ("pytorch/pytorch#1840",),
        ),
    ),
    HISTORY,
    Amounts(objects=3, tensors=1, storages=1, graph_nodes=4, bytes=65536),
    survivors=17,
    retained_bytes=1114112,
    fingerprint="7c1e09ab",
    created_at=("train.py:41 in step", "train.py:60 in <module>"),
    retained_types=(
        TypeCount("torch::StorageImpl", "storage", 17, 1000000),
        TypeCount("torch::MseLossBackward0", "grad_node", 17, 100000),
    ),
)
PROVEN = Proof("item of list .history dropped after each step", Amounts(tensors=1, bytes=65536), Amounts(), True)

CTX = Trace(
    "Tensor",
    "float32 [512, 512]",
    Lifetime.NEVER,
    (),
    (
        step("RoundBackward", "ctx attribute 'result'", suspect=True),
        step("Tensor float32 [512, 512]", "grad_fn", "leaking", "backward is over", suspect=True),
    ),
    Ledger(2, (), native=(NativeHolder("SinBackward0 +232 → SavedVariable +8", "block", "", "", Confidence.LIKELY),)),
    hidden_references=("RoundBackward has 1 reference from Tensor that the collector cannot see",),
)
CYCLE = Finding(
    FindingKind.NEVER,
    Lifetime.NEVER,
    Diagnosis(
        "GL101",
        "ctx keeps an output of its own Function",
        "",
        Advice("Store `y.detach()`."),
        library="torch < 2.12, pytorch/pytorch#183211",
    ),
    CTX,
    Amounts(objects=2, tensors=1, storages=1, bytes=1048576),
    survivors=21,
    fingerprint="00ff",
)
WAITING = Finding(
    FindingKind.NEEDS_GC,
    Lifetime.GC,
    Diagnosis("GL505", "An object keeps one of its own bound methods", "", Advice("Use a weak method.")),
    Trace(
        "Pooler",
        "",
        Lifetime.GC,
        (),
        (step("Pooler", ".impl", suspect=True), step("method Pooler.pool", ".__self__", suspect=True)),
        Ledger(1, ()),
        tail=(step("Pooler", ".table"), step("Tensor float32 [8]", "", "leaking")),
    ),
    Amounts(objects=4, tensors=0.5, storages=0.5, bytes=8192),
)


def rounds(per_step: Amounts, *steps: int) -> tuple[Round, ...]:
    """Rounds that add the same a step."""
    added = (
        Amounts(
            per_step.objects * count,
            per_step.tensors * count,
            per_step.storages * count,
            per_step.graph_nodes * count,
            per_step.bytes * count,
        )
        for count in steps
    )
    return tuple(Round(count, total) for count, total in zip(steps, added, strict=True))


def hunt(*findings: Finding, **values: object) -> HuntReport:
    """A hunt that found these."""
    everything: dict[str, object] = {
        "target": "train.py",
        "stepped_by": "AdamW.step (train.py:31)",
        "warmup_steps": 3,
        "rounds": rounds(findings[0].per_step if findings else Amounts(), 7, 7, 7),
        "findings": findings,
        "controls": CONTROLS,
        "limits": (
            "C++ hooks made before the hunt are not seen → gradlife hunt --scan train.py",
            "what other processes hold is not seen",
        ),
        "script_status": 0,
    }
    return HuntReport(**{**everything, **values})  # type: ignore[arg-type]


CLEAN = hunt(explained=(Explained("cache that fills", "lru_cache(maxsize=8) of encode (train.py:12)", 81920),))
LEAKING = hunt(LOSSES)
EVERYTHING = hunt(
    LOSSES,
    CYCLE,
    WAITING,
    rounds=rounds(Amounts(objects=9, tensors=2.5, storages=2.5, graph_nodes=4, bytes=1122304), 7, 11, 13),
    explained=(Explained("optimizer state", "AdamW, at its first step", 4096),),
)
