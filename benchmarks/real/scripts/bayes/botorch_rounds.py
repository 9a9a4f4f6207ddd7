"""Bayesian optimization in rounds with BoTorch: fit, suggest, evaluate."""

import warnings

import torch
from botorch.acquisition import LogExpectedImprovement
from botorch.fit import fit_gpytorch_mll
from botorch.models import SingleTaskGP
from botorch.optim import optimize_acqf
from gpytorch.mlls import ExactMarginalLogLikelihood

warnings.filterwarnings("ignore")
torch.manual_seed(0)
bounds = torch.tensor([[0.0, 0.0], [1.0, 1.0]], dtype=torch.double)
x = torch.rand(5, 2, dtype=torch.double)
y = -((x - 0.3) ** 2).sum(1, keepdim=True)
for number in range(12):
    model = SingleTaskGP(x, y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    acquisition = LogExpectedImprovement(model, best_f=y.max())
    candidate, _ = optimize_acqf(acquisition, bounds, q=1, num_restarts=2, raw_samples=16)
    x = torch.cat([x, candidate])
    y = torch.cat([y, -((candidate - 0.3) ** 2).sum(1, keepdim=True)])
    print("loss", number, y.max().item())
