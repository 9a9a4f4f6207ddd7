"""A search for hyperparameters over a regressor of skorch with scikit-learn."""

import numpy as np
import torch
from sklearn.model_selection import GridSearchCV
from skorch import NeuralNetRegressor
from torch import nn


class Net(nn.Module):
    """Two layers."""

    def __init__(self, width=16):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(10, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, x):
        return self.layers(x)


torch.manual_seed(0)
generator = np.random.default_rng(0)
x = generator.normal(size=(400, 10)).astype(np.float32)
y = x[:, :1] * 2 + 1
net = NeuralNetRegressor(Net, max_epochs=5, lr=0.05, batch_size=32, train_split=None, verbose=0)
search = GridSearchCV(net, {"lr": [0.01, 0.05], "module__width": [8, 16, 32]}, cv=3, refit=False)
search.fit(x, y)
for score in search.cv_results_["mean_test_score"]:
    print("loss", score)
