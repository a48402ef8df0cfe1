"""A classifier of texts is trained, saved, and trained on with texts of another kind."""
import argparse
import io
import random
from collections import Counter

import torch
import torch.nn.functional as F
from torch import nn

SIZE = 120


def make_texts(count, weights, rng):
    texts, labels = [], []
    for _ in range(count):
        label = rng.randrange(3)
        words = [f"t{label}_{i}" if rng.random() < 0.35 else f"w{i}" for i in rng.choices(range(30), weights, k=10)]
        texts.append(words)
        labels.append(label)
    return texts, torch.tensor(labels)


def build_vocabulary(texts):
    counts = Counter(word for text in texts for word in text)
    return {word: i + 1 for i, (word, _) in enumerate(counts.most_common(SIZE - 1))}


def encode(texts, vocabulary):
    return torch.tensor([[vocabulary.get(word, 0) for word in text] for text in texts])


def new_model():
    return nn.Sequential(nn.Embedding(SIZE, 24), nn.Flatten(1), nn.Linear(240, 32), nn.ReLU(), nn.Linear(32, 3))


def train(model, ids, labels, args, generator, steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    losses = []
    for _ in range(steps):
        rows = torch.randint(0, len(ids), (32,), generator=generator)
        loss = F.cross_entropy(model(ids[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=500)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    rng = random.Random(args.seed)
    texts, labels = make_texts(1500, [30 - i for i in range(30)], rng)
    vocabulary = build_vocabulary(texts)
    model = new_model()
    losses = train(model, encode(texts, vocabulary), labels, args, generator, args.steps * 4 // 5)
    print(f"first part: loss {losses[-1]:.4f}")
    file = io.BytesIO()
    torch.save({"model": model.state_dict(), "vocabulary": vocabulary}, file)
    file.seek(0)
    saved = torch.load(file)
    texts, labels = make_texts(200, [1 + i for i in range(30)], rng)
    vocabulary = saved["vocabulary"]
    model = new_model()
    model.load_state_dict(saved["model"])
    losses = train(model, encode(texts, vocabulary), labels, args, generator, args.steps // 5)
    texts, labels = make_texts(500, [1 + i for i in range(30)], rng)
    with torch.no_grad():
        right = (model(encode(texts, vocabulary)).argmax(1) == labels).float().mean()
    print(f"EVIDENCE first losses after loading {sum(losses[:5]) / 5:.4f}, last {sum(losses[-5:]) / 5:.4f}, right {right:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
