"""A loop with a collection of metrics of torchmetrics, computed and reset after each epoch."""

import torch
from torch import nn
from torchmetrics import MeanMetric, MetricCollection
from torchmetrics.classification import MulticlassAccuracy, MulticlassF1Score

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 4))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
metrics = MetricCollection([MulticlassAccuracy(4), MulticlassF1Score(4)])
mean_loss = MeanMetric()
for epoch in range(12):
    for _ in range(20):
        x = torch.randn(32, 16)
        y = x[:, :4].argmax(1)
        logits = model(x)
        loss = nn.functional.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        metrics.update(logits.softmax(1), y)
        mean_loss.update(loss.detach())
    print("loss", epoch, mean_loss.compute().item(), metrics.compute()["MulticlassAccuracy"].item())
    metrics.reset()
    mean_loss.reset()
