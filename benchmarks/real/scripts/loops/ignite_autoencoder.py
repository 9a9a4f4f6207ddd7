"""An Engine of ignite with a step of its own, a running average and a schedule of the learning rate."""

import torch
from ignite.engine import Engine, Events
from ignite.handlers import LRScheduler
from ignite.metrics import RunningAverage
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(32, 8), nn.Tanh(), nn.Linear(8, 32))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
basis = torch.randn(4, 32)
batches = [torch.randn(64, 4) @ basis for _ in range(30)]


def step(engine, batch):
    model.train()
    optimizer.zero_grad()
    output = model(batch)
    loss = nn.functional.mse_loss(output, batch)
    loss.backward()
    optimizer.step()
    return {"loss": loss.item(), "output": output}


trainer = Engine(step)
RunningAverage(output_transform=lambda output: output["loss"]).attach(trainer, "loss")
trainer.add_event_handler(Events.ITERATION_COMPLETED, LRScheduler(torch.optim.lr_scheduler.StepLR(optimizer, 100)))


@trainer.on(Events.EPOCH_COMPLETED)
def say(engine):
    print("loss", engine.state.epoch, engine.state.metrics["loss"])


trainer.run(batches, max_epochs=12)
