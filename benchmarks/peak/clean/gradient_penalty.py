"""A penalty on a gradient, differentiated twice."""

import torch
from torch import nn

torch.manual_seed(0)
D = nn.Sequential(nn.Linear(512, 256), nn.Tanh(), nn.Linear(256, 1))
opt = torch.optim.SGD(D.parameters(), 1e-3)


def penalty(x):
    x.requires_grad_()
    [g] = torch.autograd.grad(D(x).sum(), x, create_graph=True)
    return (g.norm(2, dim=1) - 1).square().mean()


def step():
    loss = penalty(torch.randn(256, 512))
    opt.zero_grad(set_to_none=True)
    loss.backward()
    opt.step()
    opt.zero_grad(set_to_none=True)
