"""Operations in place, and one buffer for all inputs."""

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(200, 800), nn.ReLU(inplace=True), nn.Linear(800, 200), nn.Dropout(0.1, inplace=True))
opt = torch.optim.SGD(net.parameters(), 0.1)
buf = torch.empty(400, 200)


def step():
    buf.normal_()
    loss = net(buf).square_().mean()
    loss.backward()
    opt.step()
    opt.zero_grad()
