"""A decoder of x-transformers with its wrapper for next words."""

import torch
from x_transformers import AutoregressiveWrapper, Decoder, TransformerWrapper

torch.manual_seed(0)
model = AutoregressiveWrapper(
    TransformerWrapper(
        num_tokens=64, max_seq_len=32, attn_layers=Decoder(dim=32, depth=2, heads=2, rotary_pos_emb=True)
    )
)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(160):
    model.train()
    rows = (torch.randint(0, 64, (8, 1)) + torch.arange(25)) % 64
    loss = model(rows)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
    optimizer.step()
    optimizer.zero_grad()
    if step % 40 == 39:
        model.eval()
        sample = model.generate(rows[:1, :4], 8)
        print("loss", step, loss.item(), sample.sum().item())
