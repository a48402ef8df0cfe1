"""The rate of learning is learned itself: it rises while successive gradients agree and falls when they do not."""
import argparse

import torch
from torch import nn


class HypergradientSGD(torch.optim.Optimizer):
    def __init__(self, params, lr, momentum=0.9, hypergrad_lr=0.02):
        super().__init__(params, dict(lr=lr, momentum=momentum, hypergrad_lr=hypergrad_lr))

    @torch.no_grad()
    def step(self, closure=None):
        for group in self.param_groups:
            with_grad = [p for p in group["params"] if p.grad is not None]
            agreement = mine = theirs = 0.0
            for p in with_grad:
                last = self.state[p].get("direction")
                if last is not None:
                    agreement += (p.grad * last).sum().item()
                    mine += p.grad.pow(2).sum().item()
                    theirs += last.pow(2).sum().item()
            if mine > 0 and theirs > 0:
                cosine = agreement / (mine * theirs) ** 0.5
                group["lr"] = min(max(group["lr"] * (1 + group["hypergrad_lr"] * cosine), 1e-5), 0.5)
            for p in with_grad:
                state = self.state[p]
                if "direction" not in state:
                    state["direction"] = p.grad.clone()
                else:
                    state["direction"].mul_(group["momentum"]).add_(p.grad)
                p.add_(state["direction"], alpha=-group["lr"])


class TextCNN(nn.Module):
    def __init__(self, words=30, dim=24):
        super().__init__()
        self.embed = nn.Embedding(words, dim, padding_idx=0)
        self.convs = nn.ModuleList([nn.Conv1d(dim, 24, k) for k in (2, 3)])
        self.fc = nn.Linear(48, 2)

    def forward(self, ids):
        x = self.embed(ids).transpose(1, 2)
        return self.fc(torch.cat([conv(x).relu().amax(2) for conv in self.convs], 1))


def batch(count):
    """Does word 5 come right before word 6 anywhere? Rows have a length of their own in each batch."""
    ids = torch.randint(1, 30, (count, int(torch.randint(6, 16, ()))))
    rows = torch.rand(count) < 0.5
    places = torch.randint(ids.shape[1] - 1, (count,))
    ids[rows.nonzero().squeeze(1), places[rows]] = 5
    ids[rows.nonzero().squeeze(1), places[rows] + 1] = 6
    labels = ((ids[:, :-1] == 5) & (ids[:, 1:] == 6)).any(1).long()
    return ids, labels


parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=400)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = TextCNN()
optimizer = HypergradientSGD([{"params": model.embed.parameters(), "hypergrad_lr": 0.01},
                              {"params": [*model.convs.parameters(), *model.fc.parameters()]}], lr=args.lr)
for step in range(1, args.steps + 1):
    ids, labels = batch(48)
    loss = nn.functional.cross_entropy(model(ids), labels)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 80 == 0:
        rates = ", ".join(f"{group['lr']:.5f}" for group in optimizer.param_groups)
        print(f"step {step}: loss {loss.item():.4f}, rates {rates}")
model.eval()
with torch.no_grad():
    ids, labels = batch(600)
    print(f"right {(model(ids).argmax(1) == labels).float().mean().item():.4f}")

# SPDX-License-Identifier: Apache-2.0
