"""Transfer from digits 0-4 to digits 5-9: head first, then the whole net; the job is preempted and resumed."""
import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


class Net(nn.Module):
    def __init__(self, c=16, num_classes=5):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, c, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(c, 2 * c, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten())
        self.head = nn.Linear(8 * c, num_classes)

    def forward(self, x):
        return self.head(self.backbone(x))


def load_split(keep, offset):
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32)[:, None] / 16.0
    y = torch.tensor(d.target)
    sel = torch.isin(y, torch.tensor(keep))
    x, y = x[sel], y[sel] - offset
    cut = int(0.7 * len(x))
    return (x[:cut], y[:cut]), (x[cut:], y[cut:])


def batches(data, size, n):
    x, y = data
    for _ in range(n):
        idx = torch.randint(0, len(x), (size,))
        yield x[idx], y[idx]


def pretrain(state_path, steps=60):
    net = Net()
    opt = torch.optim.Adam(net.parameters(), lr=3e-3)
    train, _ = load_split([0, 1, 2, 3, 4], 0)
    for x, y in batches(train, 64, steps):
        loss = F.cross_entropy(net(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
    torch.save(net.backbone.state_dict(), state_path)
    print(f"pretraining done, loss {loss.item():.4f}")


class FineTuner:
    def __init__(self, args, backbone_path):
        self.args = args
        self.net = Net()
        self.net.backbone.load_state_dict(torch.load(backbone_path))
        self.net.backbone.requires_grad_(False)
        self.optimizer = torch.optim.Adam([
            {"params": self.net.head.parameters(), "lr": args.lr},
            {"params": self.net.backbone.parameters(), "lr": args.lr * args.backbone_lr_mult},
        ])
        self.epoch = 0
        self.train_data, self.val_data = load_split([5, 6, 7, 8, 9], 5)

    def on_epoch_start(self):
        if self.epoch >= self.args.unfreeze_epoch:
            self.net.backbone.requires_grad_(True)

    def save(self, path):
        torch.save({"net": self.net.state_dict(), "optimizer": self.optimizer.state_dict(), "epoch": self.epoch}, path)

    def load(self, path):
        ckpt = torch.load(path)
        self.net.load_state_dict(ckpt["net"])
        self.optimizer.load_state_dict(ckpt["optimizer"])
        self.epoch = ckpt["epoch"]
        print(f"resumed at epoch {self.epoch}")

    def fit(self, until_epoch):
        while self.epoch < until_epoch:
            self.on_epoch_start()
            total = 0.0
            for x, y in batches(self.train_data, 64, self.args.steps_per_epoch):
                loss = F.cross_entropy(self.net(x), y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.item()
            self.epoch += 1
            print(f"epoch {self.epoch:2d} loss {total / self.args.steps_per_epoch:.4f} lrs {[g['lr'] for g in self.optimizer.param_groups]}")

    @torch.no_grad()
    def validate(self):
        x, y = self.val_data
        logits = self.net(x)
        return (logits.argmax(1) == y).float().mean().item(), F.cross_entropy(logits, y).item()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--steps", type=int, default=100)
    p.add_argument("--steps-per-epoch", type=int, default=10)
    p.add_argument("--unfreeze-epoch", type=int, default=2)
    p.add_argument("--epochs-per-job", type=int, default=3)
    p.add_argument("--backbone-lr-mult", type=float, default=1.0)
    args = p.parse_args()
    torch.manual_seed(args.seed)
    num_epochs = max(1, args.steps // args.steps_per_epoch)

    with tempfile.TemporaryDirectory() as tmp:
        backbone_path, ckpt_path = os.path.join(tmp, "backbone.pt"), os.path.join(tmp, "last.pt")
        pretrain(backbone_path)

        # first job, ends at the time limit of the queue
        job = FineTuner(args, backbone_path)
        job.fit(min(args.epochs_per_job, num_epochs))
        job.save(ckpt_path)
        print(f"job ended, val acc {job.validate()[0]:.4f}")

        # second job picks up the checkpoint
        job = FineTuner(args, backbone_path)
        job.load(ckpt_path)
        job.fit(num_epochs)

    acc, nll = job.validate()
    print(f"EVIDENCE val_acc={acc:.4f} val_nll={nll:.4f}")


if __name__ == "__main__":
    main()
