"""A variational Gaussian process of GPyTorch, trained in batches."""

import gpytorch
import torch
from gpytorch.variational import CholeskyVariationalDistribution, VariationalStrategy
from torch.utils.data import DataLoader, TensorDataset


class Variational(gpytorch.models.ApproximateGP):
    """Inducing points that are learnt."""

    def __init__(self, points):
        distribution = CholeskyVariationalDistribution(points.size(0))
        super().__init__(VariationalStrategy(self, points, distribution, learn_inducing_locations=True))
        self.mean_module = gpytorch.means.ConstantMean()
        self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

    def forward(self, x):
        return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))


torch.manual_seed(0)
x = torch.rand(400, 2)
y = torch.sin(6 * x[:, 0]) + x[:, 1]
loader = DataLoader(TensorDataset(x, y), batch_size=40, shuffle=True)
model, likelihood = Variational(x[:20]), gpytorch.likelihoods.GaussianLikelihood()
optimizer = torch.optim.Adam([*model.parameters(), *likelihood.parameters()], lr=0.02)
mll = gpytorch.mlls.VariationalELBO(likelihood, model, num_data=len(x))
for epoch in range(14):
    for batch, target in loader:
        optimizer.zero_grad()
        loss = -mll(model(batch), target)
        loss.backward()
        optimizer.step()
    print("loss", epoch, loss.item())
