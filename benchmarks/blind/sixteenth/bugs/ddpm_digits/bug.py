"""DDPM (epsilon prediction) on the 8x8 sklearn digits."""
import argparse
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


def time_embedding(t, dim):
    freqs = torch.exp(-math.log(10000.0) * torch.arange(dim // 2) / (dim // 2))
    ang = t.float()[:, None] * freqs[None]
    return torch.cat([ang.sin(), ang.cos()], dim=1)


class ResBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1, self.fc2 = nn.Linear(dim, dim), nn.Linear(dim, dim)

    def forward(self, h, emb):
        return h + self.fc2(F.silu(self.fc1(F.silu(self.norm(h) + emb))))


class Denoiser(nn.Module):
    def __init__(self, data_dim=64, dim=128, depth=3):
        super().__init__()
        self.dim = dim
        self.inp = nn.Linear(data_dim, dim)
        self.time = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim))
        self.blocks = nn.ModuleList(ResBlock(dim) for _ in range(depth))
        self.out = nn.Linear(dim, data_dim)

    def forward(self, x, t):
        emb = self.time(time_embedding(t, self.dim))
        h = self.inp(x)
        for block in self.blocks:
            h = block(h, emb)
        return self.out(h)


class GaussianDiffusion:
    def __init__(self, T=100):
        self.T = T
        self.betas = torch.linspace(1e-3, 0.08, T)
        self.alphas = 1 - self.betas
        self.alpha_bar = torch.cumprod(self.alphas, dim=0)

    def q_sample(self, x0, t, noise=None):
        if noise is None:
            noise = torch.randn_like(x0)
        ab = self.alpha_bar[t].unsqueeze(1)
        return ab.sqrt() * x0 + (1 - ab).sqrt() * noise

    def training_loss(self, model, x0):
        t = torch.randint(0, self.T, (x0.size(0),))
        noise = torch.randn_like(x0)
        x_t = self.q_sample(x0, t)
        return F.mse_loss(model(x_t, t), noise)

    @torch.no_grad()
    def sample(self, model, n, dim=64):
        x = torch.randn(n, dim)
        for i in reversed(range(self.T)):
            eps = model(x, torch.full((n,), i))
            x = (x - self.betas[i] / (1 - self.alpha_bar[i]).sqrt() * eps) / self.alphas[i].sqrt()
            if i > 0:
                x = x + self.betas[i].sqrt() * torch.randn_like(x)
        return x


class EMA:
    def __init__(self, model, decay=0.99):
        self.model, self.decay = copy.deepcopy(model).eval(), decay

    @torch.no_grad()
    def update(self, model):
        for pe, p in zip(self.model.parameters(), model.parameters()):
            pe.mul_(self.decay).add_(p, alpha=1 - self.decay)


@torch.no_grad()
def denoising_rmse(model, diffusion, x0, level=30):
    """Error of the x0 estimate at one noise level, independent of the training loss."""
    t = torch.full((x0.size(0),), level)
    ab = diffusion.alpha_bar[level]
    x_t = ab.sqrt() * x0 + (1 - ab).sqrt() * torch.randn_like(x0)
    x0_hat = (x_t - (1 - ab).sqrt() * model(x_t, t)) / ab.sqrt()
    return (x0_hat - x0).square().mean().sqrt().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=500)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)

    x = torch.tensor(load_digits().data, dtype=torch.float32) / 8 - 1
    x = x[torch.randperm(len(x))]
    train, val = x[:1500], x[1500:]
    loader = DataLoader(TensorDataset(train), batch_size=128, shuffle=True, drop_last=True)

    diffusion, model = GaussianDiffusion(), Denoiser()
    ema = EMA(model)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=args.steps)
    step, running = 0, 0.0
    while step < args.steps:
        for (xb,) in loader:
            if step >= args.steps:
                break
            loss = diffusion.training_loss(model, xb)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            ema.update(model)
            running = loss.item() if step == 0 else 0.95 * running + 0.05 * loss.item()
            if step % 200 == 0:
                print(f"step {step} loss {running:.4f} lr {sched.get_last_lr()[0]:.5f}")
            step += 1

    samples = diffusion.sample(ema.model, 200)
    nearest = torch.cdist(samples, train).min(dim=1)[0].mean().item()
    print(f"EVIDENCE train_loss={running:.4f} denoise_rmse={denoising_rmse(ema.model, diffusion, val):.4f} "
          f"sample_nn_dist={nearest:.3f}")


if __name__ == "__main__":
    main()
