"""Forecasting with a temporal convolutional net: weight norm, three validation sets, ReduceLROnPlateau, early stopping."""

import math

import torch
from torch import nn
from torch.nn.utils.parametrizations import weight_norm
from torch.utils.data import ConcatDataset, DataLoader, Dataset

from options import options


def series(n, phase, noise, generator):
    t = torch.arange(n, dtype=torch.float32)
    day, week = torch.sin(2 * math.pi * t / 24 + phase), torch.sin(2 * math.pi * t / 168)
    y = day + 0.5 * week + noise * torch.randn(n, generator=generator)
    return (y - y.mean()) / y.std()


class Windows(Dataset):
    def __init__(self, y, past=48, future=6):
        self.y, self.past, self.future = y, past, future

    def __len__(self):
        return (len(self.y) - self.past - self.future) // 2

    def __getitem__(self, i):
        y = self.y[2 * i:2 * i + self.past + self.future]
        return y[:self.past].unsqueeze(0), y[self.past:]


class CausalConv(nn.Module):
    def __init__(self, n_in, n_out, dilation):
        super().__init__()
        self.padding = 2 * dilation
        self.conv = weight_norm(nn.Conv1d(n_in, n_out, 3, padding=self.padding, dilation=dilation))

    def forward(self, x):
        return self.conv(x)[..., :-self.padding]


class Block(nn.Module):
    def __init__(self, n_in, n_out, dilation):
        super().__init__()
        self.body = nn.Sequential(CausalConv(n_in, n_out, dilation), nn.ReLU(), nn.Dropout(0.1),
                                  CausalConv(n_out, n_out, dilation), nn.ReLU(), nn.Dropout(0.1))
        self.skip = nn.Conv1d(n_in, n_out, 1) if n_in != n_out else nn.Identity()

    def forward(self, x):
        return torch.relu(self.body(x) + self.skip(x))


class TCN(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.blocks = nn.Sequential(Block(1, width, 1), Block(width, width, 2), Block(width, width, 4))
        self.head = nn.Linear(width, 6)

    def forward(self, x):
        return self.head(self.blocks(x)[:, :, -1])


def evaluate(model, loaders):
    """Root mean square errors; the model is in training mode again afterwards."""
    model.eval()
    errors = {}
    with torch.inference_mode():
        for name, loader in loaders.items():
            squares = [(model(x) - y).pow(2).flatten() for x, y in loader]
            errors[name] = torch.cat(squares).mean().sqrt().item()
    model.train()
    return errors


def main():
    args = options(lr=2e-3, width=16, steps=96)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    generator = torch.Generator().manual_seed(args.seed)
    train = ConcatDataset([Windows(series(600, phase, 0.1, generator)) for phase in (0.0, 0.7, 1.9)])
    loader = DataLoader(train, batch_size=32, shuffle=True)
    kinds = {"same": (0.0, 0.1), "shifted": (2.5, 0.1), "noisy": (0.7, 0.4)}
    valid = {name: DataLoader(Windows(series(260, *kind, generator)), batch_size=128) for name, kind in kinds.items()}
    model, criterion = TCN(args.width), nn.SmoothL1Loss(beta=0.5)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    best, since, weights = float("inf"), 0, None
    for epoch in range(max(2, args.steps // len(loader))):
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
        errors = evaluate(model, valid)
        scheduler.step(errors["same"])
        print(f"epoch {epoch}: " + ", ".join(f"{name} {error:.3f}" for name, error in errors.items()))
        if errors["same"] < best:
            best, since, weights = errors["same"], 0, {k: v.clone() for k, v in model.state_dict().items()}
        else:
            since += 1
        if since == 3:
            break
    model.load_state_dict(weights)
    print(f"best: {evaluate(model, valid)}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
