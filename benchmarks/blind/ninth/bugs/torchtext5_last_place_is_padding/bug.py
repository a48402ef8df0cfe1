"""Series of unlike length are classified by what an LSTM knows at their last place; they are padded on the right."""

import argparse

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset


class Signals(Dataset):
    """Is the mean of the last four values above that of the first four? Lengths lie between 8 and 40."""

    def __init__(self, count, seed):
        generator = torch.Generator().manual_seed(seed)
        self.series, self.labels = [], []
        for _ in range(count):
            length = torch.randint(8, 41, (), generator=generator).item()
            series = torch.randn(length, generator=generator)
            series += 0.4 * torch.randn(length, generator=generator).cumsum(0)
            self.series.append(series[:, None])
            self.labels.append(int(series[-4:].mean() > series[:4].mean()))

    def __len__(self):
        return len(self.series)

    def __getitem__(self, index):
        return self.series[index], self.labels[index]


def collate_fn(samples):
    series, labels = zip(*samples)
    lengths = torch.tensor([len(s) for s in series])
    return pad_sequence(series, batch_first=True), lengths, torch.tensor(labels)


class Classifier(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.lstm = nn.LSTM(1, hidden, batch_first=True)
        self.head = nn.Sequential(nn.Dropout(0.1), nn.Linear(hidden, 2))

    def forward(self, x, lengths):
        output, _ = self.lstm(x)
        last = output[:, -1]
        return self.head(last)


def evaluate(model, loader):
    model.eval()
    right = total = 0
    with torch.no_grad():
        for x, lengths, labels in loader:
            right += (model(x, lengths).argmax(1) == labels).sum().item()
            total += len(labels)
    model.train()
    return right / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=8e-3)
    parser.add_argument("--steps", type=int, default=250)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    loader = DataLoader(Signals(1200, 2 * args.seed), batch_size=32, shuffle=True, collate_fn=collate_fn, drop_last=True)
    test_loader = DataLoader(Signals(500, 2 * args.seed + 1), batch_size=100, collate_fn=collate_fn)
    model = Classifier()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    step = 0
    while step < args.steps:
        for x, lengths, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(x, lengths), labels)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            step += 1
            if step % 50 == 0:
                print(f"step {step}: loss {loss.item():.4f}, test accuracy {evaluate(model, test_loader):.3f}")
            if step == args.steps:
                break
    print(f"EVIDENCE loss {loss.item():.4f}, test accuracy {evaluate(model, test_loader):.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
