"""Transfer learning with gradual unfreezing (ULMFiT style): head first, then deeper stages join the optimizer with
smaller learning rates; frozen stages stay in eval and run without autograd; features of the frozen trunk are cached
in the first phase; the best weights by validation are put back before the next phase."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def stage(cin, cout, pool):
    layers = [nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU()]
    return nn.Sequential(*layers, nn.MaxPool2d(2)) if pool else nn.Sequential(*layers)


class Net(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.stages = nn.ModuleList([stage(1, 16, False), stage(16, 32, True), stage(32, 32, True)])
        self.head = nn.Linear(32 * 4, classes)
        self.frozen = 0  # number of leading stages that are frozen

    def freeze_to(self, n):
        self.frozen = n
        for i, s in enumerate(self.stages):
            s.requires_grad_(i >= n)
        return self.train(self.training)

    def train(self, mode=True):
        super().train(mode)
        for s in self.stages[:self.frozen]:
            s.eval()
        return self

    def trunk(self, x):
        with torch.no_grad():
            for s in self.stages[:self.frozen]:
                x = s(x)
        for s in self.stages[self.frozen:]:
            x = s(x)
        return x.flatten(1)

    def forward(self, x):
        return self.head(self.trunk(x))


def load(seed):
    d = load_digits()
    x = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1) / 8.0 - 1.0
    y = torch.tensor(d.target)
    src = y < 6
    xs, ys = x[src], y[src]
    xt, yt = x[~src].transpose(2, 3).contiguous(), y[~src] - 6  # target task: other digits, transposed
    tr, va = train_test_split(torch.arange(len(xt)), train_size=160, random_state=seed, stratify=yt)
    return (xs, ys), (xt[tr], yt[tr]), (xt[va], yt[va])


@torch.no_grad()
def accuracy(model, x, y):
    mode = model.training
    model.eval()
    acc = (model(x).argmax(1) == y).float().mean().item()
    model.train(mode)
    return acc


def pretrain(model, x, y, steps, lr):
    opt = torch.optim.Adam(model.parameters(), lr=lr)
    for _ in range(steps):
        i = torch.randint(len(x), (48,))
        loss = F.cross_entropy(model(x[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()


def train_head_on_cache(model, opt, x, y, steps):
    """All stages are frozen: compute the features once, then only the head is called."""
    model.eval()
    with torch.no_grad():
        cache = model.trunk(x)
    model.train()
    for _ in range(steps):
        i = torch.randint(len(x), (32,))
        loss = F.cross_entropy(model.head(cache[i]), y[i])
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def train_full(model, opt, x, y, steps, val):
    best, best_state = accuracy(model, *val), copy.deepcopy(model.state_dict())
    for k in range(steps):
        i = torch.randint(len(x), (32,))
        noisy = x[i] + 0.1 * torch.randn_like(x[i])
        loss = F.cross_entropy(model(noisy), y[i], label_smoothing=0.1)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if (k + 1) % 10 == 0:
            acc = accuracy(model, *val)
            if acc > best:
                best, best_state = acc, copy.deepcopy(model.state_dict())
    model.load_state_dict(best_state)
    return loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=300)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)

    source, target, val = load(args.seed)
    model = Net(6)
    phase = args.steps // 5
    pretrain(model, *source, 2 * phase, args.lr)

    model.head = nn.Linear(model.head.in_features, 4)
    depth = len(model.stages)
    model.freeze_to(depth)
    opt = torch.optim.AdamW(model.head.parameters(), lr=args.lr, weight_decay=1e-2)
    loss = train_head_on_cache(model, opt, *target, phase)
    print(f"head only: loss {loss:.4f} val acc {accuracy(model, *val):.4f}")
    head_acc = accuracy(model, *val)

    for opened in (1, 2):  # the first stage is never opened: generic edges
        first = depth - opened
        model.freeze_to(first)
        for g in opt.param_groups:
            g["lr"] *= 0.5
        opt.add_param_group({"params": list(model.stages[first].parameters()), "lr": args.lr / 2.6 ** opened})
        loss = train_full(model, opt, *target, phase, val)
        lrs = ", ".join(f"{g['lr']:.1e}" for g in opt.param_groups)
        print(f"{opened} stages open: loss {loss:.4f} val acc {accuracy(model, *val):.4f} lrs [{lrs}]")
    print(f"EVIDENCE head_only_acc={head_acc:.4f} final_acc={accuracy(model, *val):.4f}")


if __name__ == "__main__":
    main()
