"""Moving average of the weights: swapped in for the evaluation inside a context manager, swapped back after it."""
import argparse
import contextlib
import copy

import torch
import torch.nn as nn


def tides(n, gen):
    t = torch.rand(n, 1, generator=gen) * 50
    x = torch.cat([torch.sin(t * 0.5), torch.cos(t * 0.5), torch.sin(t * 0.26), torch.cos(t * 0.26)], 1)
    level = 1.2 * x[:, :1] + 0.4 * x[:, 2:3] * x[:, 1:2]
    return x, level + 0.15 * torch.randn(n, 1, generator=gen)


class Averaged:
    def __init__(self, model, decay):
        self.decay, self.updates = decay, 0
        self.state = copy.deepcopy(model.state_dict())

    @torch.no_grad()
    def update(self, model):
        self.updates += 1
        d = min(self.decay, (1 + self.updates) / (10 + self.updates))
        for k, v in model.state_dict().items():
            if v.dtype.is_floating_point:
                self.state[k].mul_(d).add_(v, alpha=1 - d)
            else:
                self.state[k].copy_(v)

    @contextlib.contextmanager
    def applied_to(self, model):
        raw = copy.deepcopy(model.state_dict())
        model.load_state_dict(self.state)
        try:
            yield model
        finally:
            model.load_state_dict(raw)


@torch.no_grad()
def rmse(model, x, y):
    model.eval()
    out = nn.functional.mse_loss(model(x), y).sqrt().item()
    model.train()
    return out


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=0.01)
    p.add_argument("--steps", type=int, default=200)
    p.add_argument("--decay", type=float, default=0.99)
    args = p.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(args.seed)
    model = nn.Sequential(nn.Linear(4, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 1))
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    average = Averaged(model, args.decay)
    x_val, y_val = tides(400, torch.Generator().manual_seed(17))
    best, best_state = float("inf"), None
    for step in range(1, args.steps + 1):
        x, y = tides(32, gen)
        loss = nn.functional.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update(model)
        if step % 25 == 0:
            with average.applied_to(model):
                score = rmse(model, x_val, y_val)
                if score < best:
                    best, best_state = score, copy.deepcopy(model.state_dict())
            print(f"step {step} loss {loss.item():.4f} raw {rmse(model, x_val, y_val):.4f} averaged {score:.4f}")
    model.load_state_dict(best_state)
    print(f"RESULT best_averaged_rmse={best:.4f} reloaded={rmse(model, x_val, y_val):.4f}")


if __name__ == "__main__":
    main()
