"""Train a small T5 of transformers to turn rows round, and generate after each epoch."""

import torch
from transformers import T5Config, T5ForConditionalGeneration

torch.manual_seed(0)
config = T5Config(
    vocab_size=40, d_model=32, d_kv=8, d_ff=64, num_layers=2, num_heads=4, decoder_start_token_id=0, dropout_rate=0.0
)
model = T5ForConditionalGeneration(config)
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
for epoch in range(10):
    model.train()
    for _ in range(15):
        rows = torch.randint(2, 40, (16, 6))
        loss = model(input_ids=rows, labels=rows.flip(1)).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    model.eval()
    rows = torch.randint(2, 40, (4, 6))
    generated = model.generate(input_ids=rows, max_new_tokens=6, do_sample=False)
    right = (generated[:, 1:7] == rows.flip(1)[:, : generated.shape[1] - 1]).float().mean().item()
    print("loss", epoch, loss.item(), right)
