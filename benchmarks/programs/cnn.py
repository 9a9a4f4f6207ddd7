"""A small CNN on drawn shapes, with the best weights kept, and batches that cannot be used."""

from __future__ import annotations

import argparse
import copy

import torch
from torch import Tensor, nn


class ShapeNet(nn.Module):
    """Two blocks of convolution, then a linear head."""

    def __init__(self) -> None:
        super().__init__()
        self.first = self.block(1, 8)
        self.second = self.block(8, 16)
        self.head = nn.Linear(16 * 4 * 4, 3)

    @staticmethod
    def block(inward: int, outward: int) -> nn.Sequential:
        """Convolution, normalisation, pooling."""
        return nn.Sequential(
            nn.Conv2d(inward, outward, 3, padding=1), nn.BatchNorm2d(outward), nn.ReLU(inplace=True), nn.MaxPool2d(2)
        )

    def features(self, images: Tensor) -> Tensor:
        """Return the features for the head."""
        return self.second(self.first(images)).flatten(1)

    def forward(self, images: Tensor) -> Tensor:
        """Scores of the three shapes."""
        return self.head(self.features(images))


def shapes(count: int, number: int) -> tuple[Tensor, Tensor]:
    """Bars, columns and squares with noise; every seventh batch is damaged."""
    images = 0.2 * torch.randn(count, 1, 16, 16)
    labels = torch.randint(0, 3, (count,))
    for image, label in zip(images, labels.tolist(), strict=True):
        rows, columns = (slice(6, 9), slice(2, 14)) if label == 0 else (slice(2, 14), slice(6, 9))
        image[0, rows, slice(2, 14) if label == 2 else columns] += 1
    if number % 7 == 6:
        images[0, 0, 0, 0] = float("nan")
    return images, labels


def checked(images: Tensor) -> Tensor:
    """The images, if they are whole."""
    centred = images - images.mean()
    if not torch.isfinite(centred).all():
        raise ValueError("a batch is damaged")
    return centred


def train(steps: int, leak: str) -> float:
    """The training loop; the last loss."""
    model = ShapeNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    best, best_weights = float("inf"), copy.deepcopy(model.state_dict())
    failures: list[Exception | str] = []
    snapshots: list[dict[str, Tensor]] = []
    gallery: list[Tensor] = []
    for number in range(steps):
        images, labels = shapes(16, number)
        try:
            images = checked(images)
        except ValueError as error:
            failures.append(error if leak == "failures" else str(error))
            images = torch.nan_to_num(images)
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() < best:
            best, best_weights = loss.item(), copy.deepcopy(model.state_dict())
        if leak == "snapshots":
            snapshots.append({name: value.clone() for name, value in model.state_dict().items()})
        if leak == "gallery":
            with torch.no_grad():
                gallery.append(model.features(images)[0, :4])
    model.load_state_dict(best_weights)
    return best


def main() -> None:
    """Train, and say how well."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--leak", choices=["none", "failures", "snapshots", "gallery"], default="none")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    torch.set_num_threads(1)
    print(f"best loss {train(arguments.steps, arguments.leak):.3f}")


if __name__ == "__main__":
    main()
