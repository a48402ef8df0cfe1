"""MoCo-style contrastive pre-training on 8x8 digits, judged by a kNN probe."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def augment(x):
    """Random shift by up to one pixel, intensity jitter, noise and a small erased patch."""
    n = x.size(0)
    padded = F.pad(x, (1, 1, 1, 1))
    dy, dx = torch.randint(0, 3, (n,)), torch.randint(0, 3, (n,))
    rows = dy[:, None] + torch.arange(8)
    cols = dx[:, None] + torch.arange(8)
    out = padded[torch.arange(n)[:, None, None], 0, rows[:, :, None], cols[:, None, :]].unsqueeze(1)
    out = out * (0.7 + 0.6 * torch.rand(n, 1, 1, 1)) + 0.1 * torch.randn_like(out)
    ey, ex = torch.randint(0, 7, (n,)), torch.randint(0, 7, (n,))
    grid = torch.arange(8)
    hole = ((grid >= ey[:, None]) & (grid < ey[:, None] + 2))[:, :, None] & \
           ((grid >= ex[:, None]) & (grid < ex[:, None] + 2))[:, None, :]
    return out.masked_fill(hole.unsqueeze(1), 0.0)


class Encoder(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.head = nn.Sequential(nn.Linear(128, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, dim))

    def forward(self, x):
        return F.normalize(self.head(self.backbone(x)), dim=1)


class MoCo(nn.Module):
    def __init__(self, dim=32, queue_size=512, momentum=0.95, temperature=0.1):
        super().__init__()
        self.m, self.tau = momentum, temperature
        self.encoder_q = Encoder(dim)
        self.encoder_k = copy.deepcopy(self.encoder_q)
        for p in self.encoder_k.parameters():
            p.requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(queue_size, dim), dim=1))
        self.register_buffer("ptr", torch.zeros((), dtype=torch.long))

    @torch.no_grad()
    def momentum_update(self):
        for param_q, param_k in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            param_k.data = param_k.data * self.m + param_q.data * (1.0 - self.m)

    @torch.no_grad()
    def enqueue(self, keys):
        p, n = int(self.ptr), keys.size(0)
        self.queue[p:p + n] = keys
        self.ptr.fill_((p + n) % self.queue.size(0))

    def forward(self, view_q, view_k):
        q = self.encoder_q(view_q)
        with torch.no_grad():
            self.momentum_update()
            k = self.encoder_k(view_k)
        pos = (q * k).sum(dim=1, keepdim=True)
        neg = q @ self.queue.clone().T
        logits = torch.cat([pos, neg], dim=1) / self.tau
        loss = F.cross_entropy(logits, torch.zeros(q.size(0), dtype=torch.long))
        self.enqueue(k)
        return loss, (logits.argmax(dim=1) == 0).float().mean()


@torch.no_grad()
def knn_accuracy(encoder, xtr, ytr, xte, yte, k=5):
    encoder.eval()
    ftr, fte = encoder(xtr), encoder(xte)
    encoder.train()
    votes = ytr[(fte @ ftr.T).topk(k, dim=1).indices]
    return (votes.mode(dim=1).values == yte).float().mean().item()


@torch.no_grad()
def view_retrieval(encoder, x):
    """How often the nearest of all second views belongs to the same image."""
    encoder.eval()
    a, b = encoder(augment(x)), encoder(augment(x))
    encoder.train()
    return ((a @ b.T).argmax(dim=1) == torch.arange(len(x))).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.05)
    ap.add_argument("--steps", type=int, default=300)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)

    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    y = torch.tensor(digits.target)
    perm = torch.randperm(len(x))
    x, y = x[perm], y[perm]
    xtr, ytr, xte, yte = x[:1400], y[:1400], x[1400:], y[1400:]

    model = MoCo()
    key_start = [p.clone() for p in model.encoder_k.parameters()]
    opt = torch.optim.SGD(model.encoder_q.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    for _ in range(model.queue.size(0) // 128):  # fill the queue with real keys before the first step
        xb = xtr[torch.randint(0, len(xtr), (128,))]
        with torch.no_grad():
            model.enqueue(model.encoder_k(augment(xb)))
    for step in range(args.steps):
        xb = xtr[torch.randint(0, len(xtr), (128,))]
        loss, acc = model(augment(xb), augment(xb))
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 100 == 0:
            print(f"step {step} loss {loss.item():.4f} instance_acc {acc.item():.3f}")

    moved = sum((a - b).norm().item() for a, b in zip(key_start, model.encoder_k.parameters()))
    acc = knn_accuracy(model.encoder_q, xtr, ytr, xte, yte)
    print(f"EVIDENCE view_retrieval={view_retrieval(model.encoder_q, xte):.4f} knn_acc={acc:.4f} loss={loss.item():.4f} key_encoder_moved={moved:.4f}")


if __name__ == "__main__":
    main()
