"""Two-phase fine-tuning of an image classifier: first the head, then the whole network with a warm restart."""

import argparse

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=10, help="epochs of the second phase")
args = parser.parse_args()
torch.set_num_threads(1)
torch.manual_seed(args.seed)

digits = load_digits()
images = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 8 - 1
labels = torch.tensor(digits.target)
order = torch.randperm(len(images))
images, labels = images[order], labels[order]
small = labels < 5


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(),
        )
        self.head = nn.Linear(128, classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def fit(net, loader, optimizer, scheduler, epochs, tag):
    rates = []
    for epoch in range(epochs):
        net.train()
        total = 0.0
        for x, y in loader:
            loss = nn.functional.cross_entropy(net(x + 0.6 * torch.randn_like(x)), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            scheduler.step()
            total += loss.item()
            rates.append(optimizer.param_groups[0]["lr"])
        if epoch % 3 == 0:
            print(f"{tag} {epoch} loss {total / len(loader):.4f}")
    return rates


# the source task: digits 0 to 4
source = DataLoader(TensorDataset(images[small][:600], labels[small][:600]), batch_size=50, shuffle=True)
net = Net(5)
optimizer = torch.optim.SGD(net.parameters(), lr=0.02, momentum=0.9)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 5 * len(source))
fit(net, source, optimizer, scheduler, 5, "source")

# the target task: digits 5 to 9, few examples
x, y = images[~small], labels[~small] - 5
target = DataLoader(TensorDataset(x[:400], y[:400]), batch_size=20, shuffle=True)
net.head = nn.Linear(128, 5)
for p in net.backbone.parameters():
    p.requires_grad_(False)
optimizer = torch.optim.Adam(net.head.parameters(), lr=1e-3)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=2 * len(target))
fit(net, target, optimizer, scheduler, 2, "head")

for p in net.backbone.parameters():
    p.requires_grad_(True)
steps = args.steps * len(target)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1 - step / steps))
optimizer = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=1e-2)
rates = fit(net, target, optimizer, scheduler, args.steps, "all")

net.eval()
with torch.no_grad():
    logits = net(x[400:])
accuracy = (logits.argmax(1) == y[400:]).float().mean().item()
print(f"EVIDENCE rate at the end / rate at the start {rates[-1] / rates[0]:.3f}, target accuracy {accuracy:.3f}")
