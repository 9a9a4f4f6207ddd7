"""Batches from workers: `loader_program.py METHOD WHAT BATCHES [PERSISTENT]`.

WHAT: `leaks` keeps each item in the dataset of worker 0, `clean` keeps nothing, `reads` reads text that the parent made.
"""

from __future__ import annotations

import sys

import torch
from torch.utils.data import DataLoader, Dataset, get_worker_info

method, what, batches = sys.argv[1], sys.argv[2], int(sys.argv[3])
is_persistent = len(sys.argv) > 4

WORKERS = 2


class Words(Dataset):  # type: ignore[misc]
    def __init__(self) -> None:
        self.names = [f"image-{number:09d}.png" for number in range(400_000 if what == "reads" else 10)]
        self.seen: list[torch.Tensor] = []

    def __len__(self) -> int:
        return 4 * batches

    def __getitem__(self, index: int) -> torch.Tensor:
        info = get_worker_info()
        item = torch.full((256,), float(index))
        if what == "leaks" and info is not None and info.id == 0:
            self.seen.append(item)
        if what == "reads":
            start = index * 1000 % len(self.names)
            item[0] = sum(len(name) for name in self.names[start : start + 1000])
        return item


def train() -> None:
    loader = DataLoader(
        Words(),
        batch_size=4,
        num_workers=WORKERS,
        multiprocessing_context=method,
        persistent_workers=is_persistent,
    )
    for _ in range(2 if is_persistent else 1):
        for batch in loader:
            assert batch.shape == (4, 256)


if __name__ == "__main__":
    train()
