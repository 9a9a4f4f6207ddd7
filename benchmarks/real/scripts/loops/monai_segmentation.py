"""A SupervisedTrainer of MONAI with an evaluator and handlers, on drawn squares."""

import logging

import torch
from monai.data import DataLoader, Dataset
from monai.engines import SupervisedEvaluator, SupervisedTrainer
from monai.handlers import MeanDice, ValidationHandler, from_engine
from monai.inferers import SimpleInferer
from monai.losses import DiceLoss
from monai.networks.nets import UNet
from monai.transforms import Activationsd, AsDiscreted, Compose
from monai.utils import set_determinism

set_determinism(0)
logging.disable(logging.INFO)
rows = []
for _ in range(64):
    label = torch.zeros(1, 16, 16)
    top, left = torch.randint(0, 8, (2,)).tolist()
    label[:, top : top + 8, left : left + 8] = 1
    rows.append({"image": label + 0.3 * torch.randn(1, 16, 16), "label": label})
model = UNet(spatial_dims=2, in_channels=1, out_channels=1, channels=(8, 16), strides=(2,))
after = Compose([Activationsd(keys="pred", sigmoid=True), AsDiscreted(keys="pred", threshold=0.5)])
evaluator = SupervisedEvaluator(
    device=torch.device("cpu"),
    val_data_loader=DataLoader(Dataset(rows[:16]), batch_size=4),
    network=model,
    postprocessing=after,
    key_val_metric={"dice": MeanDice(output_transform=from_engine(["pred", "label"]))},
)
trainer = SupervisedTrainer(
    device=torch.device("cpu"),
    max_epochs=10,
    train_data_loader=DataLoader(Dataset(rows), batch_size=4, shuffle=True),
    network=model,
    optimizer=torch.optim.Adam(model.parameters(), 1e-3),
    loss_function=DiceLoss(sigmoid=True),
    inferer=SimpleInferer(),
    train_handlers=[ValidationHandler(validator=evaluator, interval=1, epoch_level=True)],
)
trainer.run()
print(
    "loss", trainer.state.output[0]["loss"] if isinstance(trainer.state.output, list) else trainer.state.output["loss"]
)
print("loss", evaluator.state.metrics["dice"])
