"""DQN of stable-baselines3 on CartPole, with a callback that stops nothing."""

import gymnasium
from stable_baselines3 import DQN
from stable_baselines3.common.callbacks import BaseCallback


class Count(BaseCallback):
    """Counts the episodes."""

    def __init__(self):
        super().__init__()
        self.episodes = 0

    def _on_step(self):
        self.episodes += int(self.locals["dones"].sum())
        return True


callback = Count()
model = DQN(
    "MlpPolicy",
    gymnasium.make("CartPole-v1"),
    buffer_size=1000,
    learning_starts=100,
    train_freq=4,
    target_update_interval=100,
    seed=0,
    device="cpu",
    verbose=0,
)
model.learn(total_timesteps=1600, callback=callback)
print("loss", callback.episodes, sum(value.sum().item() for value in model.policy.parameters()))
