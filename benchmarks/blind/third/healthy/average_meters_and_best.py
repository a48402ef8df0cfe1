"""A classifier with what training scripts carry along: a config, meters, a log, checkpoints of the best and the last epoch."""

import argparse
import dataclasses
import json
import logging
import os
import tempfile
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset, random_split

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
logger = logging.getLogger("train")


@dataclasses.dataclass
class Config:
    width: int = 32
    batch_size: int = 24
    label_smoothing: float = 0.1
    print_freq: int = 3
    lr: float = args.lr
    seed: int = args.seed


class AverageMeter:
    def __init__(self):
        self.sum, self.count, self.val = 0.0, 0, 0.0

    def update(self, value, n=1):
        self.val, self.sum, self.count = value, self.sum + value * n, self.count + n

    @property
    def avg(self):
        return self.sum / max(1, self.count)


def accuracy(output, target, topk=(1, 2)):
    with torch.no_grad():
        _, predicted = output.topk(max(topk), 1)
        correct = predicted.t().eq(target[None])
        return [correct[:k].flatten().float().sum().item() * 100 / len(target) for k in topk]


def train_epoch(loader, model, criterion, optimizer, epoch, config):
    losses, top1, batch_time, end = AverageMeter(), AverageMeter(), AverageMeter(), time.time()
    model.train()
    for i, (x, y) in enumerate(loader):
        output = model(x)
        loss = criterion(output, y)
        losses.update(loss.item(), x.size(0))
        top1.update(accuracy(output, y)[0], x.size(0))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        batch_time.update(time.time() - end)
        end = time.time()
        if i % config.print_freq == 0:
            logger.info("epoch %d [%d/%d] loss %.4f (%.4f) top1 %.2f", epoch, i, len(loader), losses.val, losses.avg, top1.avg)
    return losses.avg


def validate(loader, model, criterion):
    losses, top1 = AverageMeter(), AverageMeter()
    model.eval()
    with torch.inference_mode():
        for x, y in loader:
            output = model(x)
            losses.update(criterion(output, y).item(), len(y))
            top1.update(accuracy(output, y)[0], len(y))
    return losses.avg, top1.avg


def main():
    config = Config()
    torch.manual_seed(config.seed)
    torch.set_num_threads(1)
    x = torch.randn(240, 12)
    y = (x @ torch.randn(12, 4)).argmax(1)
    train_set, val_set = random_split(TensorDataset(x, y), [192, 48])
    train_loader = DataLoader(train_set, config.batch_size, shuffle=True)
    val_loader = DataLoader(val_set, 2 * config.batch_size)
    model = nn.Sequential(nn.Linear(12, config.width), nn.BatchNorm1d(config.width), nn.ReLU(), nn.Dropout(0.2),
                          nn.Linear(config.width, 4))
    criterion = nn.CrossEntropyLoss(label_smoothing=config.label_smoothing)
    optimizer = torch.optim.SGD(model.parameters(), config.lr, momentum=0.9, nesterov=True, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
    best = 0.0
    with tempfile.TemporaryDirectory() as out:
        with open(os.path.join(out, "config.json"), "w") as f:
            json.dump(dataclasses.asdict(config), f)
        for epoch in range(args.steps // len(train_loader)):
            train_epoch(train_loader, model, criterion, optimizer, epoch, config)
            loss, top1 = validate(val_loader, model, criterion)
            scheduler.step()
            state = {"epoch": epoch + 1, "state_dict": model.state_dict(), "best": max(best, top1),
                     "optimizer": optimizer.state_dict()}
            torch.save(state, os.path.join(out, "last.pt"))
            if top1 > best:
                best = top1
                torch.save(state, os.path.join(out, "best.pt"))
        model.load_state_dict(torch.load(os.path.join(out, "best.pt"))["state_dict"])
        loss, top1 = validate(val_loader, model, criterion)
    print(f"best top1 {best:.1f}, again {top1:.1f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
