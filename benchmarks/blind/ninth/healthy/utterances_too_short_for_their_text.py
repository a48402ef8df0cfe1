"""CTC on made-up speech: masks in time are drawn, what is too short for its text is left out."""

import argparse
import time

import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

LETTERS = 6  # 0 is the blank


class Utterances(Dataset):
    """A letter lasts one to five frames; sometimes the recording is cut."""

    def __init__(self, count, seed, cut=0.15):
        generator = torch.Generator().manual_seed(seed)
        sounds = torch.randn(LETTERS + 1, 10, generator=torch.Generator().manual_seed(5))
        self.items = []
        for _ in range(count):
            text = torch.randint(1, LETTERS + 1, (torch.randint(2, 7, (), generator=generator).item(),), generator=generator)
            frames = []
            for letter in text.tolist():
                frames += [sounds[letter]] * torch.randint(3, 8, (), generator=generator).item() + [sounds[0]]
            frames = torch.stack(frames) + 0.4 * torch.randn(len(frames), 10, generator=generator)
            if torch.rand((), generator=generator) < cut:
                frames = frames[:max(4, len(frames) // 5)]
            self.items.append((frames, text))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, index):
        return self.items[index]


def collate(items):
    """Frames are halved by the network; what has fewer of them than letters is dropped. Nothing may be left."""
    items = [(x, text) for x, text in items if len(x) // 2 >= len(text) + (text[1:] == text[:-1]).sum()]
    if not items:
        return None
    xs, texts = zip(*items)
    lengths, counts = torch.tensor([len(x) // 2 for x in xs]), torch.tensor([len(t) for t in texts])
    return pad_sequence(xs, batch_first=True), lengths, torch.cat(texts), counts


class Recogniser(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.conv = nn.Conv1d(10, width, 4, stride=2, padding=1)
        self.rnn = nn.GRU(width, width, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * width, LETTERS + 1)

    def forward(self, x):
        if self.training and torch.rand(()).item() < 0.3:
            start = torch.randint(max(1, x.size(1) - 3), ()).item()
            x = x.clone()
            x[:, start:start + 3] = 0.0
        return self.out(self.rnn(torch.relu(self.conv(x.transpose(1, 2))).transpose(1, 2))[0]).log_softmax(-1)


def distance(a, b):
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        last, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            last, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, last + (x != y))
    return row[-1]


@torch.no_grad()
def error_rate(model, loader):
    model.eval()
    wrong = total = 0
    for batch in loader:
        if batch is None:
            continue
        x, lengths, texts, counts = batch
        for path, length, text in zip(model(x).argmax(-1), lengths, texts.split(counts.tolist())):
            merged = torch.unique_consecutive(path[:length])
            wrong += distance(merged[merged != 0].tolist(), text.tolist())
            total += len(text)
    model.train()
    return wrong / total


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=6e-3)
    parser.add_argument("--steps", type=int, default=140)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    loader = DataLoader(Utterances(240, 3 * args.seed), batch_size=8, shuffle=True, collate_fn=collate)
    valid = DataLoader(Utterances(60, 3 * args.seed + 1), batch_size=20, collate_fn=collate)
    model = Recogniser()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, factor=0.5)
    criterion = nn.CTCLoss(blank=0, zero_infinity=True)
    step, since = 0, time.perf_counter()
    while step < args.steps:
        for batch in loader:
            if batch is None:
                continue
            x, lengths, texts, counts = batch
            loss = criterion(model(x).transpose(0, 1), texts, lengths, counts)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            optimizer.step()
            step += 1
            if step == args.steps:
                break
        rate = error_rate(model, valid)
        plateau.step(rate)
        pace = step / (time.perf_counter() - since)
        print(f"step {step}: loss {loss.item():.3f}, errors {rate:.3f}, {pace:.0f} steps a second")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
