"""Muon for the matrices and AdamW for the rest; options of the optimizer are given as words, as on a command line."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def newton_schulz(g, steps):
    a, b, c = 3.4445, -4.7750, 2.0315
    x = g / (g.norm() + 1e-7)
    turned = x.shape[0] > x.shape[1]
    x = x.T if turned else x
    for _ in range(steps):
        s = x @ x.T
        x = a * x + (b * s + c * s @ s) @ x
    return x.T if turned else x


class Muon(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum=0.95, nesterov=True, ns_steps=5):
        super().__init__(params, {"lr": lr, "momentum": momentum, "nesterov": nesterov, "ns_steps": ns_steps})

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                state = self.state[p]
                if not state:
                    state["buffer"] = torch.zeros_like(p)
                buffer = state["buffer"].mul_(group["momentum"]).add_(p.grad)
                update = p.grad.add(buffer, alpha=group["momentum"]) if group["nesterov"] else buffer
                update = newton_schulz(update, group["ns_steps"])
                p.add_(update, alpha=-group["lr"] * max(1, p.shape[0] / p.shape[1]) ** 0.5)


TYPES = {"momentum": float, "ns_steps": int, "nesterov": lambda word: word.lower() in ("1", "true", "yes")}


def parse_options(text):
    """'momentum=0.9,nesterov=false' as a dict with the types that Muon expects."""
    options = {}
    for part in filter(None, text.split(",")):
        name, word = part.split("=")
        options[name] = TYPES[name](word)
    return options


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inp, self.hidden = nn.Linear(64, 64), nn.ModuleList(nn.Linear(64, 64) for _ in range(3))
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.inp(x))
        for layer in self.hidden:
            x = x + F.relu(layer(x))
        return self.head(x)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.02)
    ap.add_argument("--steps", type=int, default=120)
    ap.add_argument("--optim-args", default="momentum=0.9,nesterov=false,ns_steps=4")
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    digits = load_digits()
    x, y = torch.tensor(digits.data / 16.0, dtype=torch.float32), torch.tensor(digits.target)
    model = Net()
    muon = Muon([layer.weight for layer in model.hidden], lr=args.lr, **parse_options(args.optim_args))
    matrices = {id(p) for group in muon.param_groups for p in group["params"]}
    adam = torch.optim.AdamW([p for p in model.parameters() if id(p) not in matrices], lr=args.lr / 10)
    moved = 0.0
    for step in range(args.steps):
        rows = torch.randint(0, 1200, (48,))
        loss = F.cross_entropy(model(x[rows]), y[rows])
        for optimizer in (muon, adam):
            optimizer.zero_grad()
        loss.backward()
        before = model.hidden[0].weight.detach().clone()
        for optimizer in (muon, adam):
            optimizer.step()
        moved += (model.hidden[0].weight - before).norm().item() / args.steps
        if step % 40 == 39:
            print(f"step {step + 1} loss {loss.item():.4f}")
    model.eval()
    with torch.no_grad():
        logits = model(x[1200:])
    right = (logits.argmax(1) == y[1200:]).float().mean().item()
    print(f"EVIDENCE loss={loss.item():.5f} moved={moved:.5f} "
          f"held_out={F.cross_entropy(logits, y[1200:]).item():.4f} accuracy={right:.4f}")


if __name__ == "__main__":
    main()
