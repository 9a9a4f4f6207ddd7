"""Captures a training step in a CUDA graph, replays it, and keeps a tensor of each replay. Argument: the replays."""

import sys

import torch

torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(512, 512), torch.nn.ReLU(), torch.nn.Linear(512, 1)).cuda()
optimizer = torch.optim.Adam(model.parameters(), capturable=True)
images = torch.randn(256, 512, device="cuda")


def step() -> torch.Tensor:
    """What is captured."""
    optimizer.zero_grad(set_to_none=True)
    loss = model(images).square().mean()
    loss.backward()
    optimizer.step()
    return loss


side = torch.cuda.Stream()
side.wait_stream(torch.cuda.current_stream())
with torch.cuda.stream(side):
    for _ in range(3):
        step()
torch.cuda.current_stream().wait_stream(side)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    loss = step()

kept = []
for _ in range(int(sys.argv[1])):
    images.copy_(torch.randn(256, 512, device="cuda"))
    graph.replay()
    kept.append(images.clone())
print("last loss", loss.item())
