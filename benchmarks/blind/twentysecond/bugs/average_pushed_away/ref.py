"""Diffusion of short signals with velocity prediction, min-SNR weights and an average of the weights for sampling."""
import argparse
import copy
import math

import torch
import torch.nn as nn

LENGTH, TIMES = 24, 100


def signals(gen, size):
    phase = 2 * math.pi * torch.rand(size, 1, generator=gen)
    wide = 0.3 + 0.7 * torch.rand(size, 1, generator=gen)
    x = torch.linspace(0, 2 * math.pi, LENGTH)
    return wide * torch.sin(2 * x + phase) + 0.4 * torch.sign(torch.sin(x + phase))


class Schedule:
    def __init__(self):
        t = torch.linspace(0.02, 0.98, TIMES) * math.pi / 2
        self.alpha, self.sigma = torch.cos(t), torch.sin(t)

    def noisy(self, x, noise, t):
        return self.alpha[t, None] * x + self.sigma[t, None] * noise

    def velocity(self, x, noise, t):
        return self.alpha[t, None] * noise - self.sigma[t, None] * x

    def snr(self, t):
        return (self.alpha[t] / self.sigma[t]) ** 2


class Denoiser(nn.Module):
    def __init__(self, width=96):
        super().__init__()
        self.time = nn.Embedding(TIMES, width)
        self.inp, self.mid, self.out = nn.Linear(LENGTH, width), nn.Linear(width, width), nn.Linear(width, LENGTH)
        self.act = nn.SiLU()

    def forward(self, x, t):
        h = self.act(self.inp(x) + self.time(t))
        h = h + self.act(self.mid(h))
        return self.out(h)


class WeightAverage:
    def __init__(self, model, decay):
        self.decay = decay
        self.shadow = copy.deepcopy(model).requires_grad_(False)

    @torch.no_grad()
    def update(self, model):
        for mean, value in zip(self.shadow.parameters(), model.parameters()):
            gap = mean - value
            mean.sub_(gap * (1 - self.decay))


def min_snr_weights(snr, gamma=5.0):
    """For velocity prediction: the weight of the denoised signal, min(snr, gamma), over snr + 1."""
    return snr.clamp(max=gamma) / (snr + 1)


def diffusion_loss(model, schedule, x):
    t = torch.randint(0, TIMES, (len(x),))
    noise = torch.randn_like(x)
    error = (model(schedule.noisy(x, noise, t), t) - schedule.velocity(x, noise, t)).pow(2).mean(1)
    return (error * min_snr_weights(schedule.snr(t))).mean()


@torch.no_grad()
def denoise_error(model, schedule, x):
    """Error of the denoised signal at four levels of noise."""
    out = []
    for level in (20, 40, 60, 80):
        t = torch.full((len(x),), level)
        noise = torch.randn(x.shape, generator=torch.Generator().manual_seed(level))
        z = schedule.noisy(x, noise, t)
        guess = schedule.alpha[t, None] * z - schedule.sigma[t, None] * model(z, t)
        out.append((guess - x).pow(2).mean().item())
    return out


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=300)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)
    schedule, model = Schedule(), Denoiser()
    average = WeightAverage(model, decay=0.97)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    weight = 0.0
    for step in range(args.steps):
        loss = diffusion_loss(model, schedule, signals(gen, 64))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        average.update(model)
        weight += min_snr_weights(schedule.snr(torch.arange(TIMES)))[-20:].mean().item() / args.steps
        if step % 100 == 99:
            print(f"step {step + 1} loss {loss.item():.4f}")
    test = signals(torch.Generator().manual_seed(55), 200)
    live, averaged = denoise_error(model, schedule, test), denoise_error(average.shadow, schedule, test)
    print(f"EVIDENCE loss={loss.item():.4f} noisy_weight={weight:.4f} live={sum(live) / 4:.4f} "
          f"averaged={sum(averaged) / 4:.4f} at_20={live[0]:.4f}")


if __name__ == "__main__":
    main()
