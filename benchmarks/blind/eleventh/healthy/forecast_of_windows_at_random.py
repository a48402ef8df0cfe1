"""Forecasts for many series: windows start at random, each is brought to mean nought by itself, a stop when the rate has got small."""
import argparse
import copy

import numpy as np
import torch
from torch import nn

PAST, FUTURE = 36, 12


def make_series(number, length, rng):
    t = np.arange(length)
    rows = []
    for _ in range(number):
        level, trend, period = rng.normal(0, 20), rng.normal(0, 0.05), rng.choice([6, 12, 24])
        rows.append(level + trend * t + rng.uniform(1, 4) * np.sin(2 * np.pi * t / period + rng.uniform(0, 6)) + 0.4 * rng.normal(size=length))
    return torch.tensor(np.array(rows), dtype=torch.float32)


class PatchTransformer(nn.Module):
    def __init__(self, patch=6, width=32):
        super().__init__()
        self.patch = patch
        self.embed = nn.Linear(patch, width)
        self.place = nn.Parameter(0.02 * torch.randn(PAST // patch, width))
        layer = nn.TransformerEncoderLayer(width, 4, 64, dropout=0.1, batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(width * (PAST // patch), FUTURE)

    def forward(self, x):
        mean, deviation = x.mean(1, keepdim=True), x.std(1, keepdim=True) + 1e-3
        patches = ((x - mean) / deviation).unflatten(1, (-1, self.patch))
        return self.head(self.encoder(self.embed(patches) + self.place).flatten(1)) * deviation + mean


def windows(series, size, low, high):
    rows, starts = torch.randint(len(series), (size,)), torch.randint(low, high - PAST - FUTURE + 1, (size,))
    block = torch.stack([series[r, s:s + PAST + FUTURE] for r, s in zip(rows.tolist(), starts.tolist())])
    return block[:, :PAST], block[:, PAST:]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    series = make_series(40, 400, np.random.default_rng(args.seed))
    ends = (280, 340, 400)
    valid = (series[:, ends[1] - PAST - FUTURE:ends[1] - FUTURE], series[:, ends[1] - FUTURE:ends[1]])
    test = (series[:, ends[2] - PAST - FUTURE:ends[2] - FUTURE], series[:, ends[2] - FUTURE:])
    model = PatchTransformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.4, patience=1, threshold=5e-3)
    best, state = float("inf"), None
    for step in range(1, args.steps + 1):
        model.train()
        past, future = windows(series, 32, 0, ends[0])
        if torch.rand(1) < 0.3:
            past = past + 0.1 * past.std(1, keepdim=True) * torch.randn_like(past)
        loss = nn.functional.huber_loss(model(past), future)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 20 == 0:
            model.eval()
            with torch.no_grad():
                error = (model(valid[0]) - valid[1]).abs().mean().item()
            plateau.step(error)
            rate = optimizer.param_groups[0]["lr"]
            print(f"step {step}: loss {loss.item():.4f}, valid {error:.4f}, rate {rate:.5f}")
            if error < best:
                best, state = error, copy.deepcopy(model.state_dict())
            if rate < args.lr / 20:
                break
    model.load_state_dict(state)
    model.eval()
    with torch.no_grad():
        naive = (test[0][:, -1:] - test[1]).abs().mean().item()
        print(f"test {(model(test[0]) - test[1]).abs().mean().item():.4f}, last value repeated {naive:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
