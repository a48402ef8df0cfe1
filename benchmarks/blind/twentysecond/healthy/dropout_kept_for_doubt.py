"""Dropout stays on while answers are sampled: the spread of thirty passes tells how sure the network is."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def curve(gen, size):
    x = torch.cat([torch.rand(size // 2, generator=gen) - 2, torch.rand(size // 2, generator=gen) + 1])[:, None]
    return x, torch.sin(2 * x) + 0.05 * torch.randn(x.shape, generator=gen)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(1, 64), nn.ReLU(), nn.BatchNorm1d(64), nn.Dropout(0.1), nn.Linear(64, 64),
                                    nn.ReLU(), nn.Dropout(0.1), nn.Linear(64, 1))

    def forward(self, x):
        return self.layers(x)


@torch.no_grad()
def sample_answers(model, x, passes=30):
    """Batch norm stands still, dropout does not."""
    model.eval()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.train()
    answers = torch.stack([model(x) for _ in range(passes)])
    model.train()
    return answers.mean(0), answers.std(0)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=150)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen, model = torch.Generator().manual_seed(args.seed), Net()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    grid = torch.linspace(-4, 4, 81)[:, None]
    for step in range(args.steps):
        x, y = curve(gen, 64)
        loss = F.mse_loss(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 49:
            _, doubt = sample_answers(model, grid)
            print(f"step {step + 1} loss {loss.item():.4f} doubt {doubt.mean().item():.3f}")
    mean, doubt = sample_answers(model, grid)
    print(f"RESULT loss={loss.item():.4f} doubt_far={doubt[:10].mean().item():.3f} doubt_near={doubt[55:65].mean().item():.3f}")


if __name__ == "__main__":
    main()
