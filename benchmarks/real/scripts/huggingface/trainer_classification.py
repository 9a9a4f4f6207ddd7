"""Train a small BERT to tell sentences apart with the Trainer of transformers."""

import tempfile

import torch
from torch.utils.data import Dataset
from transformers import BertConfig, BertForSequenceClassification, Trainer, TrainingArguments, set_seed


class Sentences(Dataset):
    """Random words; the label says whether a word occurs."""

    def __init__(self, count):
        generator = torch.Generator().manual_seed(1)
        self.words = torch.randint(5, 100, (count, 16), generator=generator)

    def __len__(self):
        return len(self.words)

    def __getitem__(self, index):
        words = self.words[index]
        return {"input_ids": words, "labels": int((words < 10).any())}


set_seed(0)
config = BertConfig(
    vocab_size=100, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128, num_labels=2
)
model = BertForSequenceClassification(config)
arguments = TrainingArguments(
    output_dir=tempfile.mkdtemp(),
    num_train_epochs=8,
    per_device_train_batch_size=8,
    logging_steps=50,
    save_strategy="no",
    report_to="none",
    disable_tqdm=True,
    use_cpu=True,
)
trainer = Trainer(model=model, args=arguments, train_dataset=Sentences(320))
trainer.train()
for entry in trainer.state.log_history:
    if "loss" in entry:
        print("loss", entry["step"], entry["loss"])
