"""LoRA on a small frozen transformer: low-rank adapters beside its linear maps are all that learns."""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from torch import Tensor, nn


class Adapter(nn.Module):
    """A frozen linear map with a low-rank one beside it."""

    def __init__(self, base: nn.Linear, rank: int = 4) -> None:
        super().__init__()
        self.base = base.requires_grad_(False)
        self.down = nn.Parameter(torch.randn(rank, base.in_features) / rank)
        self.up = nn.Parameter(torch.zeros(base.out_features, rank))

    def forward(self, x: Tensor) -> Tensor:
        """The map, adapted."""
        return self.base(x) + x @ self.down.T @ self.up.T

    def merged(self) -> Tensor:
        """One weight for both."""
        return self.base.weight + self.up @ self.down


class Probe:
    """Reads the norm of an adapter; `reader` is how."""

    def __init__(self, adapter: Adapter, keeps: bool) -> None:
        self.weight = adapter.merged().detach()
        self.reader: Callable[[], float] | None = None
        if keeps:
            self.reader = self.exact

    def exact(self) -> float:
        """The norm itself."""
        return self.weight.norm().item()


class Model(nn.Module):
    """A frozen encoder and a head."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(32, 2, 64, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False).requires_grad_(False)
        for block in self.encoder.layers:
            block.linear1 = Adapter(block.linear1)
            block.linear2 = Adapter(block.linear2)
        self.head = nn.Linear(32, 4)
        self.merges: list[Tensor] = []

    def adapters(self) -> list[Adapter]:
        """All that learns, but the head."""
        return [module for module in self.modules() if isinstance(module, Adapter)]

    def forward(self, x: Tensor) -> Tensor:
        """Scores of four classes."""
        return self.head(self.encoder(x).mean(1))


def restart(model: Model, optimizer: torch.optim.Optimizer) -> None:
    """Fold the last adapter into its base, and go on with a fresh one."""
    adapter = model.adapters()[-1]
    fresh = Adapter(nn.Linear(adapter.base.in_features, adapter.base.out_features))
    fresh.base.weight.data.copy_(adapter.merged())
    model.encoder.layers[-1].linear2 = fresh
    optimizer.add_param_group({"params": [fresh.down, fresh.up]})


def main() -> None:
    """Adapt, and say how well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--leak", choices=["none", "groups", "merges", "probe"], default="none")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    model = Model()
    optimizer = torch.optim.AdamW([one for one in model.parameters() if one.requires_grad], lr=1e-3)
    centres = torch.randn(4, 1, 32)
    for _ in range(arguments.steps):
        labels = torch.randint(0, 4, (8,))
        loss = nn.functional.cross_entropy(model(centres[labels] + torch.randn(8, 6, 32)), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        Probe(model.adapters()[0], keeps=arguments.leak == "probe").exact()
        if arguments.leak == "groups":
            restart(model, optimizer)
        if arguments.leak == "merges":
            model.merges.append(model.adapters()[0].merged())
    print(f"loss {loss.item():.3f}")


if __name__ == "__main__":
    main()
