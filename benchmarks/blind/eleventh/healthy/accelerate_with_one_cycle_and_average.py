"""Accelerate: accumulation with a short last window, one cycle of the rate, an average of weights in evaluation, a tracker of one's own."""
import argparse
import random

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from sklearn.datasets import load_digits
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn, update_bn
from torch.utils.data import DataLoader, Dataset


class NoisyDigits(Dataset):
    def __init__(self, x, y, train):
        self.x, self.y, self.train = x, y, train

    def __len__(self):
        return len(self.x)

    def __getitem__(self, index):
        x = self.x[index]
        if self.train:
            if random.random() < 0.5:
                x = x.roll(random.choice([-1, 1]), random.choice([0, 1]))
            if random.random() < 0.3:
                x = x * torch.empty(1).uniform_(0.7, 1.2)
        return x[None], self.y[index]


class Tracker:
    def __init__(self):
        self.values = {}

    def log(self, step, **values):
        for name, value in values.items():
            self.values.setdefault(name, []).append((step, value.item() if torch.is_tensor(value) else value))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.01)
    parser.add_argument("--steps", type=int, default=100)
    args = parser.parse_args()
    set_seed(args.seed)
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=3, step_scheduler_with_optimizer=True)
    x, y = load_digits(return_X_y=True)
    order = torch.randperm(len(x))
    x, y = torch.tensor(x, dtype=torch.float32)[order].view(-1, 8, 8) / 16, torch.tensor(y)[order]
    train = DataLoader(NoisyDigits(x[:1250], y[:1250], True), batch_size=32, shuffle=True)
    valid = DataLoader(NoisyDigits(x[1250:], y[1250:], False), batch_size=128)
    model = nn.Sequential(nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(16, 32, 3, padding=1),
                          nn.BatchNorm2d(32), nn.ReLU(), nn.Flatten(), nn.Linear(512, 10))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.steps + 1)
    model, optimizer, train, valid, scheduler = accelerator.prepare(model, optimizer, train, valid, scheduler)
    average = AveragedModel(accelerator.unwrap_model(model), multi_avg_fn=get_ema_multi_avg_fn(0.95))
    tracker, step, epoch = Tracker(), 0, 0
    while step < args.steps:
        model.train()
        for xb, yb in train:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(xb), yb)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    norm = accelerator.clip_grad_norm_(model.parameters(), 2.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                step += 1
                average.update_parameters(accelerator.unwrap_model(model))
                tracker.log(step, loss=loss, norm=norm, rate=scheduler.get_last_lr()[0])
                if step >= args.steps:
                    break
        epoch += 1
        if epoch % 2 == 0 or step >= args.steps:
            update_bn((xb for xb, _ in train), average)
            average.eval()
            with torch.no_grad():
                pairs = [accelerator.gather_for_metrics((average(xb).argmax(1), yb)) for xb, yb in valid]
            right = sum((p == t).sum().item() for p, t in pairs) / sum(len(t) for _, t in pairs)
            accelerator.print(f"epoch {epoch}, step {step}: loss {tracker.values['loss'][-1][1]:.4f}, average right {right:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
