"""BYOL on 8x8 digits without labels, then a linear probe on the frozen encoder."""

import argparse
import copy
import math

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=160)
parser.add_argument("--batch-size", type=int, default=96)
parser.add_argument("--momentum", type=float, default=0.97)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)


class Augment:
    """Random shift by a pixel, contrast, noise and erased pixels."""

    def __call__(self, x):
        n = len(x)
        theta = torch.zeros(n, 2, 3)
        angle = 0.25 * torch.randn(n)
        theta[:, 0, 0], theta[:, 0, 1] = angle.cos(), -angle.sin()
        theta[:, 1, 0], theta[:, 1, 1] = angle.sin(), angle.cos()
        theta[:, :, 2] = 0.15 * torch.randn(n, 2)
        x = F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False), align_corners=False)
        x = x * (0.7 + 0.6 * torch.rand(n, 1, 1, 1)) + 0.08 * torch.randn_like(x)
        return x * (torch.rand_like(x) > 0.08)


def mlp(c_in, hidden, c_out):
    return nn.Sequential(nn.Linear(c_in, hidden), nn.BatchNorm1d(hidden), nn.ReLU(), nn.Linear(hidden, c_out))


class Encoder(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(1, width, 3, padding=1), nn.BatchNorm2d(width), nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.BatchNorm2d(2 * width), nn.ReLU(),
            nn.Flatten())
        self.size = 2 * width * 16

    def forward(self, x):
        return self.body(x)


class BYOL(nn.Module):
    def __init__(self):
        super().__init__()
        encoder = Encoder()
        self.online = nn.Sequential(encoder, mlp(encoder.size, 128, 64))
        self.predictor = mlp(64, 128, 64)
        self.target = copy.deepcopy(self.online).requires_grad_(False)

    def forward(self, a, b):
        with torch.no_grad():
            ta, tb = self.target(a), self.target(b)
        pa, pb = self.predictor(self.online(a)), self.predictor(self.online(b))
        return 2 - F.cosine_similarity(pa, tb).mean() - F.cosine_similarity(pb, ta).mean()

    @torch.no_grad()
    def update_target(self, m):
        for p, q in zip(self.online.parameters(), self.target.parameters()):
            q.lerp_(p, 1 - m)


def probe(encoder, x, y, x_test, y_test):
    encoder.eval()
    with torch.no_grad():
        f, f_test = encoder(x), encoder(x_test)
    mean, std = f.mean(0), f.std(0) + 1e-4
    f, f_test = (f - mean) / std, (f_test - mean) / std
    head = nn.Linear(f.shape[1], 10)
    opt = torch.optim.SGD(head.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-3)
    for _ in range(100):
        loss = F.cross_entropy(head(f), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    return (head(f_test).argmax(1) == y_test).float().mean().item()


digits = load_digits()
x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
y = torch.tensor(digits.target)
order = torch.randperm(len(x))
train, test = order[:1400], order[1400:]
labelled = train[:200]
loader = DataLoader(TensorDataset(x[train]), batch_size=args.batch_size, shuffle=True, drop_last=True)

augment = Augment()
model = BYOL()
params = list(model.online.parameters()) + list(model.predictor.parameters())
opt = torch.optim.AdamW(params, lr=args.lr, weight_decay=1e-4)
sched = torch.optim.lr_scheduler.LambdaLR(
    opt, lambda s: min(1.0, (s + 1) / 20) * 0.5 * (1 + math.cos(math.pi * min(1.0, s / args.steps))))

step = 0
while step < args.steps:
    for (batch,) in loader:
        model.train()
        loss = model(augment(batch), augment(batch))
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        m = 1 - (1 - args.momentum) * 0.5 * (1 + math.cos(math.pi * step / args.steps))
        model.update_target(m)
        if step % 40 == 0:
            with torch.no_grad():
                spread = F.normalize(model.online(batch), dim=1).std(dim=0).mean().item() * 8
            print(f"step {step} loss {loss.item():.3f} spread {spread:.3f}")
        step += 1
        if step == args.steps:
            break

acc = probe(model.online[0], x[labelled], y[labelled], x[test], y[test])
print(f"linear probe with 200 labels: {acc:.3f}")
