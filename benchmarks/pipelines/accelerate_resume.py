"""accelerate: prepare, accumulate, clip, and its own state saved and loaded in the middle."""

import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from sklearn.datasets import load_diabetes
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from options import options


def main():
    args = options(lr=5e-3, width=32, steps=44)
    set_seed(args.seed)
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    raw = load_diabetes()
    x = torch.tensor(raw.data * 20, dtype=torch.float32)
    y = torch.tensor((raw.target - raw.target.mean()) / raw.target.std(), dtype=torch.float32)
    train_loader = DataLoader(TensorDataset(x[:352], y[:352]), batch_size=16, shuffle=True)
    eval_loader = DataLoader(TensorDataset(x[352:], y[352:]), batch_size=45)
    model = nn.Sequential(nn.Linear(10, args.width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(args.width, 1), nn.Flatten(0))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.97**step)
    model, optimizer, train_loader, eval_loader, scheduler = accelerator.prepare(
        model, optimizer, train_loader, eval_loader, scheduler
    )
    criterion = nn.MSELoss()

    def train_epoch():
        model.train()
        for inputs, targets in train_loader:
            with accelerator.accumulate(model):
                loss = criterion(model(inputs), targets)
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
        return loss.item()

    def evaluate():
        model.eval()
        losses = []
        for inputs, targets in eval_loader:
            with torch.no_grad():
                losses.append(accelerator.gather_for_metrics(criterion(model(inputs), targets)))
        return torch.stack(losses).mean().item()

    epochs = max(2, args.steps // 11)
    with tempfile.TemporaryDirectory() as folder:
        for epoch in range(epochs):
            loss = train_epoch()
            print(f"epoch {epoch}: loss {loss:.3f}, eval {evaluate():.3f}")
            if epoch == epochs // 2:
                accelerator.save_state(folder)
        accelerator.load_state(folder)
        print(f"again from the middle: loss {train_epoch():.3f}, eval {evaluate():.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
