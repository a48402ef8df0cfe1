"""Splice site windows in DNA: the job is stopped in the middle of an epoch; the resumed job skips the batches already done."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

BASES = 4


class SpliceWindows(Dataset):
    """One-hot windows; a splice site has GT in the middle and a pyrimidine rich stretch behind it."""

    def __init__(self, n=480, length=24):
        g = torch.Generator().manual_seed(31)
        seq = torch.randint(0, BASES, (n, length), generator=g)
        self.label = torch.randint(0, 2, (n,), generator=g)
        mid = length // 2
        site = self.label.bool()
        seq[site, mid], seq[site, mid + 1] = 2, 3
        rich = torch.randint(0, 2, (n, 6), generator=g) * 2 + 1
        seq[site, mid + 3:mid + 9] = rich[site]
        self.x = F.one_hot(seq, BASES).float().transpose(1, 2)

    def __len__(self):
        return len(self.label)

    def __getitem__(self, i):
        return self.x[i], self.label[i], i


class SpliceCNN(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(BASES, 24, 5, padding=2), nn.Conv1d(24, 24, 5, padding=2)
        self.drop, self.fc = nn.Dropout(0.2), nn.Linear(24 * 24, 2)

    def forward(self, x):
        x = F.relu(self.conv2(F.relu(self.conv1(x))))
        return self.fc(self.drop(x.flatten(1)))


def build(args):
    model = SpliceCNN()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    return model, optimizer


def loader_for(data, args, epoch):
    order = torch.Generator().manual_seed(args.seed * 997 + epoch)
    return DataLoader(data, batch_size=args.batch, shuffle=True, generator=order)


def run_epochs(model, optimizer, data, args, budget, epoch=0, resume_step=0):
    """Train for `budget` updates; returns where it stopped and the samples of the epoch in progress."""
    done, used = 0, []
    while True:
        used = []
        for step, (x, y, index) in enumerate(loader_for(data, args, epoch)):
            if step < resume_step:
                continue
            if done == budget:
                return epoch, step, used
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            used += index.tolist()
            done += 1
        if resume_step:
            return epoch, 0, used
        print(f"epoch {epoch} loss {loss.item():.4f}")
        epoch, resume_step = epoch + 1, 0


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--steps", type=int, default=70)
    ap.add_argument("--batch", type=int, default=16)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    data = SpliceWindows()
    model, optimizer = build(args)
    epoch, step, first_part = run_epochs(model, optimizer, data, args, args.steps)
    state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch, "step": step,
             "rng": torch.get_rng_state()}

    model, optimizer = build(args)
    model.load_state_dict(state["model"])
    optimizer.load_state_dict(state["optimizer"])
    torch.set_rng_state(state["rng"])
    _, _, second_part = run_epochs(model, optimizer, data, args, 10 ** 6, state["epoch"], state["step"])
    twice = len(set(first_part) & set(second_part))
    never = len(data) - len(set(first_part) | set(second_part))
    print(f"EVIDENCE epoch {epoch} cut at step {step}: seen_twice={twice} never_seen={never}")


if __name__ == "__main__":
    main()
