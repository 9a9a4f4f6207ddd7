"""Twenty small programs that use a device in the ways programs do. For child processes with the simulated accelerator."""

from __future__ import annotations

#: What every program begins with.
PRELUDE = """
import json, torch
import simulated_accelerator as native
import simulated_device
from gradlife.devices.live import device_memory
device = "simulated"
def show(**more):
    import dataclasses
    print(json.dumps({**dataclasses.asdict(device_memory()), **more}))
"""

MODEL = """
torch.manual_seed(0)
model = torch.nn.Sequential(torch.nn.Linear(256, 512), torch.nn.ReLU(), torch.nn.Linear(512, 16)).to(device)
target = torch.zeros(64, dtype=torch.long, device=device)
def loss_of(model=model):
    return torch.nn.functional.cross_entropy(model(torch.randn(64, 256, device=device)), target)
"""

#: Each program by its name: what it does before its memory is looked at.
PROGRAMS = {
    "inference": MODEL
    + "with torch.no_grad():\n    outputs = [model(torch.randn(64, 256, device=device)) for _ in range(3)]",
    "one backward": MODEL + "loss_of().backward()",
    "a graph that waits for its backward": MODEL + "loss = loss_of()",
    "training with SGD": MODEL
    + """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss_of().backward()
    optimizer.step()
""",
    "training with momentum": MODEL
    + """
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
loss_of().backward()
optimizer.step()
""",
    "training with AdamW": MODEL
    + """
optimizer = torch.optim.AdamW(model.parameters())
for _ in range(3):
    loss_of().backward()
    optimizer.step()
""",
    "losses kept with their graphs": MODEL + "kept = [loss_of() for _ in range(5)]",
    "gradients accumulated": MODEL + "for _ in range(4):\n    loss_of().backward()",
    "a copy of the model": MODEL + "import copy\naverage = copy.deepcopy(model)",
    "views of one storage": "x = torch.zeros(4096, device=device)\nrows = list(x.view(64, 64))\ndel x",
    "a dict of features": "features = {name: torch.ones(n, device=device) for n, name in enumerate('abcdef', 1000)}",
    "a closure": "def closed():\n    x = torch.ones(3000, device=device)\n    return lambda: x\nread = closed()",
    "a suspended generator": """
def batches():
    batch = torch.ones(5000, device=device)
    yield batch.sum().item()
    yield batch
running = batches()
next(running)
""",
    "an exception that keeps a frame": """
def failing():
    activations = torch.ones(7000, device=device)
    raise ValueError
try:
    failing()
except ValueError as error:
    failure = error
""",
    "two streams": """
side = torch.Stream(device=device)
x = torch.ones(9000, device=device)
y = torch.ones(9000, device=device)
x.record_stream(side)
del x
""",
    "two devices": "near = torch.ones(1000, device='simulated:0')\nfar = torch.ones(2000, device='simulated:1')",
    "a library's workspace": "pointer = native.allocate(0, 100_000)\nx = torch.ones(10, device=device)",
    "out of memory": """
native.set_capacity(0, 64 << 20)
kept = [torch.zeros(4 << 20, device=device) for _ in range(3)]
try:
    torch.zeros(8 << 20, device=device)
except torch.OutOfMemoryError:
    pass
""",
    "fragmentation": """
native.set_capacity(0, 64 << 20)
pieces = [torch.zeros(5 << 18, device=device) for _ in range(12)]
kept = pieces[::2]
del pieces
try:
    torch.zeros(6 << 20, device=device)
except torch.OutOfMemoryError:
    pass
""",
    "hooks that keep activations": MODEL
    + """
seen = []
handle = model[1].register_forward_hook(lambda module, inputs, output: seen.append(output))
for _ in range(3):
    loss_of().backward()
""",
}
