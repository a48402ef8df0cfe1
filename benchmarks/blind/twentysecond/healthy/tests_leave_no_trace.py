"""Averaged weights are swapped in for tests and out again; tests draw from a random state of their own. With accumulation."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from accelerate import Accelerator
from torch.utils.data import DataLoader, TensorDataset


class Average:
    def __init__(self, model, decay=0.95):
        self.decay = decay
        self.mean = {name: value.clone() for name, value in model.state_dict().items()}

    @torch.no_grad()
    def update(self, model):
        for name, value in model.state_dict().items():
            self.mean[name].lerp_(value, 1 - self.decay)

    def swapped(self, model):
        return Swap(model, self.mean)


class Swap:
    def __init__(self, model, mean):
        self.model, self.mean = model, mean

    def __enter__(self):
        self.live = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.model.load_state_dict(self.mean)
        self.model.eval()

    def __exit__(self, *_):
        self.model.load_state_dict(self.live)
        self.model.train()


def rows_of(count):
    x = torch.randn(count, 10)
    return x, torch.sin(x[:, :1]) + 0.5 * x[:, 1:2] + 0.2 * torch.randn(count, 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    model = nn.Sequential(nn.Linear(10, 48), nn.Tanh(), nn.Dropout(0.1), nn.Linear(48, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    loader = DataLoader(TensorDataset(*rows_of(16 * args.steps)), batch_size=16, shuffle=True)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    average, scores = Average(model), []
    for step, (x, y) in enumerate(loader):
        with accelerator.accumulate(model):
            loss = F.mse_loss(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            average.update(model)
        if step % 20 == 19:
            with torch.random.fork_rng(devices=[]), average.swapped(model), torch.no_grad():
                torch.manual_seed(99)
                x, y = rows_of(300)
                scores.append(F.mse_loss(model(x), y).item())
            print(f"step {step + 1} loss {loss.item():.4f} averaged {scores[-1]:.4f}")
    print(f"RESULT loss={loss.item():.4f} averaged={scores[-1]:.4f}")


if __name__ == "__main__":
    main()
