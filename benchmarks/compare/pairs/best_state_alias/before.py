"""Fill gaps in time series; on a plateau, go back to the best weights and halve the rate."""
import argparse
from copy import deepcopy

import torch
import torch.nn as nn


def make_series(n, length, generator):
    t = torch.linspace(0, 6.28, length)
    phase = 6.28 * torch.rand(n, 1, generator=generator)
    speed = 1 + 2 * torch.rand(n, 1, generator=generator)
    x = torch.sin(speed * t + phase)
    return x + 0.2 * torch.randn(n, length, generator=generator)


def hide(x, rate, generator):
    mask = (torch.rand(x.shape, generator=generator) > rate).float()
    return x * mask, mask


class Imputer(nn.Module):
    def __init__(self, length, dim=64):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2 * length, dim), nn.ReLU(), nn.Linear(dim, dim),
                                 nn.ReLU(), nn.Linear(dim, length))

    def forward(self, x, mask):
        return self.net(torch.cat([x, mask], dim=1))


def masked_mse(pred, target, hidden):
    return ((pred - target) ** 2 * hidden).sum() / hidden.sum()


class Model:
    def __init__(self, length, lr):
        self.net = Imputer(length)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=lr)
        self.best_loss = float("inf")
        self.best_state = None
        self.bad_rounds = 0

    def train_round(self, data, steps, generator):
        self.net.train()
        losses = []
        for _ in range(steps):
            x = data[torch.randint(0, len(data), (32,), generator=generator)]
            seen, mask = hide(x, 0.3, generator)
            loss = masked_mse(self.net(seen, mask), x, 1 - mask)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            losses.append(loss.item())
        return sum(losses) / len(losses)

    def validate(self, x, seen, mask):
        self.net.eval()
        with torch.no_grad():
            return masked_mse(self.net(seen, mask), x, 1 - mask).item()

    def track(self, val_loss, patience):
        if val_loss < self.best_loss:
            self.best_loss = val_loss
            self.best_state = deepcopy(self.net.state_dict())
            self.bad_rounds = 0
            return
        self.bad_rounds += 1
        if self.bad_rounds >= patience:
            self.net.load_state_dict(self.best_state)
            for group in self.optimizer.param_groups:
                group["lr"] *= 0.5
            self.bad_rounds = 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=800)
    parser.add_argument("--patience", type=int, default=2)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    data = make_series(300, 24, generator)
    val = make_series(200, 24, generator)
    val_seen, val_mask = hide(val, 0.3, generator)
    model = Model(24, lr=2e-2)

    for r in range(args.steps // 20):
        train_loss = model.train_round(data, 20, generator)
        val_loss = model.validate(val, val_seen, val_mask)
        model.track(val_loss, args.patience)
        print(f"round {r} train loss {train_loss:.6f} val loss {val_loss:.6f}")

    model.net.load_state_dict(model.best_state)
    print(f"final val loss {model.validate(val, val_seen, val_mask):.6f} (best {model.best_loss:.6f})")
    print(f"weight sum {sum(p.double().sum().item() for p in model.net.parameters()):.10f}")


if __name__ == "__main__":
    main()
