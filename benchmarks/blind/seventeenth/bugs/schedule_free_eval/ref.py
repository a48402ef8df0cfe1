"""Character LM trained with a schedule-free AdamW written for this project."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn import datasets

CONTEXT = 24


class AdamWScheduleFree(torch.optim.Optimizer):
    """Parameters hold y while training and x (the average) while evaluating."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0, warmup_steps=0):
        defaults = dict(lr=lr, betas=betas, eps=eps, weight_decay=weight_decay,
                        warmup_steps=warmup_steps, k=0, weight_sum=0.0, train_mode=True)
        super().__init__(params, defaults)

    @torch.no_grad()
    def eval(self):
        for group in self.param_groups:
            if group["train_mode"]:
                for p in group["params"]:
                    if "z" in self.state[p]:
                        p.lerp_(self.state[p]["z"], 1 - 1 / group["betas"][0])
                group["train_mode"] = False

    @torch.no_grad()
    def train(self):
        for group in self.param_groups:
            if not group["train_mode"]:
                for p in group["params"]:
                    if "z" in self.state[p]:
                        p.lerp_(self.state[p]["z"], 1 - group["betas"][0])
                group["train_mode"] = True

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            beta1, beta2 = group["betas"]
            k = group["k"]
            sched = min(1.0, (k + 1) / max(1, group["warmup_steps"]))
            lr = group["lr"] * sched * math.sqrt(1 - beta2 ** (k + 1))
            weight = lr ** 2
            group["weight_sum"] += weight
            ck = weight / group["weight_sum"]
            for p in group["params"]:
                if p.grad is None:
                    continue
                state = self.state[p]
                if "z" not in state:
                    state["z"] = p.clone()
                    state["v"] = torch.zeros_like(p)
                state["v"].mul_(beta2).addcmul_(p.grad, p.grad, value=1 - beta2)
                update = p.grad / state["v"].sqrt().add_(group["eps"])
                update.add_(p, alpha=group["weight_decay"])
                p.lerp_(state["z"], ck)
                p.add_(update, alpha=lr * (beta1 * (1 - ck) - 1))
                state["z"].sub_(update, alpha=lr)
            group["k"] = k + 1


class Lm(nn.Module):
    def __init__(self, vocab, dim=80):
        super().__init__()
        self.emb = nn.Embedding(vocab, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        return self.head(self.norm(self.rnn(self.emb(ids))[0]))


def load_text():
    text = datasets.load_iris().DESCR + datasets.load_digits().DESCR + datasets.load_wine().DESCR
    vocab = {c: i for i, c in enumerate(sorted(set(text)))}
    return torch.tensor([vocab[c] for c in text]), len(vocab)


def loss_on(model, data, starts):
    block = torch.stack([data[s:s + CONTEXT + 1] for s in starts])
    return F.cross_entropy(model(block[:, :-1]).flatten(0, 1), block[:, 1:].flatten())


@torch.no_grad()
def evaluate(model, optimizer, data):
    model.eval()
    optimizer.eval()
    starts = range(0, len(data) - CONTEXT - 1, CONTEXT)
    return loss_on(model, data, starts).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-2)
    ap.add_argument("--steps", type=int, default=100)
    ap.add_argument("--batch", type=int, default=4)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    data, vocab = load_text()
    chunks = data.split(500)
    train = torch.cat([c for i, c in enumerate(chunks) if i % 5 != 4])
    valid = torch.cat([c for i, c in enumerate(chunks) if i % 5 == 4])

    model = Lm(vocab)
    optimizer = AdamWScheduleFree(model.parameters(), lr=args.lr, betas=(0.6, 0.99), warmup_steps=10)
    best = float("inf")
    for step in range(args.steps):
        model.train()
        optimizer.train()
        loss = loss_on(model, train, torch.randint(0, len(train) - CONTEXT - 1, (args.batch,)).tolist())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if (step + 1) % 20 == 0:
            val = evaluate(model, optimizer, valid)
            best = min(best, val)
            print(f"step {step + 1} loss {loss.item():.4f} valid {val:.4f}")

    print(f"EVIDENCE final_valid={evaluate(model, optimizer, valid):.4f} best_valid={best:.4f}")


if __name__ == "__main__":
    main()
