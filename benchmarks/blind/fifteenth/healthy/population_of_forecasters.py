"""Population-based training: seven quantile forecasters learn side by side, weak ones become changed copies of strong ones."""
import argparse
import copy
import math
import random

import torch
from torch import nn

QUANTILES = (0.05, 0.5, 0.95)


def loads(days, gen):
    """Hourly load with a daily and a weekly rhythm and noise that is greater by day."""
    t = torch.arange(days * 24, dtype=torch.float32)
    day = torch.sin(2 * math.pi * t / 24)
    week = 0.6 * (((t // 24) % 7) >= 5).float()
    slow = torch.cumsum(0.02 * torch.randn(len(t), generator=gen), 0)
    return 3 + day - week + slow + (0.15 + 0.15 * (1 + day)) * torch.randn(len(t), generator=gen)


def windows(series, past=48, ahead=6):
    cut = series.unfold(0, past + ahead, 1)
    return cut[:, :past], cut[:, past:]


class Forecaster(nn.Module):
    def __init__(self, past, ahead, dropout):
        super().__init__()
        self.ahead = ahead
        self.inner = nn.Sequential(nn.Linear(past, 64), nn.GELU(), nn.Dropout(dropout), nn.Linear(64, 64), nn.GELU())
        self.middle = nn.Linear(64, ahead)
        self.widths = nn.Linear(64, 2 * ahead)

    def forward(self, x):
        level, scale = x.mean(1, keepdim=True), x.std(1, keepdim=True) + 1e-3
        h = self.inner((x - level) / scale)
        middle = self.middle(h)
        down, up = nn.functional.softplus(self.widths(h)).chunk(2, dim=1)
        return torch.stack([middle - down, middle, middle + up], -1) * scale.unsqueeze(-1) + level.unsqueeze(-1)


def pinball(answer, truth):
    error = truth.unsqueeze(-1) - answer
    q = answer.new_tensor(QUANTILES)
    return torch.maximum(q * error, (q - 1) * error).mean()


class Worker:
    def __init__(self, name, base_lr, draw):
        self.name, self.draw = name, draw
        self.knobs = {"lr": base_lr * 10 ** draw.uniform(-1, 0.5), "decay": 10 ** draw.uniform(-5, -2), "dropout": draw.choice([0.0, 0.1, 0.3])}
        self.model = Forecaster(48, 6, self.knobs["dropout"])
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=self.knobs["lr"], weight_decay=self.knobs["decay"])
        self.score, self.ancestor = float("inf"), name

    def apply_knobs(self):
        for group in self.optimizer.param_groups:
            group["lr"], group["weight_decay"] = self.knobs["lr"], self.knobs["decay"]
        for module in self.model.modules():
            if isinstance(module, nn.Dropout):
                module.p = self.knobs["dropout"]

    def train(self, x, y, steps, size):
        self.model.train()
        for _ in range(steps):
            rows = torch.randint(0, len(x), (size,))
            loss = pinball(self.model(x[rows]), y[rows])
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()

    @torch.no_grad()
    def evaluate(self, x, y):
        self.model.eval()
        self.score = pinball(self.model(x), y).item()

    def become(self, other):
        self.model.load_state_dict(other.model.state_dict())
        self.optimizer.load_state_dict(copy.deepcopy(other.optimizer.state_dict()))
        self.knobs = dict(other.knobs)
        self.knobs["lr"] *= self.draw.choice([0.5, 0.8, 1.25, 2.0])
        self.knobs["decay"] *= self.draw.choice([0.3, 3.0])
        if self.draw.random() < 0.3:
            self.knobs["dropout"] = self.draw.choice([0.0, 0.1, 0.2, 0.3])
        self.ancestor = other.ancestor
        self.apply_knobs()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3, help="middle of the rates at the start")
    ap.add_argument("--steps", type=int, default=240, help="steps of each worker")
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    draw = random.Random(args.seed)
    series = loads(150, torch.Generator().manual_seed(args.seed))
    (x, y), (vx, vy), (tx, ty) = (windows(series[a * 24 : b * 24]) for a, b in ((0, 100), (100, 120), (120, 150)))

    crew = [Worker(i, args.lr, draw) for i in range(7)]
    done, interval = 0, 30
    while done < args.steps:
        for worker in crew:
            # the slow ones manage fewer steps in the same time
            worker.train(x, y, max(1, min(interval, args.steps - done) - 3 * (worker.name % 3)), 48)
            worker.evaluate(vx, vy)
        done += interval
        crew.sort(key=lambda w: w.score)
        if done < args.steps:
            for weak in crew[-2:]:
                strong = draw.choice(crew[:2])
                if weak.score > strong.score * 1.01:
                    weak.become(strong)
        print(f"{done:4d} best {crew[0].score:.4f} worst {crew[-1].score:.4f} lr {crew[0].knobs['lr']:.1e} ancestors {sorted({w.ancestor for w in crew})}")

    with torch.no_grad():
        together = torch.stack([w.model.eval()(tx) for w in crew[:3]]).mean(0)
        loss = pinball(together, ty).item()
        inside = ((ty >= together[..., 0]) & (ty <= together[..., 2])).float().mean().item()
    print(f"EVIDENCE test pinball loss of three {loss:.4f}, share between the outer quantiles {inside:.3f}")


if __name__ == "__main__":
    main()
