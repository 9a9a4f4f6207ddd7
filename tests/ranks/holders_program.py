"""What distributed training keeps: `holders_program.py WHAT STEPS LEAKING`, on one rank of a gloo group, or on none (-1).

WHAT: `hook` has a DDP communication hook that keeps its buckets, `full` keeps whole parameters of FSDP2 after each step,
`microbatches` keeps the outputs of a pipeline's last stage, `checkpoint` the futures of finished asynchronous checkpoints.
"""

import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.fsdp import fully_shard
from torch.distributed.pipelining import PipelineStage, ScheduleGPipe
from torch.distributed.tensor import DTensor
from torch.nn.parallel import DistributedDataParallel

what, steps, leaking = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])


class Trainer:
    def __init__(self) -> None:
        self.is_leaking = dist.get_rank() == leaking
        self.buckets: list[torch.Tensor] = []
        self.full: list[torch.Tensor] = []
        self.outputs: list[torch.Tensor] = []
        self.saves: list[object] = []
        plain = nn.Linear(64, 64)
        if what == "full":
            self.model: nn.Module = fully_shard(plain)
        elif what == "microbatches":
            self.model = plain
            self.stage = PipelineStage(plain, dist.get_rank(), 2, torch.device("cpu"))
            self.pipeline = ScheduleGPipe(self.stage, n_microbatches=2, loss_fn=nn.functional.mse_loss)
        else:
            self.model = DistributedDataParallel(plain)
        if what == "hook":
            self.model.register_comm_hook(self, keep_bucket)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)

    def step(self) -> None:
        self.optimizer.zero_grad()
        if what == "microbatches":
            self.run_pipeline()
        else:
            self.model(torch.randn(8, 64)).pow(2).mean().backward()
        self.optimizer.step()
        if what == "checkpoint":
            done = dcp.async_save({"model": self.model.state_dict()}, checkpoint_id="checkpoint")
            done.result()
            self.saves += [done] if self.is_leaking else []
        if what == "full":
            whole = [one.full_tensor() for one in self.model.parameters() if isinstance(one, DTensor)]
            self.full += [one.detach() for one in whole] if self.is_leaking else []

    def run_pipeline(self) -> None:
        if self.stage.is_first:
            self.pipeline.step(torch.randn(8, 64))
        else:
            self.pipeline.step(target=torch.zeros(8, 64))
        if self.is_leaking:
            self.outputs += self.stage.output_chunks


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
