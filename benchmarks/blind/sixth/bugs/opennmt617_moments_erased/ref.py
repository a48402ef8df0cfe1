"""A wrapper of the optimizer, as toolkits have one, with its own clipping and decay; the run is interrupted once."""

import argparse
import io

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=100)
args = parser.parse_args()


class Optim:
    """Knows the rate, the greatest norm and when to decay."""

    def __init__(self, rate, max_norm=1.0, decay_from=60):
        self.rate, self.max_norm, self.decay_from = rate, max_norm, decay_from
        self.count, self.inner, self.parameters = 0, None, []

    def set_parameters(self, parameters):
        self.parameters = [p for p in parameters if p.requires_grad]
        self.inner = torch.optim.Adam(self.parameters, lr=self.rate, betas=(0.9, 0.998))

    def step(self):
        self.count += 1
        if self.count > self.decay_from:
            self.inner.param_groups[0]["lr"] = self.rate * 0.98 ** (self.count - self.decay_from)
        nn.utils.clip_grad_norm_(self.parameters, self.max_norm)
        self.inner.step()

    def age(self):
        """How many steps the moments know of."""
        states = self.inner.state.values()
        return max((int(s["step"]) for s in states), default=0)


class Tagger(nn.Module):
    def __init__(self, words=30, tags=5):
        super().__init__()
        self.embed = nn.Embedding(words, 16)
        self.rnn = nn.GRU(16, 24, batch_first=True, bidirectional=True)
        self.head = nn.Linear(48, tags)

    def forward(self, ids):
        return self.head(self.rnn(self.embed(ids))[0])


def build_optim(model, checkpoint=None):
    optim = Optim(args.lr)
    optim.set_parameters(model.parameters())
    if checkpoint is not None:
        optim.count = checkpoint["count"]
        optim.inner.load_state_dict(checkpoint["optimizer"])
    return optim


def train(model, optim, steps):
    for _ in range(steps):
        ids = torch.randint(30, (16, 10))
        tags = (ids + (ids.roll(1, 1) > 15)) % 5
        loss = nn.functional.cross_entropy(model(ids).flatten(0, 1), tags.flatten())
        model.zero_grad()
        loss.backward()
        optim.step()
    print(f"step {optim.count}: loss {loss.item():.4f}")
    return loss.item()


torch.manual_seed(args.seed)
torch.set_num_threads(1)
model = Tagger()
optim = build_optim(model)
train(model, optim, args.steps // 2)
buffer = io.BytesIO()
torch.save({"model": model.state_dict(), "optimizer": optim.inner.state_dict(), "count": optim.count}, buffer)
buffer.seek(0)
checkpoint = torch.load(buffer)
model = Tagger()
model.load_state_dict(checkpoint["model"])
optim = build_optim(model, checkpoint)
loss = train(model, optim, args.steps - args.steps // 2)
print(f"EVIDENCE after {optim.count} steps the moments know of {optim.age()}, loss {loss:.4f}")

# SPDX-License-Identifier: Apache-2.0
