"""Sentiment of sentences by an LSTM with attention: unknown words, packing, plateau, early stopping with the best weights."""
import argparse
import copy
import random
from collections import Counter

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader

GOOD, BAD = ["great", "fine", "lovely", "superb", "warm"], ["dull", "awful", "weak", "cold", "poor"]
OTHER = [f"word{i}" for i in range(60)]


def sentence(rng):
    label = rng.randint(0, 1)
    own, other = (GOOD, BAD) if label else (BAD, GOOD)
    words = rng.choices(OTHER, k=rng.randint(3, 18)) + rng.choices(own, k=rng.randint(1, 3))
    if rng.random() < 0.3:
        words.append(rng.choice(other))
    rng.shuffle(words)
    return words, label if rng.random() < 0.92 else 1 - label


class AttentiveLSTM(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.embed = nn.Embedding(size, 32, padding_idx=0)
        self.lstm = nn.LSTM(32, 32, batch_first=True, bidirectional=True)
        self.score = nn.Linear(64, 1)
        self.drop = nn.Dropout(0.4)
        self.out = nn.Linear(64, 1)

    def forward(self, ids, lengths):
        packed = pack_padded_sequence(self.drop(self.embed(ids)), lengths, batch_first=True, enforce_sorted=False)
        states, _ = pad_packed_sequence(self.lstm(packed)[0], batch_first=True)
        weights = self.score(states).squeeze(-1).masked_fill(ids == 0, float("-inf")).softmax(-1)
        return self.out(self.drop((weights[..., None] * states).sum(1))).squeeze(-1)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=300)
    args = parser.parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = random.Random(args.seed)
    data = [sentence(rng) for _ in range(900)]
    train, valid = data[:640], data[640:]
    counts = Counter(w for words, _ in train for w in words)
    vocabulary = {w: i + 2 for i, (w, n) in enumerate(counts.most_common()) if n >= 3}

    def collate(batch, hide=0.0):
        ids = [torch.tensor([1 if random.random() < hide else vocabulary.get(w, 1) for w in words]) for words, _ in batch]
        return pad_sequence(ids, batch_first=True), torch.tensor([len(i) for i in ids]), torch.tensor([float(y) for _, y in batch])

    train_loader = DataLoader(train, 32, shuffle=True, collate_fn=lambda b: collate(b, 0.05))
    valid_loader = DataLoader(valid, 130, collate_fn=collate)
    model = AttentiveLSTM(len(vocabulary) + 2)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=1)
    best, waited, best_state = float("inf"), 0, None
    for epoch in range(max(1, args.steps // len(train_loader))):
        model.train()
        for ids, lengths, labels in train_loader:
            loss = nn.functional.binary_cross_entropy_with_logits(model(ids, lengths), labels)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            total = sum(nn.functional.binary_cross_entropy_with_logits(model(i, n), y, reduction="sum").item() for i, n, y in valid_loader)
        error = total / len(valid)
        scheduler.step(error)
        print(f"epoch {epoch + 1}: train {loss.item():.4f}, valid {error:.4f}, rate {optimizer.param_groups[0]['lr']:g}")
        if error < best - 1e-3:
            best, waited, best_state = error, 0, copy.deepcopy(model.state_dict())
        else:
            waited += 1
            if waited >= 4:
                print("stopped early")
                break
    model.load_state_dict(best_state)
    print(f"best {best:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
