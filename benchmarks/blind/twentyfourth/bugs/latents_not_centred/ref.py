"""Flow matching in the latent space of a frozen autoencoder, whose config has a scaling and a shift factor."""
import argparse
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import nn

PIXELS, LATENT = 24, 6


class Autoencoder(nn.Module):
    """Stands for a pretrained one: its latents have neither mean zero nor deviation one."""

    def __init__(self):
        super().__init__()
        gen = torch.Generator().manual_seed(100)
        basis = torch.linalg.qr(torch.randn(PIXELS, LATENT, generator=gen)).Q
        self.register_buffer("basis", basis)
        self.config = SimpleNamespace(scaling_factor=0.4, shift_factor=3.0)

    def encode(self, image):
        return 2.5 * image @ self.basis + 3.0

    def decode(self, latents):
        return (latents - 3.0) / 2.5 @ self.basis.T


class Velocity(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(LATENT + 8, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(),
                                 nn.Linear(width, LATENT))

    def forward(self, x, t):
        angle = t[:, None] * torch.tensor([1.0, 2.0, 4.0, 8.0]) * 3.1416
        return self.net(torch.cat([x, angle.sin(), angle.cos()], -1))


def images(vae, gen, n):
    """Pictures of two kinds."""
    kind = torch.where(torch.rand(n, 1, generator=gen) < 0.5, -1.0, 1.0)
    code = torch.cat([0.9 * kind, torch.zeros(n, LATENT - 1)], 1) + 0.4 * torch.randn(n, LATENT, generator=gen)
    return code @ vae.basis.T


@torch.no_grad()
def generate(model, vae, gen, n=600, steps=30):
    x = torch.randn(n, LATENT, generator=gen)
    for i in range(steps):
        t = torch.full((n,), 1 - i / steps)
        x = x - model(x, t) / steps
    return vae.decode(x / vae.config.scaling_factor + vae.config.shift_factor)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=200)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    vae, model = Autoencoder().requires_grad_(False), Velocity()
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    gen = torch.Generator().manual_seed(args.seed + 19)
    centre = 0.0
    for step in range(args.steps):
        latents = vae.encode(images(vae, gen, 64))
        latents = (latents - vae.config.shift_factor) * vae.config.scaling_factor
        noise = torch.randn(latents.shape, generator=gen)
        t = torch.rand(len(latents), generator=gen)
        noisy = (1 - t[:, None]) * latents + t[:, None] * noise
        loss = F.mse_loss(model(noisy, t), noise - latents)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        centre += latents.mean().item() / args.steps
        if (step + 1) % 40 == 0:
            print(f"step {step + 1} loss {loss.item():.4f}")
    fakes = generate(model, vae, torch.Generator().manual_seed(61))
    real = images(vae, torch.Generator().manual_seed(62), 600)
    gap = (fakes.mean(0) - real.mean(0)).norm().item()
    print(f"EVIDENCE mean_of_latents={centre:.4f} distance_of_means={gap:.4f}")


if __name__ == "__main__":
    main()
