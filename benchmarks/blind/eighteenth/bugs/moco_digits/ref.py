"""Momentum contrast with a queue of negatives on unlabelled digits, judged by kNN."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Encoder(nn.Module):
    def __init__(self, c=16, dim=32):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, c, 3, padding=1), nn.GroupNorm(4, c), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(c, 2 * c, 3, padding=1), nn.GroupNorm(4, 2 * c), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.proj = nn.Sequential(nn.Linear(8 * c, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, dim), nn.BatchNorm1d(dim, affine=False))

    def forward(self, x):
        return F.normalize(self.proj(self.backbone(x)), dim=1)


class MoCo(nn.Module):
    def __init__(self, dim=32, queue_size=512, momentum=0.9, temperature=0.2):
        super().__init__()
        self.queue_size, self.momentum, self.temperature = queue_size, momentum, temperature
        self.encoder_q = Encoder(dim=dim)
        self.encoder_k = copy.deepcopy(self.encoder_q).requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(queue_size, dim), dim=1))
        self.register_buffer("queue_ptr", torch.zeros(1, dtype=torch.long))

    @torch.no_grad()
    def update_key_encoder(self):
        for pq, pk in zip(self.encoder_q.parameters(), self.encoder_k.parameters()):
            pk.mul_(self.momentum).add_(pq, alpha=1.0 - self.momentum)

    @torch.no_grad()
    def enqueue(self, keys):
        ptr = int(self.queue_ptr)
        batch_size = keys.size(0)
        slots = (ptr + torch.arange(batch_size)) % self.queue_size
        self.queue[slots] = keys
        self.queue_ptr[0] = (ptr + batch_size) % self.queue_size

    def forward(self, view_q, view_k):
        q = self.encoder_q(view_q)
        with torch.no_grad():
            self.update_key_encoder()
            k = self.encoder_k(view_k)
        pos = (q * k).sum(1, keepdim=True)
        neg = q @ self.queue.clone().T
        logits = torch.cat([pos, neg], 1) / self.temperature
        loss = F.cross_entropy(logits, torch.zeros(len(q), dtype=torch.long))
        self.enqueue(k)
        return loss


def augment(x):
    """Random shift by one pixel, random erasing of a 2x2 patch, intensity jitter and noise."""
    n = x.size(0)
    padded = F.pad(x, (1, 1, 1, 1))
    oy, ox = torch.randint(0, 3, (n,)), torch.randint(0, 3, (n,))
    rows = (oy[:, None] + torch.arange(8))[:, None, :, None]
    cols = (ox[:, None] + torch.arange(8))[:, None, None, :]
    out = padded[torch.arange(n)[:, None, None, None], 0, rows, cols]
    ey, ex = torch.randint(0, 7, (n,)), torch.randint(0, 7, (n,))
    for d in (0, 1):
        for e in (0, 1):
            out[torch.arange(n), 0, ey + d, ex + e] = 0.0
    gain = 0.8 + 0.4 * torch.rand(n, 1, 1, 1)
    return out * gain + 0.1 * torch.randn_like(out)


@torch.no_grad()
def knn_accuracy(encoder, x_bank, y_bank, x_test, y_test, k=5):
    encoder.eval()
    bank, test = encoder(x_bank), encoder(x_test)
    encoder.train()
    votes = y_bank[(test @ bank.T).topk(k, dim=1).indices]
    return (votes.mode(1).values == y_test).float().mean().item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--steps", type=int, default=120)
    p.add_argument("--batch-size", type=int, default=64)
    args = p.parse_args()
    torch.manual_seed(args.seed)

    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16.0
    y = torch.tensor(d.target)
    x_train, y_train, x_test, y_test = x[:1300], y[:1300], x[1300:], y[1300:]

    model = MoCo()
    optimizer = torch.optim.AdamW(model.encoder_q.parameters(), lr=args.lr, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.steps)
    for step in range(args.steps):
        batch = x_train[torch.randperm(len(x_train))[:args.batch_size]]
        loss = model(augment(batch), augment(batch))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:4d} loss {loss.item():.4f}")

    labelled = torch.arange(0, 1300, 4)
    acc = knn_accuracy(model.encoder_q, x_train[labelled], y_train[labelled], x_test, y_test)
    print(f"EVIDENCE knn_acc={acc:.4f} final_loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
