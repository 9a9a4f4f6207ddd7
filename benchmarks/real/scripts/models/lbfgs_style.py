"""Fit an image to two targets with L-BFGS and a closure, as in PyTorch's tutorial on style transfer."""

import torch
from torch import nn

torch.manual_seed(0)
features = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3)).requires_grad_(False)
content, style = torch.rand(1, 3, 24, 24), torch.rand(1, 3, 24, 24)
wanted = features(content)


def gram(x):
    flat = x.flatten(2)
    return flat @ flat.transpose(1, 2) / flat.shape[-1]


image = content.clone().requires_grad_()
optimizer = torch.optim.LBFGS([image], max_iter=4)
run = [0]
while run[0] < 480:

    def closure():
        optimizer.zero_grad()
        seen = features(image)
        loss = (seen - wanted).square().mean() + 10 * (gram(seen) - gram(features(style))).square().mean()
        loss.backward()
        run[0] += 1
        if run[0] % 80 == 0:
            print("loss", run[0], loss.item())
        return loss

    optimizer.step(closure)
