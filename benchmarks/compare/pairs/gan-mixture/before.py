"""GAN on a two-dimensional mixture with a spectrally normalised generator and averaged weights."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils import spectral_norm

LATENT = 8


def make_generator():
    return nn.Sequential(
        spectral_norm(nn.Linear(LATENT, 64)), nn.LeakyReLU(0.2),
        spectral_norm(nn.Linear(64, 64)), nn.LeakyReLU(0.2),
        spectral_norm(nn.Linear(64, 64)), nn.LeakyReLU(0.2),
        nn.Linear(64, 2),
    )


def make_discriminator():
    return nn.Sequential(
        spectral_norm(nn.Linear(2, 64)), nn.LeakyReLU(0.2),
        spectral_norm(nn.Linear(64, 64)), nn.LeakyReLU(0.2),
        nn.Linear(64, 1),
    )


def sample_real(n):
    angle = torch.randint(0, 8, (n,)) * (2 * math.pi / 8)
    centre = torch.stack([angle.cos(), angle.sin()], 1) * 2
    return centre + 0.1 * torch.randn(n, 2)


class EMATracker:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = {k: v.detach().clone() for k, v in model.state_dict().items()}
        self.parameter_names = {k for k, _ in model.named_parameters()}

    def update(self, model):
        for k, v in model.state_dict().items():
            if k in self.parameter_names:
                self.shadow[k].lerp_(v.detach(), 1 - self.decay)
            else:
                self.shadow[k].copy_(v)

    def copy_to(self, model):
        model.load_state_dict(self.shadow)


@torch.no_grad()
def evaluate(generator, noise, real):
    generator.eval()
    fake = generator(noise)
    generator.train()
    gap = torch.cdist(fake, real).mean() * 2 - torch.cdist(fake, fake).mean() - torch.cdist(real, real).mean()
    return gap.item(), fake.norm(dim=1).mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=400)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)

    gen, disc, averaged = make_generator(), make_discriminator(), make_generator()
    ema = EMATracker(gen, 0.97)
    opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.5, 0.99))
    opt_d = torch.optim.Adam(disc.parameters(), lr=1e-3, betas=(0.5, 0.99))
    eval_noise, eval_real = torch.randn(512, LATENT), sample_real(512)

    for step in range(args.steps):
        real = sample_real(128)
        fake = gen(torch.randn(128, LATENT))
        loss_d = F.softplus(-disc(real)).mean() + F.softplus(disc(fake.detach())).mean()
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()

        loss_g = F.softplus(-disc(gen(torch.randn(128, LATENT)))).mean()
        opt_g.zero_grad()
        loss_g.backward()
        opt_g.step()
        ema.update(gen)

        if step % 50 == 0 or step == args.steps - 1:
            ema.copy_to(averaged)
            gap, radius = evaluate(averaged, eval_noise, eval_real)
            print(f"step {step} loss_d {loss_d.item():.6f} loss_g {loss_g.item():.6f} valid_gap {gap:.6f} radius {radius:.4f}")


if __name__ == "__main__":
    main()
