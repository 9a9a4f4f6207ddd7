"""An LSTM whose state is taken over without its graph."""

import torch
from torch import nn

torch.manual_seed(0)
net, head = nn.LSTM(32, 64, batch_first=True), nn.Linear(64, 32)
optimizer = torch.optim.Adam([*net.parameters(), *head.parameters()])
state = None


def step() -> None:
    global state
    x = torch.randn(16, 40, 32)
    out, state = net(x, state)
    loss = (head(out) - x).square().mean()
    del out, x
    loss.backward()
    state = tuple(one.detach() for one in state)
    optimizer.step()
    optimizer.zero_grad()
