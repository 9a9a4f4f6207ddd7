"""An LSTM on a long wave, cut in windows, its state carried from one to the next."""

from __future__ import annotations

import argparse

import torch
from torch import Tensor, nn

WINDOW, BATCH, WIDTH = 8, 4, 24

torch.manual_seed(0)
torch.set_num_threads(1)
parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--steps", type=int, default=120)
parser.add_argument("--leak", choices=["none", "carried", "timeline", "packed"], default="none")
options = parser.parse_args()


class Forecast(nn.Module):
    """The next value of a wave."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTM(1, WIDTH, batch_first=True)
        self.head = nn.Linear(WIDTH, 1)

    def forward(self, window: Tensor, state: tuple[Tensor, Tensor]) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Forecasts, and the state after them."""
        seen, state = self.cell(window, state)
        return self.head(seen), state


def wave(start: int) -> Tensor:
    """A window of four waves, one longer than it."""
    at = torch.arange(start, start + WINDOW + 1).float()
    return torch.stack([torch.sin(at / (3 + number)) for number in range(BATCH)])[..., None]


def confidence(forecast: Tensor) -> float:
    """A look at the forecasts, for which saved tensors are counted on their way in."""
    saved = 0

    def pack(tensor: Tensor) -> Tensor:
        nonlocal saved
        saved += 1
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        spread = torch.exp(forecast - forecast.mean())
        spread.mean()
    return spread.std().item() / saved


model = Forecast()
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
hidden = (torch.zeros(1, BATCH, WIDTH), torch.zeros(1, BATCH, WIDTH))
timeline: list[Tensor] = []

for step in range(options.steps):
    values = wave(step * WINDOW)
    forecast, hidden = model(values[:, :-1], hidden)
    loss = nn.functional.mse_loss(forecast, values[:, 1:])
    optimizer.zero_grad()
    if options.leak == "carried":
        loss.backward(retain_graph=True, inputs=list(model.head.parameters()))
    else:
        loss.backward()
        if options.leak == "timeline":
            timeline.append(hidden[0][-1].mean(0))
        hidden = (hidden[0].detach(), hidden[1].detach())
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if options.leak == "packed":
        confidence(model(values[:, :-1], hidden)[0])

print(f"loss {loss.item():.3f}")
