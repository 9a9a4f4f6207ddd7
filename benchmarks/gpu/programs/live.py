"""Train beside many live tensors. Arguments: the device, steps, MB of live tensors. Prints the milliseconds of a step."""

import statistics
import sys
import time

import torch

device, steps, live = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]) << 20
tensors = [torch.zeros(1 << 18, device=device) for _ in range(live >> 20)]
model = torch.nn.Linear(512, 512).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
times = []
for _ in range(steps):
    started = time.perf_counter()
    optimizer.zero_grad()
    model(torch.ones(64, 512, device=device)).square().mean().backward()
    optimizer.step()
    torch.accelerator.synchronize() if device == "cuda" else None
    times.append(time.perf_counter() - started)
print("ms", 1000 * statistics.median(times))
