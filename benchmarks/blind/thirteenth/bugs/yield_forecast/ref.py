"""Crop yield with a mean and an uncertainty per field (heteroscedastic regression)."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=2e-3)
parser.add_argument("--steps", type=int, default=25, help="epochs")
args = parser.parse_args()
torch.set_num_threads(1)
torch.manual_seed(args.seed)


def make_fields(n):
    rain = torch.rand(n) * 2 - 1
    heat = torch.rand(n) * 2 - 1
    soil = torch.randint(0, 5, (n,))
    base = torch.tensor([0.0, 0.4, -0.3, 0.8, -0.6])[soil]
    mean = base + 1.2 * rain - 1.5 * heat.pow(2) + 0.5 * rain * heat
    spread = 0.15 + 0.5 * torch.sigmoid(3 * heat)
    target = mean + spread * torch.randn(n)
    return torch.stack([rain, heat], 1), soil, target


class YieldNet(nn.Module):
    def __init__(self, soils=5, width=48):
        super().__init__()
        self.soil = nn.Embedding(soils, 6)
        self.body = nn.Sequential(nn.Linear(8, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU())
        self.mean = nn.Linear(width, 1)
        self.scale = nn.Linear(width, 1)

    def forward(self, weather, soil):
        h = self.body(torch.cat([weather, self.soil(soil)], 1))
        std = F.softplus(self.scale(h)) + 1e-3
        return self.mean(h).squeeze(1), std.squeeze(1)


def run_epoch(net, loader, optimizer=None):
    net.train(optimizer is not None)
    total = 0.0
    with torch.set_grad_enabled(optimizer is not None):
        for weather, soil, target in loader:
            mean, std = net(weather, soil)
            loss = F.gaussian_nll_loss(mean, target, std.pow(2))
            if optimizer is not None:
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(net.parameters(), 5.0)
                optimizer.step()
            total += loss.item() * len(target)
    return total / len(loader.dataset)


fields = TensorDataset(*make_fields(3200))
train, valid = random_split(fields, [2560, 640])
train_loader = DataLoader(train, batch_size=64, shuffle=True)
valid_loader = DataLoader(valid, batch_size=320)
net = YieldNet()
optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=1e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
for epoch in range(args.steps):
    train_loss = run_epoch(net, train_loader, optimizer)
    valid_loss = run_epoch(net, valid_loader)
    scheduler.step()
    if epoch % 5 == 0 or epoch == args.steps - 1:
        print(f"epoch {epoch} train {train_loss:.4f} valid {valid_loss:.4f}")

net.eval()
with torch.no_grad():
    inside = []
    for weather, soil, target in valid_loader:
        mean, std = net(weather, soil)
        inside.append(((target - mean).abs() < std).float())
print(f"EVIDENCE one-sigma interval covers {torch.cat(inside).mean():.3f} of the validation fields (0.683 is right)")
