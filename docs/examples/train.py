import torch


class Trainer:
    def __init__(self):
        self.model = torch.nn.Linear(64, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.losses = []

    def step(self):
        x = torch.randn(32, 64)
        loss = (self.model(x) - x.sum(1, keepdim=True)).square().mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.losses.append(loss)


trainer = Trainer()
for _ in range(400):
    trainer.step()
print("trained")
