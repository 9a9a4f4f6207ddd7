"""The exception of a failed attempt, kept while the next one runs: its traceback has the frames."""

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(128, 1024), nn.ReLU(), nn.Linear(1024, 128))
optimizer = torch.optim.SGD(model.parameters(), 0.01)
last_error = None


class FlakyError(Exception):
    """A batch that fails."""


def forward_checked(x):
    hidden = model[0](x)
    activated = torch.relu(hidden)
    if activated.numel():
        raise FlakyError
    return model[2](activated)


def attempt(x):
    global last_error
    try:
        return forward_checked(x)
    except FlakyError as error:
        last_error = error
        return None


def step():
    x = torch.randn(512, 128)
    attempt(x)
    loss = model(torch.randn(512, 128)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
