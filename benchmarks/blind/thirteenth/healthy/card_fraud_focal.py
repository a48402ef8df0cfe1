"""Imbalance: card fraud with focal loss, thinned negatives per epoch, early stopping on average precision, a tuned threshold."""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import make_classification
from sklearn.metrics import average_precision_score, f1_score, precision_recall_curve
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler
from torch import nn
from torch.utils.data import DataLoader, Sampler, TensorDataset
from torchvision.ops import sigmoid_focal_loss

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=30, help="at most so many epochs")
args = parser.parse_args()
torch.manual_seed(args.seed)
np.random.seed(args.seed)
torch.set_num_threads(1)

features, label = make_classification(
    n_samples=20000, n_features=20, n_informative=10, n_redundant=4, n_clusters_per_class=3, weights=[0.97],
    flip_y=0.002, class_sep=1.2, random_state=args.seed,
)
amount = np.exp(np.random.normal(3 + 0.7 * label, 1.0))
features = np.concatenate([features, np.log(amount)[:, None]], 1).astype(np.float32)
x_rest, x_test, y_rest, y_test = train_test_split(features, label, test_size=0.2, stratify=label, random_state=args.seed)
x_train, x_valid, y_train, y_valid = train_test_split(x_rest, y_rest, test_size=0.2, stratify=y_rest, random_state=args.seed)
scaler = StandardScaler().fit(x_train)
x_train, x_valid, x_test = (torch.tensor(scaler.transform(x), dtype=torch.float32) for x in (x_train, x_valid, x_test))
y_train = torch.tensor(y_train, dtype=torch.float32)


class ThinnedSampler(Sampler):
    """All positives and a fresh draw of negatives, `ratio` to each positive, in a new order every epoch."""

    def __init__(self, labels, ratio, generator):
        self.positive = torch.nonzero(labels == 1).flatten()
        self.negative = torch.nonzero(labels == 0).flatten()
        self.take = min(len(self.negative), int(ratio * len(self.positive)))
        self.generator = generator

    def __len__(self):
        return len(self.positive) + self.take

    def __iter__(self):
        drawn = self.negative[torch.randperm(len(self.negative), generator=self.generator)[: self.take]]
        index = torch.cat([self.positive, drawn])
        yield from index[torch.randperm(len(index), generator=self.generator)].tolist()


class FraudNet(nn.Module):
    def __init__(self, columns, prior):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(columns, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Dropout(0.2),
            nn.Linear(64, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.2),
        )
        self.head = nn.Linear(32, 1)
        nn.init.constant_(self.head.bias, float(np.log(prior / (1 - prior))))

    def forward(self, x):
        return self.head(self.body(x)).squeeze(1)


@torch.no_grad()
def predict(model, x):
    model.eval()
    return torch.cat([model(part) for part in x.split(1024)]).sigmoid().numpy()


sampler = ThinnedSampler(y_train, ratio=8, generator=torch.Generator().manual_seed(args.seed))
loader = DataLoader(TensorDataset(x_train, y_train), batch_size=128, sampler=sampler)
model = FraudNet(x_train.shape[1], prior=1 / 9)
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="max", factor=0.5, patience=2)

with tempfile.TemporaryDirectory() as folder:
    path, best, waited = Path(folder) / "best.pt", -1.0, 0
    for epoch in range(args.steps):
        model.train()
        total, seen = 0.0, 0
        for x, y in loader:
            loss = sigmoid_focal_loss(model(x), y, alpha=0.6, gamma=2.0, reduction="mean")
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total, seen = total + loss.item() * len(y), seen + len(y)
        score = average_precision_score(y_valid, predict(model, x_valid))
        scheduler.step(score)
        if score > best + 1e-4:
            best, waited = score, 0
            torch.save({"model": model.state_dict(), "epoch": epoch}, path)
        else:
            waited += 1
            if waited >= 4:
                break
    kept = torch.load(path, weights_only=True)
model.load_state_dict(kept["model"])

precision, recall, thresholds = precision_recall_curve(y_valid, predict(model, x_valid))
f1 = 2 * precision * recall / np.maximum(precision + recall, 1e-9)
threshold = thresholds[f1[:-1].argmax()]
scores = predict(model, x_test)
print(f"{epoch + 1} epochs, best {kept['epoch'] + 1}, loss {total / seen:.4f}, valid average precision {best:.3f}")
print(f"test average precision {average_precision_score(y_test, scores):.3f}, f1 {f1_score(y_test, scores >= threshold):.3f} at {threshold:.2f}")
