"""Residual MLP on digits with warmup and cosine decay, stopped in the middle and resumed from disk."""
import argparse
import math
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        return x + self.mlp(self.norm(x))


class ResidualMLP(nn.Module):
    def __init__(self, dim=96, depth=3, classes=10):
        super().__init__()
        self.stem = nn.Linear(64, dim)
        self.blocks = nn.Sequential(*[Block(dim) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, x):
        return self.head(self.norm(self.blocks(self.stem(x))))


def warmup_cosine(warmup, total, floor=0.01):
    def scale(step):
        if step < warmup:
            return (step + 1) / warmup
        progress = min(1.0, (step - warmup) / max(1, total - warmup))
        return floor + (1 - floor) * 0.5 * (1 + math.cos(math.pi * progress))
    return scale


class Trainer:
    def __init__(self, args, data):
        self.args = args
        self.x_tr, self.x_te, self.y_tr, self.y_te = data
        self.model = ResidualMLP()
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=args.lr, weight_decay=0.05)
        self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(
            self.optimizer, warmup_cosine(args.steps // 8, args.steps))
        self.generator = torch.Generator().manual_seed(args.seed)
        self.step = 0

    def save_model(self, path):
        torch.save({
            "step": self.step,
            "model_state_dict": self.model.state_dict(),
            "optimizer_state_dict": self.optimizer.state_dict(),
            "lr_scheduler_state_dict": self.lr_scheduler.state_dict(),
            "generator": self.generator.get_state(),
        }, path)

    def load_checkpoint(self, path):
        ckpt = torch.load(path)
        self.step = ckpt["step"]
        self.model.load_state_dict(ckpt["model_state_dict"])
        self.optimizer.load_state_dict(ckpt["optimizer_state_dict"])
        self.lr_scheduler.load_state_dict(ckpt["lr_scheduler_state_dict"])
        self.generator.set_state(ckpt["generator"])

    def fit(self, until):
        self.model.train()
        while self.step < until:
            idx = torch.randint(0, len(self.x_tr), (self.args.batch,), generator=self.generator)
            noise = 0.3 * torch.randn(len(idx), 64, generator=self.generator)
            loss = F.cross_entropy(self.model(self.x_tr[idx] + noise), self.y_tr[idx])
            self.optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.lr_scheduler.step()
            self.step += 1
            if self.step % 20 == 0:
                print(f"step {self.step} loss {loss.item():.4f}", flush=True)

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        logits = self.model(self.x_te)
        return F.cross_entropy(logits, self.y_te).item(), (logits.argmax(1) == self.y_te).float().mean().item()


def load_data():
    x, y = load_digits(return_X_y=True)
    x = torch.tensor(x / 16.0, dtype=torch.float32) - 0.3
    x_tr, x_te, y_tr, y_te = train_test_split(x.numpy(), y, test_size=0.3, random_state=0, stratify=y)
    return tuple(torch.as_tensor(a) for a in (x_tr, x_te, y_tr, y_te))


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=8e-3)
    p.add_argument("--steps", type=int, default=120)
    p.add_argument("--batch", type=int, default=48)
    args = p.parse_args()
    torch.manual_seed(args.seed)
    data = load_data()
    with tempfile.TemporaryDirectory() as tmp:
        path = os.path.join(tmp, "recent.pt")
        first = Trainer(args, data)
        first.fit(args.steps * 2 // 3)
        first.save_model(path)
        second = Trainer(args, data)
        second.load_checkpoint(path)
        second.fit(args.steps)
        loss, acc = second.evaluate()
    print(f"EVIDENCE test_loss={loss:.4f} test_accuracy={acc:.4f}", flush=True)


if __name__ == "__main__":
    main()
