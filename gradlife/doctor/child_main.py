"""The doctor's child: import torch, check what is readable, and hunt for a planted leak."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import Any

from gradlife.doctor import readable, selfcheck, torch
from gradlife.doctor.installation import one_line
from gradlife.model.checkup import Health, Sign, encode


def main(descriptor: int) -> None:
    """Send each sign as soon as it is known, one per line, and one line for each stage that begins."""
    with open(descriptor, "w", encoding="utf-8") as lines:

        def tell(item: dict[str, Any]) -> None:
            lines.write(json.dumps(item) + "\n")
            lines.flush()

        os.set_inheritable(descriptor, False)
        for stage, look in STAGES.items():
            tell({"stage": stage})
            for sign in checked(stage, look):
                tell(encode(sign))
        tell({"stage": "done"})


STAGES: dict[str, Callable[[], Iterable[Sign]]] = {
    "importing torch": torch.imported,
    "reading torch's names": torch.names,
    "finding how torch lays out its objects": readable.layout,
    "reading this process's memory": readable.memory,
    "hunting for a planted leak": selfcheck.planted,
}


def checked(stage: str, look: Callable[[], Iterable[Sign]]) -> Iterable[Sign]:
    """Yield the signs of one stage; an exception becomes a sign."""
    try:
        yield from look()
    except BaseException as error:  # a half-imported torch may raise anything, even SystemExit
        remedy = "report this, with this whole output"
        yield Sign("PyTorch", stage, one_line(error), Health.BROKEN, remedy)
