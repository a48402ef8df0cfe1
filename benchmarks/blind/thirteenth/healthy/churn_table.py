"""Customer churn on a mixed table: embeddings for categories, missing values, class weight, early stopping on AUC."""

import argparse
import copy

import numpy as np
import torch
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=30, help="at most so many epochs")
parser.add_argument("--patience", type=int, default=4)
args = parser.parse_args()
torch.set_num_threads(1)
torch.manual_seed(args.seed)
rng = np.random.default_rng(args.seed)

N, PLANS, REGIONS = 5000, 5, 12
plan = rng.integers(0, PLANS, N)
region = rng.integers(0, REGIONS, N)
tenure = rng.gamma(2.0, 12.0, N)
calls = rng.poisson(1.5, N).astype(float)
bill = 20 + 15 * plan + rng.normal(0, 6, N)
usage = rng.lognormal(1.0, 0.5, N)
score = -3.0 + 0.6 * calls - 0.04 * tenure + 0.02 * bill + np.array([0, 0.5, -0.5, 0.8, 0])[plan] + 0.5 * (region % 3 == 0)
churn = rng.random(N) < 1 / (1 + np.exp(-score))
numbers = np.stack([tenure, calls, bill, usage], 1)
numbers[rng.random(numbers.shape) < 0.05] = np.nan

train_idx, rest = train_test_split(np.arange(N), test_size=0.4, random_state=args.seed, stratify=churn)
valid_idx, test_idx = train_test_split(rest, test_size=0.5, random_state=args.seed, stratify=churn[rest])
missing = np.isnan(numbers)
medians = np.nanmedian(numbers[train_idx], axis=0)
numbers = np.where(missing, medians, numbers)
scaler = StandardScaler().fit(numbers[train_idx])
table = np.concatenate([scaler.transform(numbers), missing], 1)


def dataset(idx):
    return TensorDataset(
        torch.tensor(table[idx], dtype=torch.float32),
        torch.tensor(np.stack([plan, region], 1)[idx]),
        torch.tensor(churn[idx], dtype=torch.float32),
    )


class ChurnNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.plan = nn.Embedding(PLANS, 3)
        self.region = nn.Embedding(REGIONS, 4)
        self.net = nn.Sequential(
            nn.Linear(8 + 7, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2),
            nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2), nn.Linear(32, 1),
        )

    def forward(self, numeric, category):
        x = torch.cat([numeric, self.plan(category[:, 0]), self.region(category[:, 1])], 1)
        return self.net(x).squeeze(1)


@torch.no_grad()
def auc(net, loader):
    net.eval()
    scores, truths = [], []
    for numeric, category, target in loader:
        scores.append(torch.sigmoid(net(numeric, category)))
        truths.append(target)
    return roc_auc_score(torch.cat(truths).numpy(), torch.cat(scores).numpy())


train_loader = DataLoader(dataset(train_idx), batch_size=64, shuffle=True, drop_last=True)
valid_loader = DataLoader(dataset(valid_idx), batch_size=512)
test_loader = DataLoader(dataset(test_idx), batch_size=512)
net = ChurnNet()
positive = churn[train_idx].mean()
criterion = nn.BCEWithLogitsLoss(pos_weight=torch.tensor((1 - positive) / positive, dtype=torch.float32))
optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=1e-2)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max", factor=0.5, patience=1)

best, best_state, waited = 0.0, None, 0
for epoch in range(args.steps):
    net.train()
    for numeric, category, target in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(numeric, category), target)
        loss.backward()
        optimizer.step()
    valid_auc = auc(net, valid_loader)
    scheduler.step(valid_auc)
    if valid_auc > best + 1e-4:
        best, best_state, waited = valid_auc, copy.deepcopy(net.state_dict()), 0
    else:
        waited += 1
        if waited >= args.patience:
            break
net.load_state_dict(best_state)
print(f"stopped after {epoch + 1} epochs, valid AUC {best:.4f}, test AUC {auc(net, test_loader):.4f}")
