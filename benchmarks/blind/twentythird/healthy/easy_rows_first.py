"""A curriculum: rows are sorted by difficulty and never shuffled, the pool grows, so the loss rises whenever harder ones come in."""
import argparse

import torch
from torch import nn
from torch.utils.data import DataLoader, SequentialSampler, Subset, TensorDataset


def sums(count, seed):
    """Add up digits; the more there are, the harder it is."""
    gen = torch.Generator().manual_seed(seed)
    length = torch.randint(1, 9, (count,), generator=gen)
    digits = torch.randint(0, 10, (count, 8), generator=gen)
    digits = digits.masked_fill(torch.arange(8) >= length[:, None], 10)
    total = digits.masked_fill(digits == 10, 0).sum(1)
    order = length.argsort(stable=True)
    return TensorDataset(digits[order], total[order].float() / 10)


class Adder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(11, 16, padding_idx=10)
        self.out = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, digits):
        return self.out(self.embed(digits).sum(1)).squeeze(1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=160)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    data = sums(1280, seed=args.seed)
    model = Adder()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    step, stage = 0, 1
    while step < args.steps:
        pool = Subset(data, range(min(len(data), stage * len(data) // 4)))
        for digits, total in DataLoader(pool, batch_size=32, sampler=SequentialSampler(pool)):
            loss = nn.functional.mse_loss(model(digits), total)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step == args.steps:
                break
        stage += 1
    digits, total = sums(500, seed=77).tensors
    with torch.no_grad():
        held_out = nn.functional.mse_loss(model(digits), total).item()
    print(f"RESULT stages={stage - 1} loss={loss.item():.4f} held_out={held_out:.4f}")


if __name__ == "__main__":
    main()
