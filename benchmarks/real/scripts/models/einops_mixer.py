"""An MLP-Mixer whose layers come from einops."""

import torch
from einops import rearrange
from einops.layers.torch import Rearrange, Reduce
from torch import nn


def block(patches, width):
    """Mix the patches, then the channels."""
    return nn.Sequential(
        nn.LayerNorm(width),
        Rearrange("b p c -> b c p"),
        nn.Linear(patches, patches),
        nn.GELU(),
        Rearrange("b c p -> b p c"),
        nn.Linear(width, width),
    )


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 32), block(16, 32), block(16, 32), Reduce("b p c -> b c", "mean"), nn.Linear(32, 2))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
for step in range(240):
    images = torch.randn(16, 16, 16)
    patches = rearrange(images, "b (h p) (w q) -> b (h w) (p q)", p=4, q=4)
    labels = (images.mean((1, 2)) > 0).long()
    loss = nn.functional.cross_entropy(model(patches), labels)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        print("loss", step, loss.item())
