"""SimCLR on the small digits of sklearn, scored with nearest neighbours of few labels."""

import argparse

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=15, help="epochs")
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
labels = digits.target
order = torch.randperm(len(images))
train_idx, test_idx = order[:1400], order[1400:]


def augment(x):
    """Small rotation, scale, shear and shift, then contrast and noise."""
    n = len(x)
    theta = torch.eye(2, 3).repeat(n, 1, 1) + torch.randn(n, 2, 3) * 0.15
    grid = F.affine_grid(theta, list(x.shape), align_corners=False)
    out = F.grid_sample(x, grid, align_corners=False)
    gain = 0.7 + 0.6 * torch.rand(n, 1, 1, 1)
    return (out * gain + 0.05 * torch.randn_like(out)).clamp(0, 1.3)


class Encoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(),
            nn.Conv2d(16, 32, 3, stride=2, padding=1), nn.ReLU(),
            nn.Flatten(), nn.Linear(32 * 16, 64), nn.ReLU(),
        )
        self.project = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, x):
        return F.normalize(self.project(self.features(x)), dim=1)


class ContrastLoss(nn.Module):
    """Takes features of shape [batch, views, dim]; the views of one row attract each other."""

    def __init__(self, temperature=0.2):
        super().__init__()
        self.temperature = temperature

    def forward(self, features):
        batch, views, _ = features.shape
        contrast = torch.cat(torch.unbind(features, dim=1), dim=0)
        logits = contrast @ contrast.t() / self.temperature
        same = torch.eye(batch).repeat(views, views)
        others = 1 - torch.eye(batch * views)
        positives = same * others
        logits = logits - logits.max(1, keepdim=True).values.detach()
        log_prob = logits - (logits.exp() * others).sum(1, keepdim=True).log()
        return -((positives * log_prob).sum(1) / positives.sum(1)).mean()


loader = DataLoader(TensorDataset(images[train_idx]), batch_size=100, shuffle=True)
model = Encoder()
criterion = ContrastLoss()
opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.steps * len(loader))
for epoch in range(args.steps):
    total = 0.0
    for (x,) in loader:
        bsz = len(x)
        both = model(torch.cat([augment(x), augment(x)]))
        f1, f2 = both.split(bsz)
        features = torch.stack([f1, f2], dim=1)
        loss = criterion(features)
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        total += loss.item()
    if epoch % 5 == 4:
        print(f"epoch {epoch} loss {total / len(loader):.3f}")

model.eval()
with torch.no_grad():
    features = F.normalize(model.features(images), dim=1).numpy()
few = train_idx[:200]
knn = KNeighborsClassifier(3).fit(features[few], labels[few])
accuracy = knn.score(features[test_idx], labels[test_idx])
print(f"EVIDENCE contrastive loss {total / len(loader):.3f}, kNN accuracy {accuracy:.3f}")
