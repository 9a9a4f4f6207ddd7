"""The leaks that can be planted in each program: the kind of the finding, and the names on its path, in order."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Planted:
    """A leak behind a switch."""

    kind: str
    names: tuple[str, ...]  # attributes, keys and variables that a trace has to have


def growth(*names: str) -> Planted:
    """It grows, and a root holds it."""
    return Planted("growth", names)


PLANTED: dict[str, dict[str, Planted]] = {
    "mlp": {
        "losses": growth("losses"),
        "total": growth("total", "grad_fn"),
        "hook": growth("model", "_forward_hooks", "seen"),
    },
    "cnn": {
        "failures": growth("failures", "__traceback__", "centred"),
        "snapshots": growth("snapshots"),
        "gallery": growth("gallery"),
    },
    "transformer": {
        "maps": growth("model", "layers", "maps"),
        "cache": growth("remembered_waves"),
        "ctx": Planted("needs-gc", ("grad_fn", "result")),
    },
    "gan": {
        "samples": growth("samples"),
        "penalty": Planted("never", ("grad", "grad_fn")),
        "score": growth("score", "grad_fn"),
    },
    "rnn": {
        "carried": growth("hidden", "grad_fn"),
        "timeline": growth("timeline"),
        "packed": Planted("never", ("grad_fn",)),
    },
    "ddpm": {
        "gallery": growth("gallery", "trajectories"),
        "schedules": growth("_SCHEDULES"),
        "events": growth("board", "events", "queue"),
    },
    "dqn": {
        "memory": growth("memory", "value"),
        "retired": growth("retired"),
        "notes": growth("notes"),
    },
    "lora": {
        "groups": growth("optimizer", "param_groups", "params"),
        "merges": growth("merges"),
        "probe": Planted("needs-gc", ("reader",)),
    },
    "checkpointing": {
        "closure": Planted("needs-gc", ("notes", "output", "grad_fn")),
        "validation": Planted("retained", ("run", "validation", "grad_fn")),
        "seeds": growth("seeds"),
    },
    "loader": {
        "seen": growth("seen"),
        "records": growth("buffer", "args"),
        "pending": growth("pending", "features"),
    },
}
