"""Train a classifier whose weights live in bfloat16; the optimizer works in float32 and writes back with stochastic rounding."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split


def copy_stochastic_(target, source, generator):
    """Round float32 to bfloat16 up or down at random, in proportion to the distance."""
    noise = torch.randint(0, 1 << 16, source.shape, dtype=torch.int32, generator=generator)
    bits = source.view(torch.int32) + noise
    target.copy_((bits & -65536).view(torch.float32))


class StochasticAdamW(torch.optim.Optimizer):
    def __init__(self, params, lr, betas=(0.9, 0.99), eps=1e-8, weight_decay=0.0, seed=0):
        super().__init__(params, {"lr": lr, "betas": betas, "eps": eps, "weight_decay": weight_decay})
        self.generator = torch.Generator().manual_seed(seed)

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if not state:
                    state["step"] = 0
                    state["exp_avg"] = torch.zeros_like(p, dtype=torch.float32)
                    state["exp_avg_sq"] = torch.zeros_like(p, dtype=torch.float32)
                state["step"] += 1
                grad = p.grad.float()
                state["exp_avg"].lerp_(grad, 1 - beta1)
                state["exp_avg_sq"].mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
                first = state["exp_avg"] / (1 - beta1 ** state["step"])
                second = state["exp_avg_sq"] / (1 - beta2 ** state["step"])
                value = p.float()
                value.mul_(1 - group["lr"] * group["weight_decay"])
                value.addcdiv_(first, second.sqrt().add_(group["eps"]), value=-group["lr"])
                copy_stochastic_(p, value, self.generator)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(64, 96), nn.GELU(), nn.Linear(96, 96), nn.GELU(), nn.Linear(96, 10))

    def forward(self, x):
        return self.layers(x)


def groups_of(model, decay):
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim == 1]
    return [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]


def load(seed):
    digits = load_digits()
    x = torch.tensor(digits.data / 8.0 - 1.0, dtype=torch.bfloat16)
    y = torch.tensor(digits.target)
    return train_test_split(x, y, test_size=0.4, random_state=seed, stratify=digits.target)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=400)
    ap.add_argument("--weight-decay", type=float, default=0.5)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    x, x_test, y, y_test = load(args.seed)
    model = Net().to(torch.bfloat16)
    optimizer = StochasticAdamW(groups_of(model, args.weight_decay), lr=args.lr, seed=args.seed)
    start = sum(p.float().norm().item() for p in model.parameters() if p.ndim > 1)
    for step in range(args.steps):
        rows = torch.randint(0, len(x), (64,))
        loss = F.cross_entropy(model(x[rows]).float(), y[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 100 == 99:
            print(f"step {step + 1} loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        logits = model(x_test).float()
    right = (logits.argmax(1) == y_test).float().mean().item()
    norm = sum(p.float().norm().item() for p in model.parameters() if p.ndim > 1)
    held_out = F.cross_entropy(logits, y_test).item()
    print(f"EVIDENCE weight_norm={norm:.3f} of {start:.3f} held_out={held_out:.4f} accuracy={right:.4f}")


if __name__ == "__main__":
    main()
