"""Train a small GPT-2 with the Trainer of transformers, evaluated after each epoch."""

import tempfile

import torch
from transformers import GPT2Config, GPT2LMHeadModel, Trainer, TrainingArguments, set_seed


def texts(count, seed):
    """Rows of words that count upwards from a random one."""
    starts = torch.randint(0, 50, (count, 1), generator=torch.Generator().manual_seed(seed))
    rows = (starts + torch.arange(24)) % 50
    return [{"input_ids": row, "labels": row} for row in rows]


set_seed(0)
model = GPT2LMHeadModel(GPT2Config(vocab_size=50, n_positions=32, n_embd=48, n_layer=2, n_head=4))
arguments = TrainingArguments(
    output_dir=tempfile.mkdtemp(),
    num_train_epochs=12,
    per_device_train_batch_size=8,
    eval_strategy="epoch",
    logging_strategy="epoch",
    save_strategy="no",
    report_to="none",
    disable_tqdm=True,
    use_cpu=True,
)
trainer = Trainer(model=model, args=arguments, train_dataset=texts(160, 1), eval_dataset=texts(40, 2))
trainer.train()
for entry in trainer.state.log_history:
    if "eval_loss" in entry:
        print("loss", entry["epoch"], entry["eval_loss"])
