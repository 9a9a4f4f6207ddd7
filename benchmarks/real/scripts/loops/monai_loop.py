"""A training loop with MONAI's network, loss, transforms and cached data."""

import torch
from monai.data import CacheDataset, DataLoader
from monai.losses import DiceCELoss
from monai.metrics import DiceMetric
from monai.networks.nets import BasicUNet
from monai.transforms import Compose, RandFlipd, RandGaussianNoised, ScaleIntensityd
from monai.utils import set_determinism

set_determinism(0)
rows = [{"image": torch.rand(1, 32, 32), "label": torch.zeros(1, 32, 32)} for _ in range(24)]
for row in rows:
    row["label"][:, 8:24, 8:24] = 1
    row["image"] += row["label"]
transform = Compose(
    [ScaleIntensityd("image"), RandFlipd(["image", "label"], prob=0.5), RandGaussianNoised("image", prob=0.5)]
)
loader = DataLoader(CacheDataset(rows, transform, progress=False), batch_size=4, shuffle=True)
model = BasicUNet(spatial_dims=2, in_channels=1, out_channels=2, features=(4, 4, 8, 8, 8, 4))
loss_function = DiceCELoss(to_onehot_y=True, softmax=True)
optimizer = torch.optim.Adam(model.parameters(), 1e-3)
metric = DiceMetric(include_background=False)
for epoch in range(14):
    model.train()
    for batch in loader:
        optimizer.zero_grad()
        loss = loss_function(model(batch["image"]), batch["label"])
        loss.backward()
        optimizer.step()
    model.eval()
    with torch.no_grad():
        for batch in loader:
            metric(model(batch["image"]).argmax(1, keepdim=True), batch["label"])
    print("loss", epoch, loss.item(), metric.aggregate().item())
    metric.reset()
