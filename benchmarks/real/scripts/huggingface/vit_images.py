"""Train a small vision transformer of transformers in a loop of one's own."""

import torch
from torch.utils.data import DataLoader, TensorDataset
from transformers import ViTConfig, ViTForImageClassification, get_linear_schedule_with_warmup

torch.manual_seed(0)
config = ViTConfig(
    image_size=16,
    patch_size=4,
    num_channels=1,
    hidden_size=48,
    num_hidden_layers=2,
    num_attention_heads=4,
    intermediate_size=96,
    num_labels=2,
)
model = ViTForImageClassification(config)
images = torch.randn(320, 1, 16, 16)
labels = (images.mean((1, 2, 3)) > 0).long()
loader = DataLoader(TensorDataset(images, labels), batch_size=16, shuffle=True)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
schedule = get_linear_schedule_with_warmup(optimizer, 20, 240)
for epoch in range(12):
    for pixels, label in loader:
        outputs = model(pixel_values=pixels, labels=label)
        outputs.loss.backward()
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
    print("loss", epoch, outputs.loss.item())
