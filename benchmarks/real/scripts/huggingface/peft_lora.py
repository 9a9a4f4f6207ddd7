"""Fine-tune a small GPT-2 with low-rank adapters of peft."""

import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

torch.manual_seed(0)
base = GPT2LMHeadModel(GPT2Config(vocab_size=60, n_positions=32, n_embd=48, n_layer=2, n_head=4))
model = get_peft_model(base, LoraConfig(r=4, lora_alpha=8, target_modules=["c_attn"], task_type="CAUSAL_LM"))
optimizer = torch.optim.AdamW(model.parameters(), lr=5e-3)
model.train()
for epoch in range(10):
    total = 0.0
    for _ in range(20):
        ids = (torch.randint(0, 60, (8, 1)) + torch.arange(20)) % 60
        outputs = model(input_ids=ids, labels=ids)
        outputs.loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        total += outputs.loss.item()
    print("loss", epoch, total / 20)
