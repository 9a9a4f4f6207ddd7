"""Exact Gaussian process regression, as in GPyTorch's first tutorial."""

import gpytorch
import torch


class ExactModel(gpytorch.models.ExactGP):
    """A constant mean and a scaled RBF kernel."""

    def __init__(self, x, y, likelihood):
        super().__init__(x, y, likelihood)
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


torch.manual_seed(0)
x = torch.linspace(0, 1, 50)
y = torch.sin(x * 6.28) + 0.2 * torch.randn(50)
likelihood = gpytorch.likelihoods.GaussianLikelihood()
model = ExactModel(x, y, likelihood)
model.train()
likelihood.train()
optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
mll = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
for step in range(200):
    optimizer.zero_grad()
    loss = -mll(model(x), y)
    loss.backward()
    optimizer.step()
    if step % 40 == 39:
        print("loss", step, loss.item(), model.covar_module.base_kernel.lengthscale.item())
model.eval()
likelihood.eval()
with torch.no_grad(), gpytorch.settings.fast_pred_var():
    print("loss", likelihood(model(torch.linspace(0, 1, 20))).mean.sum().item())
