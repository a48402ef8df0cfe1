"""Sentiment of made-up reviews: a vocabulary is counted from the texts, an average of embeddings is classified."""

import argparse
import random
from collections import Counter

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=80)
args = parser.parse_args()
PAD, UNKNOWN = 0, 1
GOOD, BAD = "great lovely superb fine warm clever".split(), "dull awful weak cold clumsy boring".split()
PLAIN = "the a film story it was and with actor scene music of end plot very quite".split()


def review(positive):
    words = random.choices(PLAIN, k=random.randint(5, 9))
    words += random.choices(GOOD if positive else BAD, k=2) + random.choices(BAD if positive else GOOD, k=1)
    random.shuffle(words)
    words = [word.capitalize() if random.random() < 0.5 else word for word in words]
    return " ".join(words)


def words_of(text):
    return text.lower().split()


def build_vocabulary(texts, least=2):
    counts = Counter(word for text in texts for word in words_of(text))
    kept = sorted(word for word, count in counts.items() if count >= least)
    return {word: number + 2 for number, word in enumerate(kept)}


def encode(text):
    return torch.tensor([vocabulary.get(word, UNKNOWN) for word in words_of(text)])


def collate(rows):
    texts, labels = zip(*rows)
    return pad_sequence([encode(text) for text in texts], batch_first=True, padding_value=PAD), torch.tensor(labels)


class Average(nn.Module):
    def __init__(self, words, width=32):
        super().__init__()
        self.embed, self.head = nn.Embedding(words, width, padding_idx=PAD), nn.Linear(width, 2)

    def forward(self, words):
        count = (words != PAD).sum(1, keepdim=True)
        return self.head(self.embed(words).sum(1) / count)


random.seed(args.seed)
torch.manual_seed(args.seed)
torch.set_num_threads(1)
labels = [i % 2 for i in range(640)]
rows = [(review(label), label) for label in labels]
vocabulary = build_vocabulary([text for text, _ in rows])
train = DataLoader(rows[:480], batch_size=24, shuffle=True, collate_fn=collate)
model = Average(len(vocabulary) + 2)
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
step = unknown = total = 0
while step < args.steps:
    for words, label in train:
        loss = nn.functional.cross_entropy(model(words), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        unknown += (words == UNKNOWN).sum().item()
        total += (words != PAD).sum().item()
        step += 1
        if step % 20 == 0:
            print(f"step {step}: loss {loss.item():.4f}")
        if step == args.steps:
            break
words, label = collate(rows[480:])
right = (model(words).argmax(1) == label).float().mean().item()
print(f"EVIDENCE {unknown / total:.3f} of the words are unknown; accuracy {right:.3f}")

# SPDX-License-Identifier: Apache-2.0
