"""Train a regression and explain it with SHAP's gradients after each epoch."""

import numpy as np
import shap
import torch
from torch import nn

torch.manual_seed(0)
np.random.seed(0)
model = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
background = torch.randn(50, 10)
for epoch in range(12):
    for _ in range(20):
        x = torch.randn(32, 10)
        loss = nn.functional.mse_loss(model(x), x[:, :1] - x[:, 1:2])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    explainer = shap.GradientExplainer(model, background)
    values = np.asarray(explainer.shap_values(x[:4], nsamples=20, rseed=0))
    print("loss", epoch, loss.item(), float(np.abs(values).mean()))
