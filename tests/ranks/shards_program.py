"""What sharded training keeps, on one rank of a gloo group: `shards_program.py STEPS LEAKING`.

The model is FSDP2's, with prefetch and with parameters that stay whole after the forward pass. Each step stages a
checkpoint with one stager that is kept and one that is made for it, copies the state dict, redistributes a DTensor, and
trains a layer in tensor parallel. The leaking rank keeps all of it.
"""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.checkpoint.staging import BlockingAsyncStager, DefaultStager, StagingOptions
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard, distribute_tensor
from torch.distributed.tensor.parallel import ColwiseParallel, parallelize_module

steps, leaking = int(sys.argv[1]), int(sys.argv[2])


def new_stager() -> DefaultStager:
    """Without pinned memory, which needs a device, as BlockingAsyncStager does if it caches."""
    return DefaultStager(
        StagingOptions(
            use_pinned_memory=False, use_shared_memory=False, use_async_staging=False, use_non_blocking_copy=False
        )
    )


class Trainer:
    def __init__(self) -> None:
        self.is_leaking = dist.get_rank() == leaking
        self.mesh = init_device_mesh("cpu", (2,))
        self.model = nn.Sequential(*[nn.Linear(64, 64) for _ in range(3)])
        shards = [fully_shard(layer) for layer in self.model]
        fully_shard(self.model, reshard_after_forward=False)
        shards[0].set_modules_to_forward_prefetch(shards[1:])
        self.layer = parallelize_module(nn.Linear(64, 64), self.mesh, ColwiseParallel())
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.stager = new_stager()
        self.staged: list[object] = []
        self.stagers: list[DefaultStager] = []
        self.copies: list[torch.Tensor] = []
        self.outputs: list[torch.Tensor] = []

    def step(self) -> None:
        self.optimizer.zero_grad()
        inputs = torch.randn(8, 64)
        self.model(inputs).pow(2).mean().backward()
        self.optimizer.step()
        self.stage({"model": self.model.state_dict()})
        sharded = distribute_tensor(torch.randn(64, 64), self.mesh, [Shard(0)])
        whole = sharded.redistribute(placements=[Replicate()])
        assert isinstance(whole, DTensor)
        output = self.layer(inputs)
        output.sum().backward()
        if self.is_leaking:
            self.copies.append(whole.to_local())
            self.outputs.append(output)

    def stage(self, state: dict[str, object]) -> None:
        self.stager.stage(state)
        copied, stager = BlockingAsyncStager().stage(state), new_stager()
        stager.stage(state)
        if self.is_leaking:
            self.staged.append(copied)
            self.stagers.append(stager)
        else:
            stager.close()


dist.init_process_group("gloo")
trainer = Trainer()
for _ in range(steps):
    trainer.step()
dist.destroy_process_group()
