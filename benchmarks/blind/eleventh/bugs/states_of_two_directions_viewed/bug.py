"""Classification of short texts by a bidirectional LSTM whose last states of both directions are joined."""
import argparse
import random

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

VOCAB, PAD = 60, 0


class Reviews(Dataset):
    """Sentences with good (2-9) and bad (10-17) words; 'not' (1) turns the next word round."""

    def __init__(self, size, rng):
        self.items = [self.sentence(rng) for _ in range(size)]

    @staticmethod
    def sentence(rng):
        words, score = [], 0
        while len(words) < rng.randint(5, 16) or score == 0:
            draw = rng.random()
            if draw < 0.15:
                good = rng.random() < 0.5
                words += [1, rng.randint(2, 9) if good else rng.randint(10, 17)]
                score += -1 if good else 1
            elif draw < 0.4:
                good = rng.random() < 0.5
                words.append(rng.randint(2, 9) if good else rng.randint(10, 17))
                score += 1 if good else -1
            else:
                words.append(rng.randint(18, VOCAB - 1))
        return torch.tensor(words), int(score > 0)

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


def collate(batch):
    texts, labels = zip(*batch)
    lengths = torch.tensor([len(t) for t in texts])
    return pad_sequence(texts, batch_first=True, padding_value=PAD), lengths, torch.tensor(labels)


class Classifier(nn.Module):
    def __init__(self, width=32, hidden=32):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width, padding_idx=PAD)
        self.lstm = nn.LSTM(width, hidden, batch_first=True, bidirectional=True)
        self.dropout = nn.Dropout(0.2)
        self.out = nn.Linear(2 * hidden, 2)

    def forward(self, texts, lengths):
        packed = pack_padded_sequence(self.embed(texts), lengths, batch_first=True, enforce_sorted=False)
        _, (state, _) = self.lstm(packed)
        state = state.view(len(texts), -1)
        return self.out(self.dropout(state))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    rng = random.Random(args.seed)
    train = DataLoader(Reviews(1280, rng), batch_size=32, shuffle=True, collate_fn=collate)
    valid = DataLoader(Reviews(320, rng), batch_size=64, collate_fn=collate)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    for epoch in range(max(1, args.steps // len(train))):
        model.train()
        total = 0.0
        for texts, lengths, labels in train:
            loss = nn.functional.cross_entropy(model(texts, lengths), labels)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            total += loss.item()
        model.eval()
        with torch.no_grad():
            right = sum((model(t, n).argmax(1) == y).sum().item() for t, n, y in valid) / 320
        print(f"epoch {epoch + 1}: loss {total / len(train):.4f}, valid {right:.4f}")
    print(f"EVIDENCE last training loss {total / len(train):.4f}, validation accuracy {right:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
