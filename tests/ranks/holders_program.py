"""What distributed training keeps: `holders_program.py WHAT STEPS`, on rank 1 of a gloo group.

WHAT: `hook` has a DDP communication hook that keeps its buckets, `full` keeps whole parameters of FSDP2 after each step,
`microbatches` keeps the outputs of a pipeline's stages.
"""

import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

what, steps = sys.argv[1], int(sys.argv[2])


class Trainer:
    def __init__(self) -> None:
        self.is_leaking = dist.get_rank() == 1
        self.buckets: list[torch.Tensor] = []
        self.full: list[torch.Tensor] = []
        self.outputs: list[torch.Tensor] = []
        plain = nn.Linear(64, 64)
        if what == "full":
            self.model: nn.Module = fully_shard(plain)
        else:
            self.model = DistributedDataParallel(plain)
        if what == "hook":
            self.model.register_comm_hook(self, keep_bucket)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)

    def step(self) -> None:
        losses = [self.model(torch.randn(8, 64)).pow(2).mean() for _ in range(2)]
        self.optimizer.zero_grad()
        torch.stack(losses).sum().backward()
        self.optimizer.step()
        if what == "full":
            whole = [one.full_tensor() for one in self.model.parameters() if isinstance(one, DTensor)]
            self.full += [one.detach() for one in whole] if self.is_leaking else []
        if what == "microbatches" and self.is_leaking:
            self.outputs += losses


# DDP compares the annotations with its own classes, so they must not be text.
def keep_bucket(trainer: object, bucket: dist.GradBucket) -> torch.futures.Future[torch.Tensor]:
    assert isinstance(trainer, Trainer)
    if trainer.is_leaking:
        trainer.buckets.append(bucket.buffer().clone())
    future = dist.all_reduce(bucket.buffer() / dist.get_world_size(), async_op=True).get_future()
    return future.then(lambda done: done.value()[0])


dist.init_process_group("gloo")
trainer = Trainer()
for _ in range(steps):
    trainer.step()
dist.destroy_process_group()
