"""An output that is a dict and an object: its loss is taken out a line after the forward pass."""

from collections import OrderedDict

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Output(OrderedDict):  # type: ignore[type-arg]
    """A dict whose items are attributes, too."""

    def __init__(self, **items):
        super().__init__(items)
        vars(self).update(items)


class Model(nn.Module):
    """Tokens to an output."""

    def __init__(self):
        super().__init__()
        self.tokens, self.up, self.head = nn.Embedding(2000, 64), nn.Linear(64, 64), nn.Linear(64, 2000)

    def forward(self, tokens, labels):
        hidden = torch.relu(self.up(self.tokens(tokens)))
        logits = self.head(hidden)
        return Output(loss=F.cross_entropy(logits.flatten(0, 1), labels.flatten()), logits=logits)


model = Model()
optimizer = torch.optim.SGD(model.parameters(), 0.1)


def step():
    tokens = torch.randint(2000, (4, 96))
    outputs = model(tokens, labels=tokens)
    loss = outputs["loss"]
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    return loss.detach()
