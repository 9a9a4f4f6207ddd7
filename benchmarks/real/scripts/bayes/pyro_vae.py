"""A variational autoencoder in pyro."""

import pyro
import pyro.distributions as dist
import torch
from pyro.infer import SVI, Trace_ELBO
from torch import nn
from torch.utils.data import DataLoader


class VAE(nn.Module):
    """An encoder, a decoder, and the program of each."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 32), nn.Softplus(), nn.Linear(32, 8))
        self.decoder = nn.Sequential(nn.Linear(4, 32), nn.Softplus(), nn.Linear(32, 16))

    def model(self, x):
        pyro.module("decoder", self.decoder)
        with pyro.plate("data", x.shape[0]):
            z = pyro.sample("latent", dist.Normal(x.new_zeros(len(x), 4), x.new_ones(len(x), 4)).to_event(1))
            pyro.sample("obs", dist.Bernoulli(logits=self.decoder(z)).to_event(1), obs=x)

    def guide(self, x):
        pyro.module("encoder", self.encoder)
        with pyro.plate("data", x.shape[0]):
            place, scale = self.encoder(x).chunk(2, dim=1)
            pyro.sample("latent", dist.Normal(place, scale.exp()).to_event(1))


pyro.set_rng_seed(0)
vae = VAE()
svi = SVI(vae.model, vae.guide, pyro.optim.Adam({"lr": 1e-3}), loss=Trace_ELBO())
loader = DataLoader((torch.rand(400, 16) < 0.3).float(), batch_size=20, shuffle=True)
for epoch in range(12):
    total = sum(svi.step(batch) for batch in loader)
    print("loss", epoch, total / 400)
