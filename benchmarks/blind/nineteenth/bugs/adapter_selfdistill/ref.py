"""Continual learning with adapters: the base network (adapters off) is the distillation teacher."""
import argparse
from contextlib import contextmanager

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def load_domains(seed):
    """Domain A: plain digits. Domain B: rotated, inverted contrast, few labels."""
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32) / 16.0
    y = torch.tensor(digits.target)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(seed))
    x, y = x[order], y[order]
    shifted = 1.0 - torch.rot90(x, 1, dims=(1, 2))
    flat = lambda t: t.flatten(1)
    base = (flat(x[:900]), y[:900])
    new = (flat(shifted[900:960]), y[900:960])
    test_a = (flat(x[1200:]), y[1200:])
    test_b = (flat(shifted[1200:]), y[1200:])
    return base, new, test_a, test_b


class AdaptedLinear(nn.Module):
    def __init__(self, d_in, d_out, rank=16):
        super().__init__()
        self.base = nn.Linear(d_in, d_out)
        self.down = nn.Linear(d_in, rank, bias=False)
        self.up = nn.Linear(rank, d_out, bias=False)
        nn.init.zeros_(self.up.weight)
        self.enabled = True

    def forward(self, x):
        out = self.base(x)
        return out + self.up(self.down(x)) if self.enabled else out


class Net(nn.Module):
    def __init__(self, width=192, dropout=0.25):
        super().__init__()
        self.fc1 = AdaptedLinear(64, width)
        self.fc2 = AdaptedLinear(width, width)
        self.head = AdaptedLinear(width, 10)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        h = self.dropout(F.relu(self.fc1(x)))
        h = self.dropout(F.relu(self.fc2(h)))
        return self.head(h)

    @contextmanager
    def adapters_off(self):
        layers = [m for m in self.modules() if isinstance(m, AdaptedLinear)]
        for layer in layers:
            layer.enabled = False
        try:
            yield self
        finally:
            for layer in layers:
                layer.enabled = True


def base_parameters(model):
    return [p for n, p in model.named_parameters() if ".base." in n]


def adapter_parameters(model):
    return [p for n, p in model.named_parameters() if ".base." not in n]


def pretrain(model, x, y, steps=150):
    optimizer = torch.optim.Adam(base_parameters(model), lr=2e-3)
    model.train()
    with model.adapters_off():
        for _ in range(steps):
            pick = torch.randint(0, len(x), (64,))
            loss = F.cross_entropy(model(x[pick]), y[pick])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    for p in base_parameters(model):
        p.requires_grad_(False)


@torch.no_grad()
def teacher_logits(model, x):
    model.eval()
    with model.adapters_off():
        out = model(x)
    model.train()
    return out


def distill_loss(student, teacher, temperature):
    log_p = F.log_softmax(student / temperature, dim=1)
    q = F.softmax(teacher / temperature, dim=1)
    return F.kl_div(log_p, q, reduction="batchmean") * temperature ** 2


@torch.no_grad()
def evaluate(model, x, y):
    model.eval()
    logits = model(x)
    return (logits.argmax(1) == y).float().mean().item(), F.cross_entropy(logits, y).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-2)
    parser.add_argument("--steps", type=int, default=120)
    parser.add_argument("--temperature", type=float, default=2.0)
    parser.add_argument("--keep", type=float, default=0.5, help="weight of the distillation term")
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    (ax, ay), (bx, by), test_a, test_b = load_domains(args.seed)
    model = Net()
    pretrain(model, ax, ay)
    print("base on A: acc %.4f" % evaluate(model, *test_a)[0])

    optimizer = torch.optim.AdamW(adapter_parameters(model), lr=args.lr, weight_decay=0.01)
    for step in range(args.steps):
        model.train()
        old = ax[torch.randint(0, len(ax), (48,))]
        pick = torch.randint(0, len(bx), (32,))
        target = teacher_logits(model, old)
        logits = model(torch.cat([old, bx[pick]]))
        kd = distill_loss(logits[:48], target, args.temperature)
        ce = F.cross_entropy(logits[48:], by[pick])
        loss = ce + args.keep * kd
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 20 == 0:
            print(f"step {step:3d} ce {ce.item():.4f} kd {kd.item():.4f}")

    acc_a, _ = evaluate(model, *test_a)
    acc_b, nll_b = evaluate(model, *test_b)
    print(f"EVIDENCE old_domain_acc={acc_a:.4f} new_domain_acc={acc_b:.4f} new_domain_nll={nll_b:.4f}")


if __name__ == "__main__":
    main()
