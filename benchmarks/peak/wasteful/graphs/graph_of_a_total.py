"""A validation loop whose total keeps the graphs of all its losses: the statements that make them need one block."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
body = nn.Sequential(nn.Linear(128, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU())
head = nn.Linear(512, 20)
optimizer = torch.optim.SGD([*body.parameters(), *head.parameters()], 0.1)


def validate(batches):
    total, right = torch.zeros(()), 0
    for inputs, labels in batches:
        hidden = body(inputs)
        logits = head(hidden)
        loss = F.cross_entropy(logits, labels)
        total = total + loss
        right += (logits.argmax(-1) == labels).sum().item()
    return total.item() / len(batches), right


batches = [(torch.randn(256, 128), torch.randint(20, (256,))) for _ in range(4)]


def step():
    inputs, labels = torch.randn(128, 128), torch.randint(20, (128,))
    optimizer.zero_grad()
    F.cross_entropy(head(body(inputs)), labels).backward()
    optimizer.step()
    return validate(batches)
