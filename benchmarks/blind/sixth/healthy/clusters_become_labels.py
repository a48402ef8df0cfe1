"""Without labels: features are clustered after each epoch, the clusters are learned, the head starts anew each time."""

import argparse

import torch
from sklearn.cluster import KMeans
from torch import nn
from torch.utils.data import DataLoader, Subset, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
CLUSTERS = 5


class Net(nn.Module):
    def __init__(self, features=24, width=32):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(features, width), nn.ReLU(), nn.Linear(width, 12))
        self.head = nn.Linear(12, CLUSTERS)

    def forward(self, x):
        return self.head(self.body(x).relu())


@torch.no_grad()
def cluster(model, x, seed):
    model.eval()
    features = model.body(x)
    model.train()
    features = (features - features.mean(0)) / (features.std(0) + 1e-6)
    return torch.as_tensor(KMeans(CLUSTERS, n_init=2, random_state=seed).fit_predict(features.numpy()), dtype=torch.long)


def renew_head(model, optimizer):
    model.head.reset_parameters()
    for p in model.head.parameters():
        optimizer.state.pop(p, None)


def kept_pairs(before, after):
    return ((after[:, None] == after) == (before[:, None] == before)).float().mean().item()


def evened(labels, size):
    """The same number of each cluster, with repetition where there are few."""
    parts = []
    for c in labels.unique():
        members = (labels == c).nonzero().flatten()
        parts.append(members[torch.randint(len(members), (size // CLUSTERS,))])
    return torch.cat(parts).tolist()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
centres = 2 * torch.randn(CLUSTERS, 24)
x = centres[torch.randint(CLUSTERS, (320,))] + torch.randn(320, 24)
model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=4 * args.lr, momentum=0.9, weight_decay=1e-4)
before, step, epoch = None, 0, 0
while step < args.steps:
    labels = cluster(model, x, args.seed + epoch)
    if epoch:
        renew_head(model, optimizer)
    for batch, target in DataLoader(Subset(TensorDataset(x, labels), evened(labels, 320)), batch_size=32, shuffle=True):
        batch = batch + 0.3 * torch.randn_like(batch)
        loss = nn.functional.cross_entropy(model(batch), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        step += 1
        if step == args.steps:
            break
    same = "" if before is None else f", pairs kept {kept_pairs(before, labels):.3f}"
    print(f"epoch {epoch}: loss {loss.item():.4f}, {len(labels.unique())} clusters{same}")
    before, epoch = labels, epoch + 1

# SPDX-License-Identifier: Apache-2.0
