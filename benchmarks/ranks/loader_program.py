"""A DataLoader whose dataset leaks in `__getitem__`, in one worker: `loader_program.py START_METHOD WORKERS LEAKING`."""

from __future__ import annotations

import sys
from typing import Any

import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

EPOCHS, BATCHES, ROWS = 2, 320, 4


class Images(Dataset):  # type: ignore[misc]
    """Made-up images; worker number `leaking` keeps each."""

    def __init__(self, leaking: int) -> None:
        self.leaking = leaking
        self.seen: list[torch.Tensor] = []

    def __len__(self) -> int:
        return BATCHES * ROWS

    def __getitem__(self, index: int) -> torch.Tensor:
        image = torch.full((256,), float(index))
        worker: Any = get_worker_info()
        if worker is not None and worker.id == self.leaking:
            self.seen.append(image)
        return image


def main(start: str, workers: int, leaking: int) -> None:
    """Read all images twice."""
    loader = DataLoader(
        Images(leaking), batch_size=ROWS, num_workers=workers, multiprocessing_context=start, persistent_workers=True
    )
    for _ in range(EPOCHS):
        for _ in loader:
            pass


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
