"""A GAN with two optimizers and manual optimization in Lightning."""

import lightning
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class GAN(lightning.LightningModule):
    """A generator of points on a circle, and its critic."""

    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.generator = nn.Sequential(nn.Linear(8, 64), nn.ReLU(), nn.Linear(64, 2))
        self.critic = nn.Sequential(nn.Linear(2, 64), nn.ReLU(), nn.Linear(64, 1))

    def judge(self, points, is_real):
        target = torch.full((len(points), 1), float(is_real))
        return nn.functional.binary_cross_entropy_with_logits(self.critic(points), target)

    def training_step(self, batch, batch_idx):
        (real,) = batch
        for_generator, for_critic = self.optimizers()
        fake = self.generator(torch.randn(len(real), 8))
        g_loss = self.judge(fake, True)
        for_generator.zero_grad()
        self.manual_backward(g_loss)
        for_generator.step()
        c_loss = (self.judge(real, True) + self.judge(fake.detach(), False)) / 2
        for_critic.zero_grad()
        self.manual_backward(c_loss)
        for_critic.step()
        self.log_dict({"g_loss": g_loss, "c_loss": c_loss})

    def on_train_epoch_end(self):
        print("loss", self.current_epoch, float(self.trainer.callback_metrics["c_loss"]))

    def configure_optimizers(self):
        return [torch.optim.Adam(part.parameters(), lr=1e-3) for part in (self.generator, self.critic)]


lightning.seed_everything(0, verbose=False)
angles = torch.rand(640, 1) * 6.28
data = TensorDataset(torch.cat([angles.cos(), angles.sin()], 1))
model = GAN()
trainer = lightning.Trainer(
    max_epochs=12,
    accelerator="cpu",
    logger=False,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(model, DataLoader(data, batch_size=32, shuffle=True))
