"""Bayesian regression by stochastic variational inference in pyro."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import SVI, Trace_ELBO
from pyro.infer.autoguide import AutoDiagonalNormal
from pyro.nn import PyroModule, PyroSample
from torch import nn


class Regression(PyroModule):
    """A linear layer whose weights have priors."""

    def __init__(self):
        super().__init__()
        self.linear = PyroModule[nn.Linear](8, 1)
        self.linear.weight = PyroSample(dist.Normal(0.0, 1.0).expand([1, 8]).to_event(2))
        self.linear.bias = PyroSample(dist.Normal(0.0, 5.0).expand([1]).to_event(1))

    def forward(self, x, y=None):
        sigma = pyro.sample("sigma", dist.Uniform(0.0, 3.0))
        mean = self.linear(x).squeeze(-1)
        with pyro.plate("data", len(x)):
            pyro.sample("obs", dist.Normal(mean, sigma), obs=y)
        return mean


pyro.set_rng_seed(0)
x = torch.randn(100, 8)
y = x.sum(1) + 0.1 * torch.randn(100)
model = Regression()
guide = AutoDiagonalNormal(model)
svi = SVI(model, guide, pyro.optim.Adam({"lr": 0.03}), loss=Trace_ELBO())
for step in range(300):
    loss = svi.step(x, y)
    if step % 50 == 49:
        print("loss", step, loss / len(x))
