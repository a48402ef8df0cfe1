"""A step is made of as many micro-batches as hold a budget of words; each loss is a sum over all words of the window."""

import argparse

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
WORDS, PAD, BUDGET = 24, 0, 480


class Model(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embed = nn.Embedding(WORDS, width, padding_idx=PAD)
        self.rnn, self.head = nn.GRU(width, width, batch_first=True), nn.Linear(width, WORDS)

    def forward(self, words):
        return self.head(self.rnn(self.embed(words))[0])


def windows(loader):
    """Lists of micro-batches and the number of words that they predict; the last list may be short."""
    window, count = [], 0
    for words in loader:
        window.append(words)
        count += (words[:, 1:] != PAD).sum().item()
        if count >= BUDGET:
            yield window, count
            window, count = [], 0
    if window:
        yield window, count


def loss_sum(model, words):
    logits = model(words[:, :-1]).transpose(1, 2)
    return nn.functional.cross_entropy(logits, words[:, 1:], ignore_index=PAD, reduction="sum")


torch.manual_seed(args.seed)
torch.set_num_threads(1)
follows = torch.randint(1, WORDS, (WORDS,))
texts = []
for length in torch.randint(3, 30, (300,)).tolist():
    text = [torch.randint(1, WORDS, (1,)).item()]
    while len(text) < length:
        text.append(follows[text[-1]].item() if torch.rand(1) < 0.8 else torch.randint(1, WORDS, (1,)).item())
    texts.append(torch.tensor(text))
loader = DataLoader(texts, batch_size=6, shuffle=True,
                    collate_fn=lambda texts: pad_sequence(texts, batch_first=True, padding_value=PAD))
model = Model()
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
step = 0
while step < args.steps:
    for window, count in windows(loader):
        optimizer.zero_grad()
        total = 0.0
        for words in window:
            loss = loss_sum(model, words) / count
            loss.backward()
            total += loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in optimizer.param_groups:
            group["lr"] = args.lr * min(1.0, count / BUDGET)
        optimizer.step()
        step += 1
        if step % 10 == 0:
            print(f"step {step}: loss {total:.3f} of {count} words in {len(window)} micro-batches")

# SPDX-License-Identifier: Apache-2.0
