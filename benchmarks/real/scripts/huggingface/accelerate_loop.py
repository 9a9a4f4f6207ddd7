"""The training loop of accelerate's documentation, with accumulated gradients and a schedule."""

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

set_seed(0)
accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
model = nn.Sequential(nn.Linear(64, 256), nn.GELU(), nn.Linear(256, 256), nn.GELU(), nn.Linear(256, 10))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=400)
inputs = torch.randn(1280, 64)
loader = DataLoader(TensorDataset(inputs, inputs[:, :10].argmax(1)), batch_size=32, shuffle=True)
model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
for epoch in range(10):
    total = 0.0
    for batch, labels in loader:
        with accelerator.accumulate(model):
            output = model(batch)
            loss = nn.functional.cross_entropy(output, labels)
            accelerator.backward(loss)
            accelerator.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        total += accelerator.gather(loss.detach()).mean().item()
    accelerator.print("loss", epoch, total / len(loader))
