"""A graph network of torch_geometric on one graph, with a mask for training."""

import torch
from torch_geometric.data import Data
from torch_geometric.nn import GCNConv
from torch_geometric.utils import to_undirected


class GCN(torch.nn.Module):
    """Two convolutions."""

    def __init__(self):
        super().__init__()
        self.first = GCNConv(16, 32, cached=True)
        self.second = GCNConv(32, 3, cached=True)

    def forward(self, x, edge_index):
        x = torch.nn.functional.dropout(self.first(x, edge_index).relu(), 0.3, self.training)
        return self.second(x, edge_index)


torch.manual_seed(0)
edges = to_undirected(torch.randint(0, 200, (2, 600)))
data = Data(x=torch.randn(200, 16), edge_index=edges, y=torch.randint(0, 3, (200,)))
data.train_mask = torch.rand(200) < 0.5
model = GCN()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
for epoch in range(300):
    model.train()
    optimizer.zero_grad()
    out = model(data.x, data.edge_index)
    loss = torch.nn.functional.cross_entropy(out[data.train_mask], data.y[data.train_mask])
    loss.backward()
    optimizer.step()
    if epoch % 50 == 49:
        model.eval()
        with torch.no_grad():
            right = (model(data.x, data.edge_index).argmax(1) == data.y).float().mean().item()
        print("loss", epoch, loss.item(), right)
