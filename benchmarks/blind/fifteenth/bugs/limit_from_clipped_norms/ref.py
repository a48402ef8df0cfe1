"""A GRU learns what lies on top of a stack; deeper stacks come in stages, SGD with an adaptive clip."""
import argparse
import math
from dataclasses import dataclass

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_


@dataclass
class Config:
    seed: int = 0
    lr: float = 0.2
    steps: int = 900
    batch: int = 32
    length: int = 24
    symbols: int = 6
    hidden: int = 64
    depths: tuple = (2, 3, 5)


class RunningClip:
    """Clips to the running mean of gradient norms, so that no limit has to be tuned."""

    def __init__(self, params, decay=0.97):
        self.params = list(params)
        self.decay = decay
        self.mean = None

    def __call__(self):
        limit = math.inf if self.mean is None else self.mean
        norm = clip_grad_norm_(self.params, limit).item()
        self.mean = norm if self.mean is None else self.decay * self.mean + (1 - self.decay) * norm
        return norm


def sample(cfg, gen, n, depth):
    """Symbols 0-2 push, 3 pops, 4 and 5 do nothing: the label is what lies on top (3: empty)."""
    x = torch.randint(0, cfg.symbols, (n, cfg.length), generator=gen)
    y = torch.empty_like(x)
    for row in range(n):
        stack = []
        for t, s in enumerate(x[row].tolist()):
            if s < 3 and len(stack) == depth:
                x[row, t] = s = 4
            if s < 3:
                stack.append(s)
            elif s == 3 and stack:
                stack.pop()
            y[row, t] = stack[-1] if stack else 3
    return x, y


class Tracker(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.embed = nn.Embedding(cfg.symbols, 16)
        self.rnn = nn.GRU(16, cfg.hidden, batch_first=True)
        self.out = nn.Linear(cfg.hidden, 4)

    def forward(self, x):
        h, _ = self.rnn(self.embed(x))
        return self.out(h)


def main(cfg):
    torch.manual_seed(cfg.seed)
    gen = torch.Generator().manual_seed(cfg.seed + 5)
    stages = [sample(cfg, gen, 3000, depth) for depth in cfg.depths]
    held = sample(cfg, gen, 800, cfg.depths[-1])
    model = Tracker(cfg)
    opt = torch.optim.SGD(model.parameters(), lr=cfg.lr, momentum=0.9)
    clip = RunningClip(model.parameters())
    criterion = nn.CrossEntropyLoss()
    for step in range(cfg.steps):
        pool = stages[step * len(stages) // cfg.steps]
        idx = torch.randint(0, len(pool[0]), (cfg.batch,), generator=gen)
        logits = model(pool[0][idx])
        loss = criterion(logits.flatten(0, 1), pool[1][idx].flatten())
        opt.zero_grad()
        loss.backward()
        norm = clip()
        opt.step()
        if (step + 1) % 100 == 0:
            print(f"step {step + 1:4d}  loss {loss.item():.4f}  norm {norm:.4f}")
    model.eval()
    with torch.no_grad():
        logits = model(held[0])
        test = criterion(logits.flatten(0, 1), held[1].flatten()).item()
        acc = (logits.argmax(-1) == held[1]).float().mean().item()
    print(f"EVIDENCE held-out loss {test:.4f} accuracy {acc:.4f} limit at the end {clip.mean:.4f}")


if __name__ == "__main__":
    torch.set_num_threads(1)
    parser = argparse.ArgumentParser()
    for name in ("seed", "steps"):
        parser.add_argument(f"--{name}", type=int, default=getattr(Config, name))
    parser.add_argument("--lr", type=float, default=Config.lr)
    main(Config(**vars(parser.parse_args())))
