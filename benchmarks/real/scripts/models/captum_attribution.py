"""Train a classifier and explain a batch with captum after each epoch."""

import torch
from captum.attr import IntegratedGradients, LayerGradCam
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(
    nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 8, 3, padding=1), nn.ReLU(), nn.Flatten(), nn.Linear(512, 2)
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
integrated, cam = IntegratedGradients(model), LayerGradCam(model, model[2])
for epoch in range(14):
    for _ in range(20):
        x = torch.randn(16, 1, 8, 8)
        y = (x[:, 0, :4].mean((1, 2)) > 0).long()
        loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    attributions = integrated.attribute(x, target=y, n_steps=10)
    maps = cam.attribute(x, target=y)
    print("loss", epoch, loss.item(), attributions.abs().mean().item(), maps.mean().item())
