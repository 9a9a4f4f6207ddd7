"""Train a small GPT on a device. Arguments: the device, steps, width, what to do wrong (leak, late, nothing)."""

import sys

import torch
from torch import nn

device, steps, width, mistake = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
WORDS, LENGTH, BATCH = 4 * width, 32, 8


class Block(nn.Module):
    """Attention and a feed-forward layer."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.heads, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        q, k, v = self.heads(self.norm1(x)).chunk(3, dim=-1)
        mask = torch.full((LENGTH, LENGTH), -1e9, device=x.device).triu(1)
        x = x + self.out(torch.softmax(q @ k.transpose(1, 2) / width**0.5 + mask, dim=-1) @ v)
        return x + self.down(torch.relu(self.up(self.norm2(x))))


torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(WORDS, width), Block(), Block(), nn.LayerNorm(width), nn.Linear(width, WORDS))
model = model.to(device)
optimizer = torch.optim.AdamW(model.parameters())
losses, kept = [], []
logits = None
for _ in range(steps):
    words = torch.randint(WORDS, (BATCH, LENGTH + 1)).to(device)
    if mistake != "late":
        logits = None
    logits = model(words[:, :-1])
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), words[:, 1:].flatten())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
    if mistake == "leak":
        kept.append(logits)
print("last loss", losses[-1])
