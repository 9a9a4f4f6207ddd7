"""A classifier of skorch, with its own split for validation, as in its README."""

import numpy as np
import torch
from skorch import NeuralNetClassifier
from torch import nn


class Net(nn.Module):
    """Two layers."""

    def __init__(self, width=64):
        super().__init__()
        self.hidden = nn.Linear(20, width)
        self.dropout = nn.Dropout(0.2)
        self.output = nn.Linear(width, 2)

    def forward(self, x):
        return torch.softmax(self.output(self.dropout(torch.relu(self.hidden(x)))), dim=-1)


torch.manual_seed(0)
generator = np.random.default_rng(0)
x = generator.normal(size=(1000, 20)).astype(np.float32)
y = (x[:, :3].sum(1) > 0).astype(np.int64)
net = NeuralNetClassifier(Net, max_epochs=14, lr=0.1, batch_size=32, iterator_train__shuffle=True, verbose=0)
net.fit(x, y)
for row in net.history:
    print("loss", row["epoch"], row["train_loss"], row["valid_loss"])
