"""A dict of outputs that is kept through the backward pass of a trainer's method."""

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


class Net(nn.Module):
    """Tokens to logits."""

    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(3000, 64)
        self.rnn = nn.GRU(64, 128, batch_first=True)
        self.out = nn.Linear(128, 3000)

    def forward(self, ids):
        h, _ = self.rnn(self.emb(ids))
        return {"logits": self.out(h), "hidden": h}


class Trainer:
    """A model and its optimizer."""

    def __init__(self):
        self.net = Net()
        self.opt = torch.optim.AdamW(self.net.parameters(), 1e-3)

    def training_step(self, ids, labels):
        out = self.net(ids)
        loss = F.cross_entropy(out["logits"].reshape(-1, 3000), labels.reshape(-1))
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        return loss.item()

    def fit_one(self):
        ids = torch.randint(3000, (8, 40))
        labels = torch.randint(3000, (8, 40))
        return self.training_step(ids, labels)


tr = Trainer()


def step():
    tr.fit_one()
