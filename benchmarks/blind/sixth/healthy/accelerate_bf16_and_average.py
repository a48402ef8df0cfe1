"""accelerate in bfloat16 with accumulation over three batches; weights are averaged from the middle on."""

import argparse

import torch
from accelerate import Accelerator
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=90)
args = parser.parse_args()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(16, 48), nn.GELU(), nn.Dropout(0.1), nn.Linear(48, 48), nn.GELU())
        self.head = nn.Linear(48, 5)

    def forward(self, x):
        return self.head(self.layers(x)).float()


def evaluate(model, loader):
    model.eval()
    right = count = 0
    with torch.no_grad():
        for x, y in loader:
            right += (model(x).argmax(1) == y).sum().item()
            count += len(y)
    model.train()
    return right / count


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True, mixed_precision="bf16", gradient_accumulation_steps=3)
    centres = 1.2 * torch.randn(5, 16)
    y, valid_y = torch.randint(5, (480,)), torch.randint(5, (200,))
    train = DataLoader(TensorDataset(centres[y] + torch.randn(480, 16), y), batch_size=16, shuffle=True)
    valid = DataLoader(TensorDataset(centres[valid_y] + torch.randn(200, 16), valid_y), batch_size=50)
    model = Net()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.05)
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    model, optimizer, train = accelerator.prepare(model, optimizer, train)
    batch = 0
    for epoch in range(max(2, args.steps // len(train))):
        for x, y in train:
            with accelerator.accumulate(model):
                loss = nn.functional.cross_entropy(model(x), y, label_smoothing=0.05)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
            batch += 1
            if accelerator.sync_gradients and batch > args.steps // 2:
                average.update_parameters(accelerator.unwrap_model(model))
        shown = average.module if average.n_averaged > 0 else model
        accelerator.print(f"epoch {epoch}: loss {loss.item():.4f}, right {evaluate(shown, valid):.3f}, "
                          f"{int(average.n_averaged)} averaged")


main()

# SPDX-License-Identifier: Apache-2.0
