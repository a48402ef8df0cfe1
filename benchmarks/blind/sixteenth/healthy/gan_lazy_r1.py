"""Non-saturating GAN with lazy R1, adaptive instance noise, generator EMA and a D/G balance rule, on two moons."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import make_moons


class MLP(nn.Module):
    def __init__(self, n_in, n_out, hidden=64):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_in, hidden), nn.LeakyReLU(0.2), nn.Linear(hidden, hidden),
                                  nn.LeakyReLU(0.2))
        self.head = nn.Linear(hidden, n_out)

    def forward(self, x):
        return self.head(self.body(x))


def infinite_batches(data, size):
    while True:
        for idx in torch.randperm(len(data)).split(size):
            if len(idx) == size:
                yield data[idx]


def set_requires_grad(module, flag):
    for p in module.parameters():
        p.requires_grad_(flag)


class AdaptiveNoise:
    """ADA-like controller: more instance noise when D is too sure about real data."""

    def __init__(self, target=0.6, speed=0.02, interval=4):
        self.sigma, self.target, self.speed, self.interval, self.signs = 0.05, target, speed, interval, []

    def __call__(self, x):
        return x + self.sigma * torch.randn_like(x) if self.sigma > 0 else x

    def feed(self, logits):
        self.signs.append(logits.detach().sign().mean().item())
        if len(self.signs) == self.interval:
            r_t = sum(self.signs) / len(self.signs)
            self.sigma = min(max(self.sigma + (self.speed if r_t > self.target else -self.speed), 0.0), 0.5)
            self.signs.clear()


class Trainer:
    r1_every, r1_gamma = 8, 0.05

    def __init__(self, lr):
        self.G, self.D, self.z = MLP(8, 2), MLP(2, 1), 8
        self.G_ema = copy.deepcopy(self.G).eval().requires_grad_(False)
        # lazy regularization: lr and betas corrected for the additional steps, as in StyleGAN2
        c = self.r1_every / (self.r1_every + 1)
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=lr, betas=(0.0, 0.99))
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=lr * c, betas=(0.0, 0.99 ** c))
        self.noise = AdaptiveNoise()
        self.acc, self.skipped = 0.5, 0
        set_requires_grad(self.D, False)

    def g_step(self, n):
        self.opt_g.zero_grad(set_to_none=True)
        loss = F.softplus(-self.D(self.noise(self.G(torch.randn(n, self.z))))).mean()
        loss.backward()
        self.opt_g.step()
        return loss.item()

    def d_step(self, real):
        if self.acc > 0.75:  # D is far ahead: let G catch up
            self.acc -= 0.05
            self.skipped += 1
            return
        set_requires_grad(self.D, True)
        self.opt_d.zero_grad(set_to_none=True)
        with torch.no_grad():
            fake = self.G(torch.randn(len(real), self.z))
        # two separate backward calls accumulate into one step
        fake_logits = self.D(self.noise(fake))
        F.softplus(fake_logits).mean().backward()
        real_logits = self.D(self.noise(real))
        F.softplus(-real_logits).mean().backward()
        self.opt_d.step()
        self.noise.feed(real_logits)
        acc = 0.5 * ((real_logits > 0).float().mean() + (fake_logits < 0).float().mean()).item()
        self.acc = 0.9 * self.acc + 0.1 * acc
        set_requires_grad(self.D, False)

    def r1_step(self, real):
        set_requires_grad(self.D, True)
        self.opt_d.zero_grad(set_to_none=True)
        x = real.detach().clone().requires_grad_(True)
        (g,) = torch.autograd.grad(self.D(x).sum(), x, create_graph=True)
        (0.5 * self.r1_gamma * self.r1_every * g.square().sum(1).mean()).backward()
        self.opt_d.step()
        # the bias of the last layer has no effect on the input gradient, so its grad stays None here
        set_requires_grad(self.D, False)

    @torch.no_grad()
    def ema(self, step, beta=0.995):
        beta = min(beta, (1 + step) / (10 + step))
        for pe, p in zip(self.G_ema.parameters(), self.G.parameters()):
            pe.copy_(p.lerp(pe, beta))


@torch.no_grad()
def sliced_w(a, b):
    dirs = F.normalize(torch.randn(2, 64), dim=0)
    return (torch.sort(a @ dirs, 0)[0] - torch.sort(b @ dirs, 0)[0]).abs().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--steps", type=int, default=1000)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    x = torch.tensor(make_moons(4000, noise=0.05, random_state=args.seed)[0], dtype=torch.float32)
    x = (x - x.mean(0)) / x.std(0)
    train, held = x[:3000], x[3000:]
    batches, tr = infinite_batches(train, 128), Trainer(args.lr)
    with torch.no_grad():
        before = sliced_w(held, tr.G_ema(torch.randn(1000, 8)))
    for step in range(args.steps):
        g_loss = tr.g_step(128)
        tr.d_step(next(batches))
        if step % tr.r1_every == 0:
            tr.r1_step(next(batches))
        tr.ema(step)
        if step % 200 == 0:
            print(f"step {step} G {g_loss:.3f} sigma {tr.noise.sigma:.2f} D-acc {tr.acc:.2f} skipped {tr.skipped}")
    with torch.no_grad():
        after = sliced_w(held, tr.G_ema(torch.randn(1000, 8)))
    print(f"EVIDENCE sliced_w_before={before:.4f} sliced_w_after={after:.4f}")


if __name__ == "__main__":
    main()
