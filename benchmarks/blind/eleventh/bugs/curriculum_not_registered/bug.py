"""Accelerate: sequences get longer while training goes on; the run is cut in the middle and resumed from its state."""
import argparse
import tempfile

import torch
from accelerate import Accelerator
from torch import nn

DIGITS = 6


class LengthCurriculum:
    """The longest sequence that is drawn; it grows when the loss has been small for some steps."""

    def __init__(self, start=3, stop=14, patience=5):
        self.length, self.stop, self.patience, self.good = start, stop, patience, 0

    def update(self, loss):
        self.good = self.good + 1 if loss < 0.7 * torch.log(torch.tensor(float(DIGITS))).item() else 0
        if self.good >= self.patience and self.length < self.stop:
            self.length, self.good = self.length + 1, 0

    def state_dict(self):
        return {"length": self.length, "good": self.good}

    def load_state_dict(self, state):
        self.length, self.good = state["length"], state["good"]


class Counter(nn.Module):
    """Says after each digit the sum of all so far, modulo their number."""

    def __init__(self, width=64):
        super().__init__()
        self.embed = nn.Embedding(DIGITS, 32)
        self.rnn = nn.GRU(32, width, batch_first=True)
        self.out = nn.Linear(width, DIGITS)

    def forward(self, digits):
        return self.out(self.rnn(self.embed(digits))[0])


def draw(length, size=64):
    digits = torch.randint(DIGITS, (size, length))
    return digits, digits.cumsum(1) % DIGITS


def build(lr):
    accelerator = Accelerator(cpu=True)
    model = Counter()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    model, optimizer = accelerator.prepare(model, optimizer)
    curriculum = LengthCurriculum()
    return accelerator, model, optimizer, curriculum


def train(parts, first, last):
    accelerator, model, optimizer, curriculum = parts
    lengths = []
    model.train()
    for step in range(first, last):
        digits, sums = draw(curriculum.length)
        loss = nn.functional.cross_entropy(model(digits).flatten(0, 1), sums.flatten())
        optimizer.zero_grad()
        accelerator.backward(loss)
        accelerator.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        lengths.append(curriculum.length)
        curriculum.update(loss.item())
        if (step + 1) % 50 == 0:
            print(f"step {step + 1}: length {curriculum.length}, loss {loss.item():.4f}")
    return lengths


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    half = args.steps // 2
    with tempfile.TemporaryDirectory() as folder:
        parts = build(args.lr)
        before = train(parts, 0, half)
        parts[0].save_state(folder)
        parts[0].free_memory()
        parts = build(args.lr)
        parts[0].load_state(folder)
        after = train(parts, half, args.steps)
    print(f"EVIDENCE lengths: last before the cut {before[-1]}, first after it {after[0]}, at the end {after[-1]}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
