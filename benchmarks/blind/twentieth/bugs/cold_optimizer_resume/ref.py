"""Counting cells on a grid (a small centre-point detector) with a trainer class that can be stopped and resumed."""
import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F


class CentreNet(nn.Module):
    def __init__(self, ch=16):
        super().__init__()
        self.stem = nn.Conv2d(1, ch, 3, padding=1)
        self.blocks = nn.ModuleList([nn.Conv2d(ch, ch, 3, padding=1) for _ in range(2)])
        self.heat = nn.Conv2d(ch, 1, 1)

    def forward(self, x):
        x = F.leaky_relu(self.stem(x), 0.1)
        for block in self.blocks:
            x = x + F.leaky_relu(block(x), 0.1)
        return self.heat(x).squeeze(1)


def cell_images(n, gen, size=14, cells=3):
    centre = torch.randint(1, size - 1, (n, cells, 2), generator=gen)
    grid = torch.stack(torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij"), -1)
    dist2 = (grid[None, None] - centre[:, :, None, None]).pow(2).sum(-1)
    image = torch.exp(-dist2 / 3).amax(1) + 0.15 * torch.randn(n, size, size, generator=gen)
    return image[:, None], (dist2 == 0).any(1).float()


class Trainer:
    def __init__(self, args):
        self.args, self.start_epoch, self.optimizer = args, 0, None
        torch.manual_seed(args.seed)
        self.model = CentreNet()
        self._resume_optimizer_state = None

    def resume(self, path):
        checkpoint = torch.load(path)
        self.model.load_state_dict(checkpoint["model"])
        self.start_epoch = checkpoint["epoch"] + 1
        if "optimizer" in checkpoint:
            self._resume_optimizer_state = checkpoint["optimizer"]

    def setup(self):
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=self.args.lr, betas=(0.9, 0.99))
        if self._resume_optimizer_state is not None:
            self.optimizer.load_state_dict(self._resume_optimizer_state)
        self.gen = torch.Generator().manual_seed(self.args.seed + 7 * self.start_epoch)

    def save(self, path, epoch):
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict(), "epoch": epoch}, path)

    def train(self, epochs, path):
        self.setup()
        last = 0.0
        for epoch in range(self.start_epoch, epochs):
            total = 0.0
            for _ in range(self.args.batches):
                image, target = cell_images(16, self.gen)
                weight = 1 + 20 * target
                loss = F.binary_cross_entropy_with_logits(self.model(image), target, weight=weight)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                total += loss.item()
            last = total / self.args.batches
            print(f"epoch {epoch} loss {last:.4f}")
            self.save(path, epoch)
        return last


def updates_in_state(optimizer):
    return max(int(s["step"]) for s in optimizer.state.values())


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=160)
    ap.add_argument("--batches", type=int, default=20)
    args = ap.parse_args()
    torch.set_num_threads(1)
    epochs = max(2, args.steps // args.batches)
    with tempfile.TemporaryDirectory() as run_dir:
        last_pt = os.path.join(run_dir, "last.pt")
        Trainer(args).train(epochs // 2, last_pt)
        trainer = Trainer(args)
        trainer.resume(last_pt)
        final = trainer.train(epochs, last_pt)
    print(f"EVIDENCE optimizer_updates={updates_in_state(trainer.optimizer)} of {epochs * args.batches} loss={final:.4f}")
