"""Room impulse responses from room features: a conditional GAN with a reconstruction term."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

ROOM, NOISE, TAPS = 3, 4, 12


def rooms(n, gen):
    """The tail has a random sign per tap, so the mean response says nothing about it."""
    room = torch.rand(n, ROOM, generator=gen)
    t = torch.arange(TAPS).float()
    envelope = torch.exp(-t[None] * (0.05 + 0.2 * room[:, :1]))
    sign = torch.randint(0, 2, (n, 1), generator=gen).float() * 2 - 1
    return room, envelope * sign * (0.6 + 0.4 * room[:, 1:2])


class Generator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(ROOM + NOISE, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, TAPS))

    def forward(self, room, z):
        return self.net(torch.cat([room, z], 1))


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(ROOM + TAPS, 64), nn.LeakyReLU(0.2), nn.Linear(64, 64), nn.LeakyReLU(0.2), nn.Linear(64, 1))

    def forward(self, spec, room):
        return self.net(torch.cat([spec, room], 1))


class Image2Room:
    def __init__(self, args):
        self.g, self.d = Generator(), Discriminator()
        self.g_opt = torch.optim.Adam(self.g.parameters(), lr=args.lr, betas=(0.5, 0.9))
        self.d_opt = torch.optim.Adam(self.d.parameters(), lr=args.lr, betas=(0.5, 0.9))
        self.rec_weight = args.rec_weight

    def generator_step(self, room, spec):
        fake_spec = self.g(room, torch.randn(len(room), NOISE))
        d_fake = self.d(fake_spec, room)
        g_loss1 = F.mse_loss(d_fake, torch.ones_like(d_fake))
        g_loss2 = F.l1_loss(fake_spec, spec)
        loss = g_loss1 + self.rec_weight * g_loss2
        self.g_opt.zero_grad()
        loss.backward()
        self.g_opt.step()
        return g_loss1.item(), g_loss2.item()

    def discriminator_step(self, room, spec):
        with torch.no_grad():
            fake_spec = self.g(room, torch.randn(len(room), NOISE))
        d_real, d_fake = self.d(spec, room), self.d(fake_spec, room)
        loss = 0.5 * (F.mse_loss(d_real, torch.ones_like(d_real)) + F.mse_loss(d_fake, torch.zeros_like(d_fake)))
        self.d_opt.zero_grad()
        loss.backward()
        self.d_opt.step()
        return loss.item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--steps", type=int, default=500)
    ap.add_argument("--rec-weight", type=float, default=0.2)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    gen = torch.Generator().manual_seed(args.seed)
    gan = Image2Room(args)
    for step in range(1, args.steps + 1):
        room, spec = rooms(64, gen)
        d_loss = gan.discriminator_step(room, spec)
        adv, rec = gan.generator_step(room, spec)
        if step % 100 == 0:
            print(f"step {step} d {d_loss:.3f} adv {adv:.3f} l1 {rec:.3f}")
    with torch.no_grad():
        room, real = rooms(500, torch.Generator().manual_seed(5))
        fake = gan.g(room, torch.randn(500, NOISE))
        ratio = fake[:, :4].abs().mean() / real[:, :4].abs().mean()
    print(f"EVIDENCE d_loss={d_loss:.3f} level_of_fakes={ratio.item():.3f}")


if __name__ == "__main__":
    main()
