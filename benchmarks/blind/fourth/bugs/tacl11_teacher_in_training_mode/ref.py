"""A student learns the representations of a teacher's tokens by contrast; the teacher was trained just before."""

import argparse

import torch
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=3e-3)
parser.add_argument("--steps", type=int, default=60)
args = parser.parse_args()
WORDS, LENGTH, WIDTH, MASK = 30, 12, 32, 0


class Encoder(nn.Module):
    def __init__(self, layers):
        super().__init__()
        self.embed, self.place = nn.Embedding(WORDS, WIDTH), nn.Embedding(LENGTH, WIDTH)
        layer = nn.TransformerEncoderLayer(WIDTH, 4, 64, dropout=0.2, batch_first=True)
        self.body, self.head = nn.TransformerEncoder(layer, layers), nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        return self.body(self.embed(words) + self.place.weight)


def corpus(n):
    return torch.randint(1, WORDS, (n, 2)).repeat(1, LENGTH // 2)


def masked(words):
    hidden = torch.rand(words.shape) < 0.2
    return words.masked_fill(hidden, MASK), hidden


def masked_loss(model, words):
    inputs, hidden = masked(words)
    states = model(inputs)
    return nn.functional.cross_entropy(model.head(states)[hidden], words[hidden]), states, hidden


def train_teacher(steps):
    teacher = Encoder(2)
    optimizer = torch.optim.AdamW(teacher.parameters(), lr=args.lr)
    for _ in range(steps):
        loss = masked_loss(teacher, corpus(32))[0]
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return teacher.requires_grad_(False)


def token_contrast(student, teacher, hidden, temperature=0.1):
    student, teacher = nn.functional.normalize(student, dim=-1), nn.functional.normalize(teacher, dim=-1)
    logits = student @ teacher.transpose(1, 2) / temperature
    labels = torch.arange(LENGTH).expand(len(logits), -1)
    return nn.functional.cross_entropy(logits[hidden], labels[hidden])


torch.manual_seed(args.seed)
torch.set_num_threads(1)
teacher = train_teacher(args.steps)
teacher.eval()
student = Encoder(2)
optimizer = torch.optim.AdamW(student.parameters(), lr=args.lr)
for step in range(args.steps):
    student.train()
    words = corpus(32)
    loss, states, hidden = masked_loss(student, words)
    with torch.no_grad():
        targets = teacher(words)
    loss = loss + token_contrast(states, targets, hidden)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    if step % 10 == 9:
        student.eval()
        with torch.no_grad():
            print(f"step {step}: loss {loss.item():.3f}, validation {masked_loss(student, corpus(64))[0].item():.3f}")
with torch.no_grad():
    apart = (teacher(words) - teacher(words)).abs().mean()
print(f"EVIDENCE two answers of the teacher differ by {apart:.4f}, last loss {loss.item():.4f}")

# SPDX-License-Identifier: Apache-2.0
