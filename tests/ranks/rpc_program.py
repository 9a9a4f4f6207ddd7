"""Two workers of torch.distributed.rpc that call one another: `rpc_program.py STEPS LEAKING`.

The leaking rank keeps the RRefs to its results, and futures that it does not wait for.
"""

import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed import rpc

steps, leaking, rank = int(sys.argv[1]), int(sys.argv[2]), int(os.environ["RANK"])
references: list[rpc.RRef[torch.Tensor]] = []
futures: list[torch.futures.Future[torch.Tensor]] = []


def square(values: torch.Tensor) -> torch.Tensor:
    return values @ values


def step(model: nn.Module, optimizer: torch.optim.Optimizer) -> None:
    optimizer.zero_grad()
    model(torch.randn(8, 64)).pow(2).mean().backward()
    optimizer.step()
    peer = f"worker{1 - rank}"
    reference = rpc.remote(peer, square, args=(torch.randn(64, 64),))
    reference.to_here()
    future = rpc.rpc_async(peer, square, args=(torch.randn(32, 32),))
    if rank == leaking:
        references.append(reference)
        futures.append(future)
    else:
        future.wait()
    dist.barrier()


patient = rpc.TensorPipeRpcBackendOptions(rpc_timeout=900)  # the other one may begin late, and answer late
rpc.init_rpc(f"worker{rank}", rank=rank, world_size=2, rpc_backend_options=patient)
dist.init_process_group("gloo")
layer = nn.Linear(64, 64)
sgd = torch.optim.SGD(layer.parameters(), lr=0.01)
for _ in range(steps):
    step(layer, sgd)
dist.destroy_process_group()
rpc.shutdown()
