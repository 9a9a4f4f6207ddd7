"""A LightningModule with validation after each epoch, as in Lightning's documentation."""

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Regression(lightning.LightningModule):
    """Learn the sum of the inputs."""

    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(32, 128), nn.ReLU(), nn.Linear(128, 1))

    def training_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)
        self.log("train_loss", loss)
        return loss

    def validation_step(self, batch, batch_idx):
        x, y = batch
        loss = nn.functional.mse_loss(self.net(x), y)
        self.log("val_loss", loss)

    def on_validation_epoch_end(self):
        print("loss", self.current_epoch, float(self.trainer.callback_metrics["val_loss"]))

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-3)


lightning.seed_everything(0, verbose=False)
x = torch.randn(960, 32)
data = TensorDataset(x, x.sum(1, keepdim=True))
model = Regression()
trainer = lightning.Trainer(
    max_epochs=14,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(model, DataLoader(data, batch_size=32, shuffle=True), DataLoader(data, batch_size=96))
