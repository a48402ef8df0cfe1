"""Which of six speakers says it: padded utterances, attentive pooling over frames."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SPEAKERS, BANDS = 6, 16


class Utterances(Dataset):
    """Frames of a speaker's timbre, times of silence between them; lengths differ a lot."""

    def __init__(self, count, seed, longest):
        timbre = torch.randn(SPEAKERS, 3, BANDS, generator=torch.Generator().manual_seed(14))
        gen = torch.Generator().manual_seed(seed)
        self.rows = []
        for _ in range(count):
            who = int(torch.randint(0, SPEAKERS, (), generator=gen))
            frames = int(torch.randint(6, longest, (), generator=gen))
            sounds = torch.randint(0, 3, (frames,), generator=gen)
            loud = (torch.rand(frames, 1, generator=gen) > 0.5).float()
            x = loud * timbre[who, sounds] + 0.8 * torch.randn(frames, BANDS, generator=gen)
            self.rows.append((x, who))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, i):
        return self.rows[i]


def collate(batch):
    lengths = torch.tensor([len(x) for x, _ in batch])
    frames = nn.utils.rnn.pad_sequence([x for x, _ in batch], batch_first=True)
    valid = torch.arange(frames.shape[1])[None] < lengths[:, None]
    return frames, valid, torch.tensor([who for _, who in batch])


class AttentivePooling(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.score = nn.Sequential(nn.Linear(width, width), nn.Tanh(), nn.Linear(width, 1))

    def forward(self, hidden, valid):
        logits = self.score(hidden).squeeze(2)
        logits = logits.masked_fill(~valid, float("-inf"))
        weights = logits.softmax(1)
        return (weights[..., None] * hidden).sum(1), weights


class SpeakerNet(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv1d(BANDS, width, 3, padding=1), nn.GELU(), nn.Conv1d(width, width, 3, padding=1))
        self.pool, self.head = AttentivePooling(width), nn.Linear(width, SPEAKERS)

    def forward(self, frames, valid):
        hidden = self.encoder(frames.transpose(1, 2)).transpose(1, 2)
        pooled, weights = self.pool(hidden, valid)
        return self.head(pooled), weights


@torch.no_grad()
def accuracy(model, loader):
    right = sum((model(frames, valid)[0].argmax(1) == who).sum().item() for frames, valid, who in loader)
    return right / len(loader.dataset)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=80)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    data = Utterances(320, args.seed, longest=60)
    loader = DataLoader(data, batch_size=16, shuffle=True, collate_fn=collate, drop_last=True)
    model = SpeakerNet()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)
    step, on_pads = 0, 0.0
    while step < args.steps:
        for frames, valid, who in loader:
            logits, weights = model(frames, valid)
            loss = F.cross_entropy(logits, who)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            on_pads += (weights * ~valid).sum(1).mean().item() / args.steps
            step += 1
            if step >= args.steps:
                break
        print(f"step {step} loss {loss.item():.4f}")
    model.eval()
    test = Utterances(120, 1234, longest=60)
    batched, alone = (accuracy(model, DataLoader(test, batch_size=n, collate_fn=collate)) for n in (40, 1))
    print(f"EVIDENCE weight_on_pads={on_pads:.4f} batched={batched:.4f} alone={alone:.4f} loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
