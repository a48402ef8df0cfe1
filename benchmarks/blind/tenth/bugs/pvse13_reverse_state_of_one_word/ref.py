"""Sentences of unequal length are read in both directions by an LSTM; what was read is classified."""

import argparse

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=150)
args = parser.parse_args()
WORDS = 30


def make_sentences(count):
    """The class depends on the first word, and on whether a certain word comes up later."""
    sentences = []
    for _ in range(count):
        words = torch.randint(4, WORDS, (int(torch.randint(5, 15, ())),))
        words[0] = torch.randint(4, 8, ())
        label = (words[0] - 4) * 2 + (words[2:] < 7).any().long()
        sentences.append((words, label))
    return sentences


def collate(batch):
    words, labels = zip(*batch)
    lengths = torch.tensor([len(w) for w in words])
    return pad_sequence(words, batch_first=True), lengths, torch.stack(labels)


class Reader(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.embedding = nn.Embedding(WORDS, width, padding_idx=0)
        self.lstm = nn.LSTM(width, width, batch_first=True, bidirectional=True)
        self.head = nn.Linear(2 * width, 8)

    def forward(self, words, lengths):
        packed = pack_padded_sequence(self.embedding(words), lengths, batch_first=True, enforce_sorted=False)
        output, (hidden, _) = self.lstm(packed)
        output, _ = pad_packed_sequence(output, batch_first=True)
        features = torch.cat([hidden[0], hidden[1]], dim=1)
        return self.head(features)


def evaluate(model, loader):
    model.eval()
    right, count = 0, 0
    with torch.no_grad():
        for words, lengths, labels in loader:
            right += (model(words, lengths).argmax(1) == labels).sum().item()
            count += len(labels)
    model.train()
    return right / count


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    train = DataLoader(make_sentences(1200), batch_size=32, shuffle=True, collate_fn=collate)
    valid = DataLoader(make_sentences(300), batch_size=100, collate_fn=collate)
    model = Reader()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    step = 0
    while step < args.steps:
        for words, lengths, labels in train:
            loss = nn.functional.cross_entropy(model(words, lengths), labels)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            step += 1
            if step % 50 == 0:
                print(f"step {step}: loss {loss.item():.4f}, validation {evaluate(model, valid):.3f}")
            if step >= args.steps:
                break
    gradient = model.lstm.weight_hh_l0_reverse.grad.norm().item()
    print(f"EVIDENCE right {evaluate(model, valid):.4f}, gradient of the reverse recurrence {gradient:.6f}")


main()

# SPDX-License-Identifier: Apache-2.0
