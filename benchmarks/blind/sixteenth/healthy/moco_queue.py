"""MoCo v2 style contrastive pre-training: momentum encoder, negative queue, split-batch BN shuffle, frozen linear probe."""
import argparse
import copy
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def load_data(seed):
    d = load_digits()
    order = np.random.default_rng(seed).permutation(len(d.images))
    x = torch.tensor(d.images[order], dtype=torch.float32).unsqueeze(1) / 16.0
    y = torch.tensor(d.target[order])
    mean, std = x[:1300].mean(), x[:1300].std()
    return ((x - mean) / std)[:1300], y[:1300], ((x - mean) / std)[1300:], y[1300:]


def augment(x):
    """Random small affine warp and cut-out, per image."""
    b = len(x)
    ang = (torch.rand(b) - 0.5) * 0.6
    scale = 0.85 + 0.3 * torch.rand(b)
    theta = torch.zeros(b, 2, 3)
    theta[:, 0, 0] = theta[:, 1, 1] = ang.cos() * scale
    theta[:, 0, 1], theta[:, 1, 0] = -ang.sin() * scale, ang.sin() * scale
    theta[:, :, 2] = (torch.rand(b, 2) - 0.5) * 0.4
    x = F.grid_sample(x, F.affine_grid(theta, x.shape, align_corners=False), padding_mode="border", align_corners=False)
    if torch.rand(()) < 0.5:
        r, c = torch.randint(0, 6, (2,)).tolist()
        x[:, :, r:r + 2, c:c + 2] = 0.0
    return x * (0.8 + 0.4 * torch.rand(b, 1, 1, 1)) + 0.05 * torch.randn_like(x)


def make_encoder(dim):
    return nn.Sequential(
        nn.Conv2d(1, 24, 3, padding=1, bias=False), nn.BatchNorm2d(24), nn.ReLU(),
        nn.Conv2d(24, 48, 3, padding=1, stride=2, bias=False), nn.BatchNorm2d(48), nn.ReLU(), nn.Flatten(),
        nn.Sequential(nn.Linear(48 * 16, 64, bias=False), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, dim)))


class MoCo(nn.Module):
    def __init__(self, dim=32, queue=256, temperature=0.2):
        super().__init__()
        self.query = make_encoder(dim)
        self.key = copy.deepcopy(self.query)
        for p in self.key.parameters():
            p.requires_grad = False
        self.register_buffer("queue", F.normalize(torch.randn(queue, dim), dim=1))
        self.register_buffer("ptr", torch.zeros((), dtype=torch.long))
        self.t = temperature

    @torch.no_grad()
    def momentum_update(self, m):
        for k, q in zip(self.key.parameters(), self.query.parameters()):
            k.lerp_(q, 1.0 - m)

    @torch.no_grad()
    def keys(self, x, ways=2):
        """Key batch norm sees other sub-batches than the query batch norm (no leak through batch statistics)."""
        perm = torch.randperm(len(x))
        out = torch.cat([self.key(part) for part in x[perm].chunk(ways)])
        return F.normalize(out[perm.argsort()], dim=1)

    @torch.no_grad()
    def enqueue(self, k):
        where = (self.ptr + torch.arange(len(k))) % len(self.queue)
        self.queue[where] = k
        self.ptr.add_(len(k)).remainder_(len(self.queue))

    @torch.no_grad()
    def fill_queue(self, data):
        for _ in range(len(self.queue) // 64):
            self.enqueue(self.keys(augment(data[torch.randint(len(data), (64,))])))

    def forward(self, xq, xk, m):
        q = F.normalize(self.query(xq), dim=1)
        self.momentum_update(m)
        k = self.keys(xk)
        logits = torch.cat([(q * k).sum(1, keepdim=True), q @ self.queue.clone().t()], 1) / self.t
        self.enqueue(k)
        return F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))  # the positive is column 0


def linear_probe(encoder, xtr, ytr, xte, yte, steps=80):
    """The probe stops before the projection MLP; the encoder is put into eval and back."""
    trunk = encoder[:-1]
    mode = encoder.training
    encoder.eval()
    with torch.no_grad():
        ftr, fte = trunk(xtr), trunk(xte)
    encoder.train(mode)
    mu, sd = ftr.mean(0), ftr.std(0) + 1e-3
    head = nn.Linear(ftr.shape[1], 10)
    opt = torch.optim.LBFGS(head.parameters(), lr=0.5, max_iter=5)

    def closure():
        opt.zero_grad()
        loss = F.cross_entropy(head((ftr - mu) / sd), ytr) + 1e-3 * head.weight.square().sum()
        loss.backward()
        return loss

    for _ in range(max(1, steps // 10)):
        opt.step(closure)
    with torch.no_grad():
        return (head((fte - mu) / sd).argmax(1) == yte).float().mean().item()


@torch.no_grad()
def match_accuracy(model, x):
    """How often the other view of an unseen image is the nearest of 64."""
    model.query.eval()
    hits = []
    for part in x.split(64):
        a, b = (F.normalize(model.query(augment(part)), dim=1) for _ in range(2))
        hits.append((a @ b.t()).argmax(1) == torch.arange(len(part)))
    model.query.train()
    return torch.cat(hits).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.06)
    ap.add_argument("--steps", type=int, default=200)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)

    xtr, ytr, xte, yte = load_data(args.seed)
    model = MoCo()
    decay = [p for p in model.query.parameters() if p.ndim > 1]
    plain = [p for p in model.query.parameters() if p.ndim <= 1]
    opt = torch.optim.SGD([{"params": decay, "weight_decay": 1e-4}, {"params": plain, "weight_decay": 0.0}],
                          lr=args.lr, momentum=0.9)
    model.fill_queue(xtr)
    match0 = match_accuracy(model, xte)
    untrained = linear_probe(model.query, xtr, ytr, xte, yte)
    for step in range(args.steps):
        lr = args.lr * 0.5 * (1 + math.cos(math.pi * step / args.steps))
        for g in opt.param_groups:
            g["lr"] = lr
        m = 1.0 - 0.01 * 0.5 * (1 + math.cos(math.pi * step / args.steps))  # 0.99 -> 1.0 as in BYOL/DINO
        x = xtr[torch.randint(len(xtr), (64,))]
        loss = model(augment(x), augment(x), m)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if (step + 1) % 50 == 0:
            print(f"step {step + 1} loss {loss.item():.3f} m {m:.4f} probe {linear_probe(model.query, xtr, ytr, xte, yte):.3f}")
    probe = linear_probe(model.query, xtr, ytr, xte, yte)
    print(f"EVIDENCE match_acc={match_accuracy(model, xte):.4f} match_untrained={match0:.4f} "
          f"probe_acc={probe:.4f} probe_untrained={untrained:.4f} loss={loss.item():.3f}")


if __name__ == "__main__":
    main()
