"""PPO of stable-baselines3 on CartPole."""

import gymnasium
from stable_baselines3 import PPO

environment = gymnasium.make("CartPole-v1")
model = PPO("MlpPolicy", environment, n_steps=128, batch_size=32, n_epochs=4, seed=0, device="cpu", verbose=0)
for part in range(4):
    model.learn(total_timesteps=512, reset_num_timesteps=part == 0)
    print(
        "loss",
        part,
        model.logger.name_to_value.get("train/loss", 0.0),
        sum(p.sum().item() for p in model.policy.parameters()),
    )
