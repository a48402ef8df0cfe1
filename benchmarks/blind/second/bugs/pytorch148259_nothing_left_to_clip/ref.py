"""A recurrent language model; now and then its gradients explode and are to be clipped."""

import argparse
import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore")
parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.5)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
torch.manual_seed(args.seed)
torch.set_num_threads(1)
VOCAB, BPTT, BATCH = 16, 20, 16


def corpus(n):
    """Words follow in a cycle; its direction flips now and then."""
    out, word, direction = [], 0, 1
    flips = torch.rand(n) < 0.05
    for flip in flips.tolist():
        direction = -direction if flip else direction
        word = (word + direction) % VOCAB
        out.append(word)
    return torch.tensor(out).view(BATCH, -1)


class Model(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.rnn = nn.RNN(width, width, num_layers=2, batch_first=True)
        self.decoder = nn.Linear(width, VOCAB)
        for name, p in self.rnn.named_parameters():
            if "weight" in name:
                nn.init.orthogonal_(p, gain=1.1)

    def forward(self, ids, hidden):
        out, hidden = self.rnn(self.embed(ids), hidden)
        return self.decoder(out), hidden


def total_norm(parameters):
    return torch.stack([p.grad.norm() for p in parameters]).norm()


model = Model()
parameters = list(model.parameters())
print(f"{sum(p.numel() for p in parameters)} weights")
optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
data = corpus(BATCH * (BPTT * args.steps + 1))
hidden, largest, losses = None, 0.0, []
for step in range(args.steps):
    at = step * BPTT
    ids, target = data[:, at : at + BPTT], data[:, at + 1 : at + 1 + BPTT]
    hidden = hidden.detach() if hidden is not None else None
    logits, hidden = model(ids, hidden)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), target.flatten())
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(parameters, 0.25)
    largest = max(largest, float(total_norm(list(model.parameters()))))
    optimizer.step()
    losses.append(loss.item())
print(f"EVIDENCE the largest norm that was stepped with is {largest:.3f} where 0.25 is the limit; loss {losses[0]:.3f} to {sum(losses[-5:]) / 5:.3f}")

# Idea from pytorch/pytorch#148259, pytorch/torchtitan#1258
# SPDX-License-Identifier: Apache-2.0
