"""The transitions of a rollout, through the updates that read their stacked fields."""

from dataclasses import dataclass

import torch
from torch import nn

torch.manual_seed(0)
net = nn.Sequential(nn.Linear(512, 64), nn.Tanh(), nn.Linear(64, 8))
opt = torch.optim.Adam(net.parameters(), 1e-3)


@dataclass
class Transition:
    """One step of the environment."""

    obs: torch.Tensor
    action: torch.Tensor
    log_prob: torch.Tensor
    reward: torch.Tensor


class Env:
    """An environment of random observations."""

    def reset(self):
        return torch.randn(64, 512)

    def step(self, action):
        return torch.randn(64, 512), torch.randn(64)


env = Env()


def collect(n):
    steps = []
    obs = env.reset()
    with torch.no_grad():
        for _ in range(n):
            dist = torch.distributions.Categorical(logits=net(obs))
            action = dist.sample()
            nxt, reward = env.step(action)
            steps.append(Transition(obs, action, dist.log_prob(action), reward))
            obs = nxt
    return steps


def step():
    rollout = collect(16)
    obs = torch.stack([t.obs for t in rollout])
    actions = torch.stack([t.action for t in rollout])
    old = torch.stack([t.log_prob for t in rollout])
    rewards = torch.stack([t.reward for t in rollout])
    advantage = (rewards - rewards.mean()) / (rewards.std() + 1e-6)
    for _ in range(2):
        dist = torch.distributions.Categorical(logits=net(obs))
        ratio = (dist.log_prob(actions) - old).exp()
        loss = -torch.min(ratio * advantage, ratio.clamp(0.8, 1.2) * advantage).mean() - 0.01 * dist.entropy().mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
