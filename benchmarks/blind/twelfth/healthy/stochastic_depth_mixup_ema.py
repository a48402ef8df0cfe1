"""Small residual network on digits: blocks skipped at random, mixup or cutmix by chance, warm-up, EMA."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn


class ResBlock(nn.Module):
    def __init__(self, ch, p_survive):
        super().__init__()
        self.p = p_survive
        self.branch = nn.Sequential(nn.Conv2d(ch, ch, 3, padding=1, bias=False), nn.BatchNorm2d(ch), nn.ReLU(),
                                    nn.Conv2d(ch, ch, 3, padding=1, bias=False), nn.BatchNorm2d(ch))

    def forward(self, x):
        if not self.training:
            return F.relu(x + self.p * self.branch(x))
        if torch.rand(()) > self.p:
            return x
        return F.relu(x + self.branch(x))


class ResNet(nn.Module):
    def __init__(self, ch=12, depth=4, p_last=0.75):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, ch, 3, padding=1, bias=False), nn.BatchNorm2d(ch), nn.ReLU())
        self.blocks = nn.Sequential(*[ResBlock(ch, 1 - (i + 1) / depth * (1 - p_last)) for i in range(depth)])
        self.head = nn.Linear(ch * 16, 10)

    def forward(self, x):
        return self.head(F.max_pool2d(self.blocks(self.stem(x)), 2).flatten(1))


def mix(x, y, rng, alpha=0.4):
    """Returns mixed inputs and soft targets; half of the batches stay as they are."""
    target = F.one_hot(y, 10).float()
    u = rng.random()
    if u < 0.5:
        return x, target
    perm = torch.randperm(len(x))
    lam = float(rng.beta(alpha, alpha))
    if u < 0.75:
        return lam * x + (1 - lam) * x[perm], lam * target + (1 - lam) * target[perm]
    side = int(round(8 * np.sqrt(1 - lam)))
    r, c = rng.integers(0, 9 - side, 2)
    x = x.clone()
    x[:, :, r:r + side, c:c + side] = x[perm, :, r:r + side, c:c + side]
    lam = 1 - side * side / 64
    return x, lam * target + (1 - lam) * target[perm]


@torch.no_grad()
def accuracy(model, x, y):
    model.eval()
    return (model(x).argmax(1) == y).float().mean().item()


parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.03)
parser.add_argument("--steps", type=int, default=140)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
rng = np.random.default_rng(args.seed)

images, labels = load_digits(return_X_y=True)
order = rng.permutation(len(images))
images = torch.tensor(images[order] / 16, dtype=torch.float32).view(-1, 1, 8, 8)
labels = torch.tensor(labels[order])
x_train, y_train, x_test, y_test = images[:1400], labels[:1400], images[1400:], labels[1400:]

net = ResNet()
ema = AveragedModel(net, multi_avg_fn=get_ema_multi_avg_fn(0.95), use_buffers=True)
optimizer = torch.optim.SGD(net.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4)
warmup = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, total_iters=15)
decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, max(1, args.steps - 15))
scheduler = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, decay], milestones=[15])

for step in range(args.steps):
    net.train()
    pick = torch.randint(len(x_train), (40,))
    x, target = mix(x_train[pick], y_train[pick], rng)
    loss = F.cross_entropy(net(x), target)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    optimizer.step()
    scheduler.step()
    ema.update_parameters(net)
    if (step + 1) % 35 == 0:
        raw, averaged = accuracy(net, x_test, y_test), accuracy(ema, x_test, y_test)
        print(f"[{step + 1:4d}] loss {loss.item():.3f} | raw {raw:.3f} | ema {averaged:.3f}")
# SPDX-License-Identifier: Apache-2.0
