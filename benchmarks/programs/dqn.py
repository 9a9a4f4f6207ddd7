"""Q-learning on a corridor, with a replay buffer of the last moves and a target network."""

from __future__ import annotations

import argparse
import collections
import copy
import random
import weakref
from dataclasses import dataclass

import torch
from torch import Tensor, nn

CELLS = 12


@dataclass
class Move:
    """One transition: state, action, result."""

    place: Tensor
    action: int
    reward: float
    after: Tensor
    value: Tensor  # of the action, when it was chosen


class Agent:
    """Network, target, memory."""

    def __init__(self, leak: str) -> None:
        self.leak = leak
        self.online = nn.Sequential(nn.Linear(CELLS, 32), nn.ReLU(), nn.Linear(32, 2))
        self.target = copy.deepcopy(self.online)
        self.retired: list[nn.Module] = []
        self.optimizer = torch.optim.Adam(self.online.parameters(), lr=3e-3)
        self.memory: collections.deque[Move] = collections.deque(maxlen=None if leak == "memory" else 48)
        self.notes: weakref.WeakKeyDictionary[nn.Module, dict[str, object]] = weakref.WeakKeyDictionary()

    def act(self, place: Tensor) -> tuple[int, Tensor]:
        """An action, and its value."""
        values = self.online(place)
        action = random.randrange(2) if random.random() < 0.2 else int(values.argmax())
        return action, values[action] if self.leak == "memory" else values[action].detach()

    def learn(self) -> float:
        """One step on moves from the memory."""
        moves = random.sample(list(self.memory)[-48:], 16)
        places, afters = torch.stack([one.place for one in moves]), torch.stack([one.after for one in moves])
        rewards, actions = torch.tensor([one.reward for one in moves]), torch.tensor([one.action for one in moves])
        with torch.no_grad():
            goal = rewards + 0.9 * self.target(afters).max(1).values
        loss = nn.functional.smooth_l1_loss(self.online(places).gather(1, actions[:, None])[:, 0], goal)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def renew_target(self, number: int) -> None:
        """Follow the online network."""
        if self.leak == "retired":
            self.retired.append(self.target)
            self.target = copy.deepcopy(self.online)
        elif self.leak == "notes":
            self.target = copy.deepcopy(self.online)
            self.notes[self.target] = {"since": number, "first": self.target[0], "of": self.target}
        elif number % 5 == 0:
            self.target.load_state_dict(self.online.state_dict())


def seen(cell: int) -> Tensor:
    """A cell as the network sees it."""
    return nn.functional.one_hot(torch.tensor(cell), CELLS).float()


def main() -> None:
    """Walk and learn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--leak", choices=["none", "memory", "retired", "notes"], default="none")
    arguments = parser.parse_args()
    torch.manual_seed(0)
    random.seed(0)
    torch.set_num_threads(1)
    agent, cell, number, loss = Agent(arguments.leak), 0, 0, 0.0
    while number < arguments.steps:
        place = seen(cell)
        action, value = agent.act(place)
        cell = max(0, cell - 1) if action == 0 else cell + 1
        reward = 1.0 if cell == CELLS - 1 else -0.01
        cell = 0 if cell == CELLS - 1 else cell
        agent.memory.append(Move(place, action, reward, seen(cell), value))
        if len(agent.memory) >= 48:
            loss = agent.learn()
            number += 1
            agent.renew_target(number)
    print(f"loss {loss:.4f}")


if __name__ == "__main__":
    main()
