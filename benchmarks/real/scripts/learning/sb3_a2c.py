"""A2C of stable-baselines3 on two CartPoles with a network of one's own."""

import torch
from stable_baselines3 import A2C
from stable_baselines3.common.env_util import make_vec_env
from stable_baselines3.common.torch_layers import BaseFeaturesExtractor
from torch import nn


class Features(BaseFeaturesExtractor):
    """One layer."""

    def __init__(self, observation_space):
        super().__init__(observation_space, features_dim=32)
        self.layer = nn.Sequential(nn.Linear(observation_space.shape[0], 32), nn.Tanh())

    def forward(self, observations):
        return self.layer(observations)


torch.manual_seed(0)
environment = make_vec_env("CartPole-v1", n_envs=2, seed=0)
policy = {"features_extractor_class": Features, "net_arch": [32]}
model = A2C("MlpPolicy", environment, policy_kwargs=policy, seed=0, device="cpu", verbose=0)
model.learn(total_timesteps=2400)
print("loss", sum(value.sum().item() for value in model.policy.parameters()))
