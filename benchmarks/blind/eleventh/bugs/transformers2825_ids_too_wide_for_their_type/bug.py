"""A corpus is tokenised once into a binary file; a GRU language model then reads windows of it through a memory map."""
import argparse
import os
import tempfile

import numpy as np
import torch
from torch import nn

VOCAB, BLOCK = 400, 24


def make_corpus(rng, length):
    """Each word has four words that like to follow it; some words are drawn freely."""
    following = rng.integers(VOCAB, size=(VOCAB, 4))
    words = [int(rng.integers(VOCAB))]
    for _ in range(length - 1):
        free = rng.random() < 0.1
        words.append(int(rng.integers(VOCAB)) if free else int(following[words[-1], rng.integers(4)]))
    return [f"w{word}" for word in words]


def prepare(words, folder):
    table = {f"w{i}": i for i in range(VOCAB)}
    ids = np.array([table[word] for word in words])
    cut = int(0.9 * len(ids))
    for name, part in (("train", ids[:cut]), ("val", ids[cut:])):
        part.astype(np.uint8).tofile(os.path.join(folder, f"{name}.bin"))


def open_split(folder, name):
    return np.memmap(os.path.join(folder, f"{name}.bin"), dtype=np.uint8, mode="r")


def get_batch(data, generator, size=24):
    starts = torch.randint(len(data) - BLOCK - 1, (size,), generator=generator).tolist()
    block = torch.stack([torch.from_numpy(data[s:s + BLOCK + 1].astype(np.int64)) for s in starts])
    return block[:, :-1], block[:, 1:]


class Model(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.out = nn.Linear(width, VOCAB)

    def forward(self, ids, targets):
        hidden, _ = self.rnn(self.embed(ids))
        return nn.functional.cross_entropy(self.out(hidden).flatten(0, 1), targets.flatten())


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=220)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = np.random.default_rng(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    with tempfile.TemporaryDirectory() as folder:
        prepare(make_corpus(rng, 40000), folder)
        train, val = open_split(folder, "train"), open_split(folder, "val")
        model = Model()
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
        for step in range(1, args.steps + 1):
            loss = model(*get_batch(train, generator))
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            if step % 50 == 0:
                print(f"step {step}: loss {loss.item():.4f}")
        model.eval()
        with torch.no_grad():
            losses = [model(*get_batch(val, generator)).item() for _ in range(10)]
        kinds, greatest = len(np.unique(train)), int(train.max())
        del train, val
    print(f"EVIDENCE {kinds} kinds of words in training, greatest number {greatest}, validation loss {np.mean(losses):.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
