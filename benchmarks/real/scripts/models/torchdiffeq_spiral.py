"""Fit a neural ordinary differential equation to a spiral, as in torchdiffeq's examples."""

import torch
from torch import nn
from torchdiffeq import odeint


class Field(nn.Module):
    """The derivative of the state."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, 32), nn.Tanh(), nn.Linear(32, 2))

    def forward(self, t, y):
        return self.net(y**3)


torch.manual_seed(0)
true = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
times = torch.linspace(0.0, 2.0, 20)
with torch.no_grad():
    truth = odeint(lambda t, y: y**3 @ true, torch.tensor([[2.0, 0.0]]), times, method="rk4")
field = Field()
optimizer = torch.optim.RMSprop(field.parameters(), lr=1e-3)
for step in range(150):
    starts = torch.randint(0, 14, (16,))
    target = torch.stack([truth[starts + offset] for offset in range(5)])
    optimizer.zero_grad()
    predicted = odeint(field, truth[starts], times[:5], method="rk4")
    loss = (predicted - target).abs().mean()
    loss.backward()
    optimizer.step()
    if step % 30 == 29:
        print("loss", step, loss.item())
