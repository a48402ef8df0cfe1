"""A Wasserstein GAN with weight clipping on points in the plane, with gradients passed as one and minus one."""
import argparse

import torch
from torch import nn


def real_points(n, gen):
    """Eight clumps on a circle, off the origin."""
    k = torch.randint(0, 8, (n,), generator=gen).float() * (2 * torch.pi / 8)
    ring = torch.stack([k.cos(), k.sin()], dim=1)
    return 1.0 + 0.8 * ring + 0.05 * torch.randn(n, 2, generator=gen)


class WGANClipping:
    def __init__(self, args):
        self.args = args
        torch.manual_seed(args.seed)
        self.G = nn.Sequential(nn.Linear(4, 48), nn.ReLU(), nn.Linear(48, 48), nn.ReLU(), nn.Linear(48, 2))
        self.D = nn.Sequential(nn.Linear(2, 48), nn.LeakyReLU(0.2), nn.Linear(48, 48), nn.LeakyReLU(0.2), nn.Linear(48, 1))
        self.g_optimizer = torch.optim.RMSprop(self.G.parameters(), lr=args.lr)
        self.d_optimizer = torch.optim.RMSprop(self.D.parameters(), lr=args.lr)
        self.gen = torch.Generator().manual_seed(args.seed)

    def latent(self, n=64):
        return torch.randn(n, 4, generator=self.gen)

    def train_critic(self, one, mone):
        for p in self.D.parameters():
            p.requires_grad_(True)
        for _ in range(self.args.critic_iter):
            for p in self.D.parameters():
                p.data.clamp_(-self.args.clip, self.args.clip)
            self.D.zero_grad()
            d_loss_real = self.D(real_points(64, self.gen)).mean()
            d_loss_real.backward(mone)
            d_loss_fake = self.D(self.G(self.latent()).detach()).mean()
            d_loss_fake.backward(one)
            self.d_optimizer.step()
        return (d_loss_real - d_loss_fake).item()

    def train_generator(self, one, mone):
        for p in self.D.parameters():
            p.requires_grad_(False)
        self.G.zero_grad()
        g_loss = self.D(self.G(self.latent())).mean()
        g_loss.backward(mone)
        self.g_optimizer.step()
        return -g_loss.item()

    def train(self):
        one = torch.tensor(1.0)
        mone = one * -1
        for it in range(self.args.steps):
            wasserstein = self.train_critic(one, mone)
            g_cost = self.train_generator(one, mone)
            if it % 40 == 0:
                print(f"iteration {it} distance {wasserstein:.4f} generator {g_cost:.4f}")
        return wasserstein

    @torch.no_grad()
    def evaluate(self):
        fake, real = self.G(self.latent(512)), real_points(512, self.gen)
        return (fake.mean(0) - real.mean(0)).norm().item(), fake.abs().max().item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--clip", type=float, default=0.1)
    parser.add_argument("--critic-iter", type=int, default=4)
    gan = WGANClipping(parser.parse_args())
    last = gan.train()
    off, farthest = gan.evaluate()
    print(f"EVIDENCE wasserstein={last:.4f} mean_off={off:.4f} farthest={farthest:.4f}")
