"""The average precision of torchmetrics over a whole run: it keeps every prediction by design."""

import torch
from torch import nn
from torchmetrics.classification import BinaryAveragePrecision

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
metric = BinaryAveragePrecision()
for step in range(240):
    x = torch.randn(32, 16)
    y = (x[:, 0] > 0).long()
    logits = model(x)[:, 0]
    loss = nn.functional.binary_cross_entropy_with_logits(logits, y.float())
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    metric.update(logits.detach().sigmoid(), y)
    if step % 40 == 39:
        print("loss", step, loss.item())
print("loss", metric.compute().item())
