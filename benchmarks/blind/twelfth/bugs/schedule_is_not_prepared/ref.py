"""Accelerate with windows of four micro-batches and a rate that falls to nought."""
import argparse
import warnings

warnings.filterwarnings("ignore")
import torch
import torch.nn.functional as F
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

WINDOW = 4


def make_data(count, generator):
    x = torch.randn(count, 10, generator=generator)
    return x, torch.sin(2 * x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * torch.randn(count, generator=generator)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    torch.set_num_threads(1)
    set_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    x, y = make_data(1536, generator)
    loader = DataLoader(TensorDataset(x[:1280], y[:1280]), batch_size=16, shuffle=True)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=WINDOW)
    model = nn.Sequential(nn.Linear(10, 96), nn.ReLU(), nn.Linear(96, 96), nn.ReLU(), nn.Linear(96, 1))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: max(0.0, 1 - step / args.steps))
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    done, rates = 0, []
    while done < args.steps:
        for inputs, targets in loader:
            with accelerator.accumulate(model):
                loss = F.mse_loss(model(inputs).squeeze(1), targets)
                accelerator.backward(loss)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                rates.append(optimizer.param_groups[0]["lr"])
                done += 1
                if done % 40 == 0:
                    print(f"step {done}: loss {loss.item():.4f}, rate {rates[-1]:.5f}")
    with torch.no_grad():
        error = F.mse_loss(model(x[1280:]).squeeze(1), y[1280:])
    print(f"EVIDENCE rate half way {rates[len(rates) // 2] / args.lr:.4f} of the first, error {error.item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
