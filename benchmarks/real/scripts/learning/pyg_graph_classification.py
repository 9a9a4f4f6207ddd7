"""Classify small graphs with torch_geometric, batch by batch."""

import torch
from torch_geometric.data import Data
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GINConv, global_add_pool
from torch_geometric.nn.models import MLP


class GIN(torch.nn.Module):
    """Two convolutions and a sum over each graph."""

    def __init__(self):
        super().__init__()
        self.convs = torch.nn.ModuleList([GINConv(MLP([4, 32, 32])), GINConv(MLP([32, 32, 32]))])
        self.head = torch.nn.Linear(32, 2)

    def forward(self, data):
        x = data.x
        for conv in self.convs:
            x = conv(x, data.edge_index).relu()
        return self.head(global_add_pool(x, data.batch))


torch.manual_seed(0)
graphs = []
for number in range(200):
    edges = torch.randint(0, 10, (2, 12 + 8 * (number % 2)))
    graphs.append(Data(x=torch.randn(10, 4), edge_index=edges, y=torch.tensor([number % 2])))
loader = DataLoader(graphs, batch_size=10, shuffle=True)
model = GIN()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for epoch in range(12):
    total = 0.0
    for batch in loader:
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(batch), batch.y)
        loss.backward()
        optimizer.step()
        total += loss.item()
    print("loss", epoch, total / len(loader))
