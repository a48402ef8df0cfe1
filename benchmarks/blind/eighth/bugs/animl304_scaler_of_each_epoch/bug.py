"""Half precision with a scaler of the loss: pictures of animals are imagined as vectors here."""
import argparse
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Config:
    seed: int
    lr: float
    epochs: int
    batch_size: int = 32
    classes: int = 6
    width: int = 128


def make_data(cfg):
    centres = torch.randn(cfg.classes, 40)
    labels = torch.randint(cfg.classes, (640,))
    inputs = centres[labels] + 2.0 * torch.randn(640, 40)
    train = TensorDataset(inputs[:384], labels[:384])
    return DataLoader(train, cfg.batch_size, shuffle=True), (inputs[384:], labels[384:])


def train_func(loader, model, optimizer, scaler):
    """One epoch; returns the mean loss and how many steps the scaler left out."""
    model.train()
    total, skipped = 0.0, 0
    criterion = nn.CrossEntropyLoss(reduction="sum")
    for data, labels in loader:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = criterion(model(data), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        before = scaler.get_scale()
        scaler.step(optimizer)
        scaler.update()
        skipped += int(scaler.get_scale() < before)
        total += loss.item() / len(data)
    return total / len(loader), skipped


@torch.no_grad()
def validate_func(model, valid):
    model.eval()
    logits = model(valid[0])
    return nn.functional.cross_entropy(logits, valid[1]).item(), (logits.argmax(1) == valid[1]).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.002)
    parser.add_argument("--steps", type=int, default=180)
    args = parser.parse_args()
    cfg = Config(args.seed, args.lr, max(1, args.steps // 12))
    torch.manual_seed(cfg.seed)
    torch.set_num_threads(1)
    loader, valid = make_data(cfg)
    model = nn.Sequential(nn.Linear(40, cfg.width), nn.ReLU(), nn.Linear(cfg.width, cfg.classes))
    optimizer = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9)
    left_out = 0
    for epoch in range(cfg.epochs):
        scaler = torch.amp.GradScaler("cpu")
        train_loss, skipped = train_func(loader, model, optimizer, scaler)
        left_out += skipped
        val_loss, val_acc = validate_func(model, valid)
        print(f"epoch {epoch}: train {train_loss:.4f}, valid {val_loss:.4f}, {val_acc:.3f}, scale {scaler.get_scale():g}")
    print(f"EVIDENCE {left_out} of {cfg.epochs * len(loader)} steps were left out; train {train_loss:.4f}, valid {val_acc:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
