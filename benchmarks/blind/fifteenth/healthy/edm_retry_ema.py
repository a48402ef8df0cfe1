"""Denoising (preconditioned as by Karras et al.) of small pictures of two blobs; the loss is weighted by a learned uncertainty."""
import argparse
import math

import torch
from torch import nn

SIDE = 8
SIGMA_DATA = 0.5


def blobs(n, g):
    yy, xx = torch.meshgrid(torch.arange(SIDE).float(), torch.arange(SIDE).float(), indexing="ij")
    img = torch.zeros(n, SIDE, SIDE)
    for sign in (1.0, -1.0):
        c = 1 + (SIDE - 3) * torch.rand(n, 2, 1, 1, generator=g)
        img += sign * torch.exp(-((yy - c[:, 0]) ** 2 + (xx - c[:, 1]) ** 2) / 2.5)
    return img.flatten(1) / img.std() * SIGMA_DATA


class Core(nn.Module):
    def __init__(self, w=192):
        super().__init__()
        self.register_buffer("f", torch.randn(24) * 2)
        self.time = nn.Sequential(nn.Linear(48, w), nn.SiLU())
        self.inp = nn.Linear(SIDE * SIDE, w)
        self.mid = nn.ModuleList([nn.Sequential(nn.LayerNorm(w), nn.Linear(w, w), nn.SiLU(), nn.Dropout(0.05), nn.Linear(w, w)) for _ in range(3)])
        self.gate = nn.Parameter(torch.zeros(3))       # blocks are silent at first
        self.out = nn.Linear(w, SIDE * SIDE)

    def forward(self, x, c_noise):
        a = c_noise[:, None] * self.f
        h = self.inp(x) + self.time(torch.cat([a.sin(), a.cos()], 1))
        for g, block in zip(self.gate, self.mid):
            h = h + g * block(h)
        return self.out(h)


class Denoiser(nn.Module):
    def __init__(self):
        super().__init__()
        self.core = Core()
        self.log_var = nn.Sequential(nn.Linear(1, 24), nn.SiLU(), nn.Linear(24, 1))

    def forward(self, x, sigma):
        s = sigma[:, None]
        root = (s ** 2 + SIGMA_DATA ** 2).sqrt()
        out = self.core(x / root, sigma.log() / 4)
        return SIGMA_DATA ** 2 / root ** 2 * x + s * SIGMA_DATA / root * out


def loss_of(net, x):
    sigma = (-1.0 + 1.2 * torch.randn(len(x))).exp()
    noisy = x + sigma[:, None] * torch.randn_like(x)
    err = ((net(noisy, sigma) - x) ** 2).mean(1)
    weight = (sigma ** 2 + SIGMA_DATA ** 2) / (sigma * SIGMA_DATA) ** 2
    u = net.log_var(sigma.log()[:, None] / 4)[:, 0]
    return (weight * err / u.exp() + u).mean(), (weight * err).mean().item()    # below nought in the end


class PowerAverage:
    """Averages with weights that grow with a power of the step: the window is a share of what was trained."""

    def __init__(self, net, gamma):
        self.gamma, self.t = gamma, 0
        self.values = {k: v.detach().clone() for k, v in net.named_parameters()}

    def update(self, net):
        self.t += 1
        beta = (1 - 1 / self.t) ** (self.gamma + 1)
        for k, v in net.named_parameters():
            self.values[k].mul_(beta).add_(v.detach(), alpha=1 - beta)


class borrowed:
    """Weights of an average for the length of a with block; weights, mode and random numbers are put back."""

    def __init__(self, net, average):
        self.net, self.average = net, average

    def __enter__(self):
        self.rng, self.mode = torch.get_rng_state(), self.net.training
        self.kept = {k: v.detach().clone() for k, v in self.net.named_parameters()}
        self._put(self.average.values)
        self.net.eval()
        torch.manual_seed(1)

    def __exit__(self, *_):
        self._put(self.kept)
        self.net.train(self.mode)
        torch.set_rng_state(self.rng)

    @torch.no_grad()
    def _put(self, values):
        for k, v in self.net.named_parameters():
            v.copy_(values[k])


@torch.no_grad()
def heun(net, n, steps=14, top=20.0, low=0.02, rho=7):
    ramp = torch.linspace(0, 1, steps)
    sig = (top ** (1 / rho) + ramp * (low ** (1 / rho) - top ** (1 / rho))) ** rho
    sig = torch.cat([sig, torch.zeros(1)])
    x = sig[0] * torch.randn(n, SIDE * SIDE)
    for a, b in zip(sig[:-1], sig[1:]):
        d = (x - net(x, a.expand(n))) / a
        nxt = x + (b - a) * d
        if b > 0:
            d2 = (nxt - net(nxt, b.expand(n))) / b
            nxt = x + (b - a) * (d + d2) / 2
        x = nxt
    return x


def distance(a, b):
    """Energy distance between two sets of pictures."""
    def within(x):
        return torch.cdist(x, x).sum() / (len(x) * (len(x) - 1))

    return (2 * torch.cdist(a, b).mean() - within(a) - within(b)).item()


if __name__ == "__main__":
    cli = argparse.ArgumentParser()
    cli.add_argument("--seed", type=int, default=0)
    cli.add_argument("--lr", type=float, default=2e-3)
    cli.add_argument("--steps", type=int, default=1000)
    arg = cli.parse_args()
    torch.manual_seed(arg.seed)
    torch.set_num_threads(1)
    g = torch.Generator().manual_seed(arg.seed + 2)
    data, held = blobs(4000, g), blobs(400, g)
    net = Denoiser()
    opt = torch.optim.Adam([{"params": net.core.parameters()}, {"params": net.log_var.parameters(), "lr": 3 * arg.lr}],
                           lr=arg.lr, betas=(0.9, 0.99))
    averages = {6.94: PowerAverage(net, 6.94), 16.97: PowerAverage(net, 16.97)}
    usual, retries = None, 0
    for step in range(arg.steps):
        for group, base in zip(opt.param_groups, (arg.lr, 3 * arg.lr)):
            group["lr"] = base * min(1, (step + 1) / 40) / math.sqrt(max(step / (0.3 * arg.steps), 1))
        x = data[torch.randint(len(data), (48,))]
        for attempt in range(3):                  # a wild gradient is thrown away, half of the batch is tried again
            opt.zero_grad()
            loss, raw = loss_of(net, x)
            loss.backward()
            norm = torch.stack([p.grad.norm() for p in net.parameters()]).norm().item()
            if usual is None or norm < 1.3 * usual or attempt == 2:
                break
            x = x[: len(x) // 2]
            retries += 1
        usual = norm if usual is None else 0.95 * usual + 0.05 * min(norm, 1.3 * usual)
        opt.step()
        for average in averages.values():
            average.update(net)
        if step % 150 == 0:
            with borrowed(net, averages[6.94]):
                dist = distance(heun(net, 100), held)
            print(f"{step} loss {loss.item():+.3f} weighted error {raw:.3f} norm {norm:.2f} retries {retries} distance {dist:.3f}")
    found = []
    for gamma, average in averages.items():
        with borrowed(net, average):
            found.append(f"gamma {gamma}: {distance(heun(net, 300), held):.3f}")
    print(f"EVIDENCE distance to held-out pictures {', '.join(found)}; of noise {distance(SIGMA_DATA * torch.randn(300, SIDE * SIDE), held):.3f}")
