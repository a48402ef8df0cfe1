"""Scores of docked poses: the rate is reduced when the validation loss does not get better any more."""
import argparse

import torch
from torch import nn

VOXELS = 6


class PoseScorer(nn.Module):
    def __init__(self, width=12):
        super().__init__()
        self.body = nn.Sequential(nn.Conv3d(2, width, 3, padding=1), nn.ReLU(), nn.AvgPool3d(2),
                                  nn.Conv3d(width, 2 * width, 3, padding=1), nn.ReLU(), nn.Flatten())
        self.head = nn.Linear(2 * width * (VOXELS // 2) ** 3, 1)

    def forward(self, x):
        return self.head(self.body(x)).squeeze(-1)


def poses(gen, n):
    """Two channels of density, protein and ligand; a pose is good where the two come together."""
    grid = torch.randn(n, 2, VOXELS, VOXELS, VOXELS, generator=gen)
    contact = torch.relu(grid[:, 0] + grid[:, 1] - 0.5).mean((1, 2, 3))
    return grid, 15 * (contact - 0.34)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=20, help="epochs of eight batches")
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = PoseScorer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", factor=0.3, patience=3)
    gen = torch.Generator().manual_seed(args.seed + 51)
    held_out = poses(torch.Generator().manual_seed(args.seed + 5100), 200)
    for epoch in range(args.steps):
        model.train()
        for _ in range(8):
            x, y = poses(gen, 32)
            loss = nn.functional.mse_loss(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        model.eval()
        with torch.no_grad():
            val_loss = nn.functional.mse_loss(model(held_out[0]), held_out[1]).item()
        scheduler.step(val_loss)
        if (epoch + 1) % 4 == 0:
            print(f"epoch {epoch + 1} loss {loss.item():.4f} validation {val_loss:.4f}")
    print(f"EVIDENCE last_rate_to_first={optimizer.param_groups[0]['lr'] / args.lr:.6f} validation={val_loss:.4f}")


if __name__ == "__main__":
    main()
