"""Hunt in Ray actors: `python ray_actors.py FOLDER`, then `gradlife merge FOLDER`. Actor 1 leaks."""

from __future__ import annotations

import sys
from pathlib import Path

import ray
import torch

import gradlife
from gradlife.model import hunt_codec
from gradlife.model.hunt import HuntReport

ACTORS, STEPS = 2, 60


class Trainer:
    """A rank of the training."""

    def __init__(self, rank: int, folder: str) -> None:
        self.rank = rank
        self.folder = folder
        self.model = torch.nn.Linear(64, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.losses: list[torch.Tensor] = []
        self.hunt = gradlife.watch(on_report=self.write)

    def write(self, report: HuntReport) -> None:
        """Write the report to the folder that all actors share."""
        Path(self.folder, f"rank-{self.rank}.json").write_text(hunt_codec.dumps(report))

    def train(self, steps: int) -> None:
        """Train for some steps."""
        for _ in range(steps):
            with self.hunt:  # each pass is a step
                self.step()
        self.hunt.finish()

    def step(self) -> None:
        """Update the weights once."""
        loss = self.model(torch.randn(32, 64)).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        if self.rank == 1:
            self.losses.append(loss)


def main(folder: str) -> None:
    """Train in several actors."""
    Path(folder).mkdir(parents=True, exist_ok=True)
    ray.init(num_cpus=ACTORS, include_dashboard=False)
    actors = [ray.remote(Trainer).remote(rank, folder) for rank in range(ACTORS)]
    ray.get([actor.train.remote(STEPS) for actor in actors])
    ray.shutdown()


if __name__ == "__main__":
    main(sys.argv[1])
