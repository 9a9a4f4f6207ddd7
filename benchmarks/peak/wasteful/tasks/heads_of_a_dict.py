"""The outputs of several heads in a dict, through the backward pass of their summed losses."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    """Two heads on one stem."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, padding=1)
        self.body = nn.Conv2d(16, 16, 3, padding=1)
        self.seg = nn.Conv2d(16, 24, 1)
        self.depth = nn.Conv2d(16, 1, 1)

    def forward(self, x):
        a = self.stem(x)
        b = F.relu(self.body(a))
        return {"seg": self.seg(b), "depth": self.depth(b), "features": a}


net = Net()
opt = torch.optim.SGD(net.parameters(), 1e-3)


def step():
    x = torch.rand(4, 3, 64, 64)
    target = torch.randint(24, (4, 64, 64))
    depth = torch.rand(4, 1, 64, 64)
    out = net(x)
    losses = {
        "seg": F.cross_entropy(out["seg"], target),
        "depth": F.l1_loss(out["depth"], depth),
        "smooth": out["depth"].diff(dim=-1).abs().mean(),
    }
    total = sum(losses.values())
    opt.zero_grad()
    total.backward()
    opt.step()
    return {k: v.item() for k, v in losses.items()}
