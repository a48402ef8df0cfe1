"""A tiny radiance field in two dimensions: rays through a scene of discs are rendered by quadrature and compared."""
import argparse
import math

import torch
from torch import nn

NEAR, FAR, SAMPLES = 0.0, 3.0, 24


def make_scene():
    centres = 0.6 * torch.randn(4, 2)
    radii = 0.2 + 0.2 * torch.rand(4)
    colours = torch.rand(4, 3)
    return centres, radii, colours


def true_field(points, scene):
    """Density and colour of discs with hard borders."""
    centres, radii, colours = scene
    inside = ((points[..., None, :] - centres).norm(dim=-1) < radii).float()
    density = 12.0 * inside.amax(-1)
    colour = (inside @ colours) / inside.sum(-1, keepdim=True).clamp(min=1)
    return density, colour


def render(density, colour, deltas):
    """Colours along a ray, weighted by what is absorbed at a point of the light that gets there."""
    alpha = 1.0 - torch.exp(-density * deltas)
    through = torch.cumprod(1.0 - alpha + 1e-10, dim=-1)
    weights = through * alpha
    rgb = (weights[..., None] * colour).sum(-2)
    return rgb, weights


def sample_rays(number):
    angle = 2 * math.pi * torch.rand(number)
    origin = 1.5 * torch.stack([angle.cos(), angle.sin()], -1)
    aim = angle + math.pi + 0.6 * (torch.rand(number) - 0.5)
    return origin, torch.stack([aim.cos(), aim.sin()], -1)


def sample_points(origin, direction, samples, jitter):
    edges = torch.linspace(NEAR, FAR, samples + 1)
    t = edges[:-1] + (edges[1] - edges[0]) * (torch.rand(len(origin), samples) if jitter else 0.5)
    t = t.expand(len(origin), samples)
    deltas = torch.cat([t[:, 1:] - t[:, :-1], torch.full_like(t[:, :1], (FAR - NEAR) / samples)], 1)
    return origin[:, None] + t[..., None] * direction[:, None], deltas


class Field(nn.Module):
    def __init__(self, width=64, frequencies=5):
        super().__init__()
        self.register_buffer("bands", 2.0 ** torch.arange(frequencies))
        self.net = nn.Sequential(nn.Linear(4 * frequencies, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 4))

    def forward(self, points):
        angles = (points[..., None] * self.bands).flatten(-2)
        out = self.net(torch.cat([angles.sin(), angles.cos()], -1))
        return nn.functional.softplus(out[..., 0]), out[..., 1:].sigmoid()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=250)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    scene = make_scene()
    pictures = []
    for number in (2000, 400):
        origin, direction = sample_rays(number)
        density, colour = true_field(*sample_points(origin, direction, 200, False)[:1], scene)
        step = torch.full_like(density, (FAR - NEAR) / 200)
        light = torch.exp(-(density * step).cumsum(-1) + density * step)
        truth = ((light * (1 - torch.exp(-density * step)))[..., None] * colour).sum(-2)
        pictures.append((origin, direction, truth))
    origin, direction, truth = pictures[0]
    field = Field()
    optimizer = torch.optim.Adam(field.parameters(), lr=args.lr)
    for step in range(1, args.steps + 1):
        pick = torch.randint(len(origin), (128,))
        points, deltas = sample_points(origin[pick], direction[pick], SAMPLES, True)
        rgb, weights = render(*field(points), deltas)
        loss = nn.functional.mse_loss(rgb, truth[pick])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 0:
            print(f"step {step}: loss {loss.item():.5f}, opacity {weights.sum(-1).mean().item():.4f}")
    with torch.no_grad():
        origin, direction, truth = pictures[1]
        points, deltas = sample_points(origin, direction, SAMPLES, False)
        rgb, weights = render(*field(points), deltas)
        psnr = -10 * math.log10(nn.functional.mse_loss(rgb, truth).item())
    print(f"EVIDENCE greatest opacity of a ray {weights.sum(-1).max().item():.4f}, psnr of new rays {psnr:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
