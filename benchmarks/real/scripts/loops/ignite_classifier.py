"""A supervised trainer and an evaluator of ignite, run after each epoch."""

import torch
from ignite.engine import Events, create_supervised_evaluator, create_supervised_trainer
from ignite.metrics import Accuracy, Loss
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
x = torch.randn(800, 16)
data = TensorDataset(x, (x[:, 0] > x[:, 1]).long())
train_loader, val_loader = DataLoader(data, batch_size=32, shuffle=True), DataLoader(data, batch_size=100)
model = nn.Sequential(nn.Linear(16, 64), nn.ReLU(), nn.Linear(64, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
trainer = create_supervised_trainer(model, optimizer, criterion)
evaluator = create_supervised_evaluator(model, metrics={"accuracy": Accuracy(), "loss": Loss(criterion)})


@trainer.on(Events.EPOCH_COMPLETED)
def evaluate(engine):
    evaluator.run(val_loader)
    print("loss", engine.state.epoch, evaluator.state.metrics["loss"], evaluator.state.metrics["accuracy"])


trainer.run(train_loader, max_epochs=14)
