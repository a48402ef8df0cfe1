"""A classifier of sentences with a mixture of experts; its balance is judged by the words."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.003)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
VOCAB, LENGTH, WIDTH, EXPERTS = 40, 24, 32, 4


class Experts(nn.Module):
    def __init__(self):
        super().__init__()
        self.router = nn.Linear(WIDTH, EXPERTS, bias=False)
        self.up = nn.Parameter(torch.randn(EXPERTS, WIDTH, 2 * WIDTH) * WIDTH**-0.5)
        self.down = nn.Parameter(torch.randn(EXPERTS, 2 * WIDTH, WIDTH) * (2 * WIDTH) ** -0.5)

    def forward(self, x):
        logits = self.router(x)
        probabilities = logits.softmax(-1)
        weight, chosen = probabilities.max(-1)
        every = torch.einsum("btd,edh->bteh", x, self.up).relu()
        every = torch.einsum("bteh,ehd->bted", every, self.down)
        index = chosen[..., None, None].expand(-1, -1, 1, WIDTH)
        return x + weight[..., None] * every.gather(2, index).squeeze(2), probabilities, chosen


def balance(probabilities, chosen, keep):
    """The product of the share of tokens and of the mean probability, summed over experts."""
    keep = keep.float()
    total = keep.sum()
    share = (F.one_hot(chosen, EXPERTS) * keep[..., None]).sum((0, 1)) / total
    mean = (probabilities * keep[..., None]).sum((0, 1)) / total
    return EXPERTS * (share * mean).sum(), share


class Classifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, WIDTH)
        self.experts = Experts()
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, 3)

    def forward(self, ids, mask):
        x, probabilities, chosen = self.experts(self.embed(ids))
        pooled = (self.norm(x) * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        aux, share = balance(probabilities, chosen, mask)
        return self.head(pooled), aux, chosen


def batch(n=48):
    lengths = torch.randint(3, 12, (n,))
    mask = torch.arange(LENGTH)[None] < lengths[:, None]
    label = torch.randint(0, 3, (n,))
    ids = torch.randint(1, VOCAB, (n, LENGTH))
    ids = torch.where(torch.rand(n, LENGTH) < 0.4, 1 + label[:, None], ids)
    return ids * mask, mask, label


model = Classifier()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
for step in range(args.steps):
    ids, mask, label = batch()
    logits, aux, chosen = model(ids, mask)
    loss = F.cross_entropy(logits, label) + 0.5 * aux
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    if step % 20 == 19:
        print(f"step {step}: loss {loss.item():.3f}, balance {aux.item():.3f}")

with torch.no_grad():
    ids, mask, label = batch(400)
    logits, _, chosen = model(ids, mask)
    load = torch.bincount(chosen[mask], minlength=EXPERTS) / mask.sum()
    accuracy = (logits.argmax(1) == label).float().mean()
print(f"EVIDENCE the fullest expert has {load.max():.3f} of the words, the emptiest {load.min():.3f}; accuracy {accuracy:.3f}")

# Idea from huggingface/transformers#28505, NVIDIA/Megatron-LM#2121
# SPDX-License-Identifier: Apache-2.0
