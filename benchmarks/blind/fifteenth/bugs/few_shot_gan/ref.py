"""A small GAN from few pictures (centred rings), with differentiable augmentation before the discriminator."""
import argparse
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

R = 16


def rings(n, seed):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:R, :R] - (R - 1) / 2
    radius = rng.uniform(2.5, 4.5, (n, 1, 1))
    width = rng.uniform(0.8, 1.3, (n, 1, 1))
    cx, cy = rng.normal(0, 0.2, (2, n, 1, 1))
    d = np.sqrt((xx - cx) ** 2 + (yy - cy) ** 2)
    img = 2 * np.exp(-((d - radius) / width) ** 2) - 1
    return torch.from_numpy(img[:, None].astype(np.float32))


# --- augmentation (every operation has a gradient) ---

def rand_brightness(x):
    return x + (torch.rand(x.size(0), 1, 1, 1) - 0.5) * 0.4


def rand_translation(x, ratio=0.2):
    shift = int(R * ratio)
    padded = F.pad(x, [shift] * 4, value=-1.0)
    out = []
    for img in padded:
        i, j = random.randint(0, 2 * shift), random.randint(0, 2 * shift)
        out.append(img[:, i:i + R, j:j + R])
    return torch.stack(out)


def diff_augment(x):
    return rand_translation(rand_brightness(x))


class Generator(nn.Sequential):
    def __init__(self, z=16, c=24):
        super().__init__(
            nn.Linear(z, 2 * c * 16), nn.ReLU(), nn.Unflatten(1, (2 * c, 4, 4)),
            nn.Upsample(scale_factor=2), nn.Conv2d(2 * c, c, 3, padding=1), nn.BatchNorm2d(c), nn.ReLU(),
            nn.Upsample(scale_factor=2), nn.Conv2d(c, c // 2, 3, padding=1), nn.BatchNorm2d(c // 2), nn.ReLU(),
            nn.Conv2d(c // 2, 1, 3, padding=1), nn.Tanh())


class Discriminator(nn.Sequential):
    def __init__(self, c=16):
        sn = nn.utils.parametrizations.spectral_norm
        super().__init__(
            sn(nn.Conv2d(1, c, 4, 2, 1)), nn.LeakyReLU(0.2),
            sn(nn.Conv2d(c, 2 * c, 4, 2, 1)), nn.LeakyReLU(0.2), nn.Flatten(),
            sn(nn.Linear(2 * c * 16, 64)), nn.LeakyReLU(0.2), sn(nn.Linear(64, 1)))


class Trainer:
    def __init__(self, args):
        self.args = args
        self.data = rings(100, args.seed)
        self.G, self.D = Generator(), Discriminator()
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=args.lr, betas=(0.0, 0.99))
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=2 * args.lr, betas=(0.0, 0.99))

    def noise(self, n):
        return torch.randn(n, 16)

    def d_step(self, real):
        with torch.no_grad():
            fake = self.G(self.noise(len(real)))
        pred_real = self.D(diff_augment(real))
        pred_fake = self.D(diff_augment(fake))
        loss = F.relu(1 - pred_real).mean() + F.relu(1 + pred_fake).mean()
        self.opt_d.zero_grad()
        loss.backward()
        self.opt_d.step()
        return loss.item()

    def g_step(self, n):
        fake = self.G(self.noise(n))
        loss = -self.D(diff_augment(fake)).mean()
        self.opt_g.zero_grad()
        loss.backward()
        self.opt_g.step()
        return loss.item()

    def fit(self):
        for step in range(self.args.steps):
            real = self.data[torch.randint(len(self.data), (32,))]
            d, g = self.d_step(real), self.g_step(32)
            if step % 100 == 0:
                print(f"{step:5d}  D {d:.3f}  G {g:.3f}")

    @torch.no_grad()
    def sample(self, n):
        self.G.eval()
        return self.G(self.noise(n))


def spread(img):
    """Standard deviation of the place (in pixels) and of the darkest value, over pictures."""
    w = (img[:, 0] + 1).clamp(min=0)
    pos = torch.arange(R).float()
    total = w.sum((1, 2))
    cx, cy = (w.sum(1) * pos).sum(1) / total, (w.sum(2) * pos).sum(1) / total
    return (cx.std() + cy.std()).item() / 2, img.amax((1, 2, 3)).mean().item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=5e-4)
    parser.add_argument("--steps", type=int, default=320)
    args = parser.parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    trainer = Trainer(args)
    trainer.fit()
    real, fake = spread(rings(400, args.seed + 9)), spread(trainer.sample(400))
    print(f"EVIDENCE spread of places: generated {fake[0]:.2f} real {real[0]:.2f}; peak {fake[1]:.2f} / {real[1]:.2f}")
