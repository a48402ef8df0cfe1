"""Flow matching from noise to treated cells, on the condition of untreated ones."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

GENES = 6


def cells(gen, size):
    """A treatment turns cells in the first plane and moves them; there is noise that no source tells."""
    source = torch.randn(size, GENES, generator=gen) * torch.tensor([1.5, 1.5, 0.5, 0.5, 0.3, 0.3])
    target = source.clone()
    target[:, 0], target[:, 1] = -source[:, 1], source[:, 0]
    target = target + torch.tensor([2.0, 0.0, 1.0, 0.0, -1.0, 0.0]) + 0.2 * torch.randn(size, GENES, generator=gen)
    return source, target


class VelocityField(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.condition = nn.Sequential(nn.Linear(GENES, width), nn.SiLU())
        self.time = nn.Linear(8, width)
        self.net = nn.Sequential(nn.Linear(GENES + 2 * width, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(),
                                 nn.Linear(width, GENES))

    def forward(self, t, x, source):
        waves = torch.cat([torch.sin(t * 2.0 ** k) for k in range(4)] + [torch.cos(t * 2.0 ** k) for k in range(4)], dim=1)
        return self.net(torch.cat([x, self.condition(source), self.time(waves)], dim=1))


class ProbabilityPath:
    """Straight line with a little noise."""

    def __init__(self, sigma=0.02):
        self.sigma = sigma

    def sample(self, t, start, end):
        return (1 - t) * start + t * end + self.sigma * torch.randn_like(start)

    def velocity(self, t, start, end):
        return end - start


def flow_loss(field, path, source, target):
    latent = torch.randn_like(target)
    t = torch.rand(len(target), 1)
    x_t = path.sample(t, latent, target)
    return F.mse_loss(field(t, x_t, source), path.velocity(t, latent, target))


@torch.no_grad()
def generate(field, source, steps=20):
    x = torch.randn_like(source)
    for k in range(steps):
        t = torch.full((len(x), 1), k / steps)
        x = x + field(t, x, source) / steps
    return x


def distance(a, b):
    """Energy distance of two clouds."""
    return (2 * torch.cdist(a, b).mean() - torch.cdist(a, a).mean() - torch.cdist(b, b).mean()).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=250)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 4)
    field, path = VelocityField(), ProbabilityPath()
    optimizer = torch.optim.AdamW(field.parameters(), lr=args.lr, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.steps)
    for step in range(args.steps):
        loss = flow_loss(field, path, *cells(gen, 128))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(field.parameters(), 2.0)
        optimizer.step()
        schedule.step()
        if step % 50 == 49:
            print(f"step {step + 1} loss {loss.item():.4f}")
    field.eval()
    source, target = cells(torch.Generator().manual_seed(99), 400)
    made = generate(field, source)
    print(f"EVIDENCE loss={loss.item():.4f} error={F.mse_loss(made, target).item():.4f} distance={distance(made, target):.4f}")


if __name__ == "__main__":
    main()
