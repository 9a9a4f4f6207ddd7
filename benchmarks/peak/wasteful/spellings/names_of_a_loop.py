"""The inputs of a loop under a name that only the loop's head mentions, and its last item under the loop's variable."""

import torch

torch.manual_seed(0)
weight = torch.randn(256, 256, requires_grad=True)


def step():
    x = torch.randn(1000, 256)
    outputs = [x @ weight for _ in range(4)]
    total = 0
    for output in outputs:
        total = total + output.detach().abs()
    return float((torch.randn(3000, 1000) @ total).sum())
