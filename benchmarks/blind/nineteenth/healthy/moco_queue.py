"""MoCo for time series: the key encoder receives no gradient and is in no optimizer, runs in train
mode, its batch is shuffled before batch norm; the queue is a buffer rewritten every step, and the loss
rises at first while the random queue is replaced by real keys."""
import argparse
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

LENGTH = 48


def make_waves(n, gen):
    t = torch.arange(LENGTH).float()
    label = torch.randint(0, 6, (n,), generator=gen)
    period = 5.0 + 2.0 * label.float() + 0.4 * torch.randn(n, generator=gen)
    phase = torch.rand(n, generator=gen) * 2 * math.pi
    wave = torch.sin(2 * math.pi * t / period[:, None] + phase[:, None])
    wave = torch.where((label % 2 == 0)[:, None], wave, wave.sign())
    return (wave + 0.4 * torch.randn(n, LENGTH, generator=gen)).unsqueeze(1), label


def augment(x):
    x = torch.roll(x, int(torch.randint(0, LENGTH, ())), dims=2)
    x = x * (0.6 + 0.8 * torch.rand(len(x), 1, 1)) + 0.2 * torch.randn_like(x)
    return x


class Encoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.body = nn.Sequential(nn.Conv1d(1, 32, 7, padding=3), nn.BatchNorm1d(32), nn.ReLU(),
                                  nn.Conv1d(32, 64, 5, padding=2, stride=2), nn.BatchNorm1d(64), nn.ReLU())
        self.proj = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, dim))

    def features(self, x):
        return self.body(x).mean(2)

    def forward(self, x):
        return F.normalize(self.proj(self.features(x)), dim=1)


class MoCo(nn.Module):
    def __init__(self, size=512, momentum=0.97, temperature=0.1):
        super().__init__()
        self.query = Encoder()
        self.key = copy.deepcopy(self.query).requires_grad_(False)
        self.momentum, self.temperature = momentum, temperature
        self.register_buffer("queue", F.normalize(torch.randn(size, 32), dim=1))
        self.ptr = 0

    @torch.no_grad()
    def advance(self):
        for q, k in zip(self.query.parameters(), self.key.parameters()):
            k.lerp_(q, 1.0 - self.momentum)

    @torch.no_grad()
    def keys(self, x):
        shuffle = torch.randperm(len(x))
        return self.key(x[shuffle])[shuffle.argsort()]

    @torch.no_grad()
    def enqueue(self, k):
        n = len(k)
        slots = (self.ptr + torch.arange(n)) % len(self.queue)
        self.queue[slots] = k
        self.ptr = (self.ptr + n) % len(self.queue)

    def forward(self, a, b):
        q = self.query(a)
        self.advance()
        k = self.keys(b)
        positive = (q * k).sum(1, keepdim=True)
        negative = q @ self.queue.clone().t()
        logits = torch.cat([positive, negative], dim=1) / self.temperature
        self.enqueue(k)
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))


@torch.no_grad()
def knn(model, bank, bank_y, x, y):
    model.eval()
    a, b = F.normalize(model.query.features(bank), dim=1), F.normalize(model.query.features(x), dim=1)
    votes = F.one_hot(bank_y[(b @ a.t()).topk(7, dim=1).indices], 6).sum(1)
    return (votes.argmax(1) == y).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.06)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--batch-size", type=int, default=64)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    train, train_y = make_waves(1500, gen)
    test, test_y = make_waves(400, gen)
    model = MoCo()
    optimizer = torch.optim.SGD(model.query.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    for step in range(args.steps):
        model.train()
        x = train[torch.randint(0, len(train), (args.batch_size,))]
        loss = model(augment(x), augment(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 15 == 0:
            print(f"step {step:3d} loss {loss.item():.4f}")
    print(f"EVIDENCE knn_accuracy={knn(model, train[:500], train_y[:500], test, test_y):.4f}")


if __name__ == "__main__":
    main()
