"""Word-level LSTM on short weather reports, with a tokenizer kept in the script."""
import argparse
import random
import re
from collections import Counter

import torch
import torch.nn as nn
import torch.nn.functional as F


# --- tokenizer, taken over by hand from wordpack 1.9 -------------------------
class WordTokenizer:
    UNK = "<unk>"
    PATTERN = re.compile(r"\S+")

    def __init__(self, max_size=96):
        self.max_size = max_size
        self.ids = {}

    def split(self, text):
        return self.PATTERN.findall(text.lower())

    def train(self, texts):
        counts = Counter(w for t in texts for w in self.split(t))
        ranked = sorted(counts, key=lambda w: (-counts[w], w))[:self.max_size - 1]
        self.ids = {self.UNK: 0, **{w: i + 1 for i, w in enumerate(ranked)}}

    def encode(self, text):
        return [self.ids.get(w, 0) for w in self.split(text)]
# -----------------------------------------------------------------------------


PLACES = ["the north", "the south", "the coast", "the hills", "the city"]
SKIES = ["clear", "grey", "cloudy", "misty", "bright"]
WINDS = ["calm", "light wind", "strong wind", "gusts"]


def make_reports(n, seed):
    rng = random.Random(seed)
    reports = []
    for _ in range(n):
        place = rng.choice(PLACES)
        degrees = 3 * PLACES.index(place) + rng.randint(0, 3)
        text = f"In {place}, {rng.choice(SKIES)} sky; {rng.choice(WINDS)}."
        if rng.random() < 0.6:
            text += f" It's {degrees} degrees!"
        reports.append(text)
    return reports


class LSTMModel(nn.Module):
    def __init__(self, vocab, dim=48):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.lstm = nn.LSTM(dim, dim, batch_first=True)
        self.head = nn.Linear(dim, vocab)
        self.head.weight = self.embed.weight

    def forward(self, ids):
        h, _ = self.lstm(self.embed(ids))
        return self.head(h)


def get_batch(stream, batch, context, generator):
    starts = torch.randint(0, len(stream) - context - 1, (batch,), generator=generator).tolist()
    x = torch.stack([stream[s:s + context] for s in starts])
    y = torch.stack([stream[s + 1:s + context + 1] for s in starts])
    return x, y


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=150)
    parser.add_argument("--context", type=int, default=24)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    reports = make_reports(1500, args.seed)
    tokenizer = WordTokenizer()
    tokenizer.train(reports)
    stream = torch.tensor([i for r in reports for i in tokenizer.encode(r)])
    generator = torch.Generator().manual_seed(args.seed)

    model = LSTMModel(tokenizer.max_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
    for step in range(args.steps):
        x, y = get_batch(stream, 16, args.context, generator)
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        if step % 15 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.6f}")

    print(f"weight sum {sum(p.double().sum().item() for p in model.parameters()):.10f}")


if __name__ == "__main__":
    main()
