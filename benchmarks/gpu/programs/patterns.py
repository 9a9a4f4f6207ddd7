"""Leaves in the allocator what CUDA alone has: a graph's pool, a workspace for each stream, cached pinned memory."""

import json
from dataclasses import asdict

import torch

import gradlife

x = torch.ones(4 << 20, device="cuda")
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    output = (x * 2 + 1).sum()  # the two products are freed in the capture and stay in its pool

square = torch.ones(512, 512, device="cuda")
sides = [torch.cuda.Stream() for _ in range(3)]
for side in sides:
    with torch.cuda.stream(side):
        square @ square

torch.cuda._sleep(1 << 30)  # the copies below wait for it, so that no buffer is free for the next one
for _ in range(6):
    torch.ones(1 << 20).pin_memory().to("cuda", non_blocking=True)
torch.cuda.synchronize()
torch.empty(1 << 20).pin_memory()  # at the next request of that size the allocator sees that the copies are done

print(json.dumps(asdict(gradlife.device_memory())))
