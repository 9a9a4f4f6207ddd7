"""Train a small UNet of diffusers to take noise away, with an average of its weights."""

import torch
from diffusers import DDPMScheduler, UNet2DModel
from diffusers.training_utils import EMAModel
from torch import nn

torch.manual_seed(0)
model = UNet2DModel(
    sample_size=8,
    in_channels=1,
    out_channels=1,
    layers_per_block=1,
    block_out_channels=(16, 32),
    norm_num_groups=8,
    down_block_types=("DownBlock2D", "DownBlock2D"),
    up_block_types=("UpBlock2D", "UpBlock2D"),
)
noise_scheduler = DDPMScheduler(num_train_timesteps=100)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
ema = EMAModel(model.parameters())
for epoch in range(10):
    total = 0.0
    for _ in range(16):
        clean = torch.ones(8, 1, 8, 8) * torch.randn(8, 1, 1, 1)
        noise = torch.randn_like(clean)
        timesteps = torch.randint(0, 100, (8,))
        noisy = noise_scheduler.add_noise(clean, noise, timesteps)
        prediction = model(noisy, timesteps, return_dict=False)[0]
        loss = nn.functional.mse_loss(prediction, noise)
        loss.backward()
        optimizer.step()
        ema.step(model.parameters())
        optimizer.zero_grad()
        total += loss.item()
    print("loss", epoch, total / 16)
