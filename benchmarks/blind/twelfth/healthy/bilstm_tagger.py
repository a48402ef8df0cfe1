"""Part-of-speech tagging of made-up sentences with a BiLSTM: packed sequences, word dropout, padding ignored in the loss."""
import argparse
import random

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

TAGS = ["DET", "ADJ", "NOUN", "VERB", "ADV", "PREP"]
LEX = {
    "DET": ["the", "a", "this", "every"],
    "ADJ": ["old", "quick", "light", "cold", "round", "fast"],
    "NOUN": ["dog", "run", "light", "walk", "cook", "house", "river", "cold", "cut", "play"],
    "VERB": ["run", "walk", "cook", "cut", "light", "play", "see", "round"],
    "ADV": ["fast", "often", "never", "slowly"],
    "PREP": ["in", "near", "with", "round"],
}
PAD, UNK = 0, 1
IGNORE = -100


def noun_phrase(rng):
    tags = ["DET"] + ["ADJ"] * rng.choice([0, 0, 1, 2]) + ["NOUN"]
    if rng.random() < 0.25:
        tags += ["PREP"] + noun_phrase(rng)
    return tags


def sentence(rng):
    tags = noun_phrase(rng)
    if rng.random() < 0.4:
        tags.append("ADV")
    tags.append("VERB")
    if rng.random() < 0.7:
        tags += noun_phrase(rng)
    if rng.random() < 0.3:
        tags.append("ADV")
    return [rng.choice(LEX[t]) for t in tags], tags


class Tagger(nn.Module):
    def __init__(self, n_words, n_tags, emb=32, hidden=32):
        super().__init__()
        self.emb = nn.Embedding(n_words, emb, padding_idx=PAD)
        self.lstm = nn.LSTM(emb, hidden, batch_first=True, bidirectional=True)
        self.drop = nn.Dropout(0.25)
        self.out = nn.Linear(2 * hidden, n_tags)

    def forward(self, ids, lengths):
        packed = pack_padded_sequence(self.drop(self.emb(ids)), lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        return self.out(self.drop(states))


def batchify(data, word2id, size, shuffle, rng, p_unk=0.0):
    order = list(range(len(data)))
    if shuffle:
        rng.shuffle(order)
    for start in range(0, len(order), size):
        chunk = [data[i] for i in order[start:start + size]]
        ids = [torch.tensor([UNK if rng.random() < p_unk else word2id.get(w, UNK) for w in ws]) for ws, _ in chunk]
        tags = [torch.tensor([TAGS.index(t) for t in ts]) for _, ts in chunk]
        lengths = torch.tensor([len(i) for i in ids])
        yield pad_sequence(ids, True, PAD), pad_sequence(tags, True, IGNORE), lengths


parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=8e-3)
parser.add_argument("--steps", type=int, default=4, help="epochs")
args = parser.parse_args()

torch.set_num_threads(1)
torch.manual_seed(args.seed)
rng = random.Random(args.seed)
corpus = [sentence(rng) for _ in range(750)]
train, dev = corpus[:600], corpus[600:]
words = sorted({w for ws, _ in train for w in ws})
word2id = {w: i + 2 for i, w in enumerate(words)}

model = Tagger(len(words) + 2, len(TAGS))
optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.8)
criterion = nn.CrossEntropyLoss(ignore_index=IGNORE)

for epoch in range(1, args.steps + 1):
    model.train()
    for i, (ids, tags, lengths) in enumerate(batchify(train, word2id, 24, True, rng, p_unk=0.05)):
        optimizer.zero_grad()
        logits = model(ids, lengths)
        loss = criterion(logits.reshape(-1, len(TAGS)), tags.reshape(-1))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        if i % 20 == 0:
            print(f"epoch {epoch} batch {i}: loss {loss.item():.4f} (longest sentence {int(lengths.max())})")
    scheduler.step()

    model.eval()
    right = total = 0
    with torch.no_grad():
        for ids, tags, lengths in batchify(dev, word2id, 64, False, rng):
            keep = tags != IGNORE
            right += (model(ids, lengths).argmax(-1)[keep] == tags[keep]).sum().item()
            total += keep.sum().item()
        if epoch % 2 == 0:   # look at one sentence now and then
            ws, ts = rng.choice(dev)
            guess = model(torch.tensor([[word2id.get(w, UNK) for w in ws]]), torch.tensor([len(ws)])).argmax(-1)[0]
            print("   ", " ".join(f"{w}/{TAGS[g]}" for w, g in zip(ws, guess.tolist())))
    print(f"epoch {epoch}: dev accuracy {right / total:.4f}")
# SPDX-License-Identifier: Apache-2.0
