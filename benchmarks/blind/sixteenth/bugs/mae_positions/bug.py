"""Masked autoencoder (MAE) on 12x12 images: encode a random half of the patches, reconstruct the rest."""
import argparse
import math

import numpy as np
import torch
import torch.nn as nn
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

PATCH, GRID = 3, 4
TOKENS, PIXELS = GRID * GRID, PATCH * PATCH


def load_images(seed):
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16.0
    x = torch.nn.functional.interpolate(x, size=(12, 12), mode="bilinear", align_corners=False)
    order = torch.from_numpy(np.random.default_rng(seed).permutation(len(x)))
    x, y = x[order], torch.tensor(digits.target)[order]
    mean, std = x[:1400].mean(), x[:1400].std()
    x = (x - mean) / std
    return (x[:1400], y[:1400]), (x[1400:], y[1400:])


def patchify(x):
    b = len(x)
    x = x.reshape(b, GRID, PATCH, GRID, PATCH).permute(0, 1, 3, 2, 4)
    return x.reshape(b, TOKENS, PIXELS)


def sincos_2d(dim):
    omega = 1.0 / 100 ** (torch.arange(dim // 4) / (dim // 4))
    ys, xs = torch.meshgrid(torch.arange(GRID), torch.arange(GRID), indexing="ij")
    ay, ax = ys.reshape(-1, 1) * omega, xs.reshape(-1, 1) * omega
    return torch.cat([ay.sin(), ay.cos(), ax.sin(), ax.cos()], 1).unsqueeze(0)


def encoder(dim, depth):
    layer = nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
    return nn.TransformerEncoder(layer, depth, norm=nn.LayerNorm(dim), enable_nested_tensor=False)


class MAE(nn.Module):
    def __init__(self, dim=48, dec_dim=32, mask_ratio=0.5):
        super().__init__()
        self.keep = int(TOKENS * (1 - mask_ratio))
        self.embed = nn.Linear(PIXELS, dim)
        self.register_buffer("pos", sincos_2d(dim))
        self.encoder = encoder(dim, 1)
        self.to_dec = nn.Linear(dim, dec_dim)
        self.mask_token = nn.Parameter(torch.zeros(1, 1, dec_dim))
        nn.init.normal_(self.mask_token, std=0.02)
        self.register_buffer("dec_pos", sincos_2d(dec_dim))
        self.decoder = encoder(dec_dim, 1)
        self.head = nn.Linear(dec_dim, PIXELS)

    def random_masking(self, tokens):
        b, n, d = tokens.shape
        noise = torch.rand(b, n)
        ids_shuffle = noise.argsort(1)
        ids_restore = ids_shuffle.argsort(1)
        ids_keep = ids_shuffle[:, :self.keep]
        visible = tokens.gather(1, ids_keep.unsqueeze(-1).expand(-1, -1, d))
        mask = torch.ones(b, n)
        mask[:, :self.keep] = 0
        return visible, mask.gather(1, ids_restore), ids_restore

    def forward(self, x):
        target = patchify(x)
        visible, mask, ids_restore = self.random_masking(self.embed(target))
        latent = self.to_dec(self.encoder(visible + self.pos[:, :self.keep]))
        b, _, d = latent.shape
        fill = self.mask_token.expand(b, TOKENS - self.keep, d)
        full = torch.cat([latent, fill], 1).gather(1, ids_restore.unsqueeze(-1).expand(-1, -1, d))
        pred = self.head(self.decoder(full + self.dec_pos))
        err = ((pred - target) ** 2).mean(-1)
        return (err * mask).sum() / mask.sum()

    @torch.no_grad()
    def features(self, x):
        return self.encoder(self.embed(patchify(x)) + self.pos).mean(1)


@torch.no_grad()
def reconstruction_error(model, x):
    model.eval()
    err = sum(model(x).item() for _ in range(2)) / 2
    model.train()
    return err


def probe(model, train, test):
    model.eval()
    clf = make_pipeline(StandardScaler(), LogisticRegression(max_iter=300))
    clf.fit(model.features(train[0]).numpy(), train[1].numpy())
    return clf.score(model.features(test[0]).numpy(), test[1].numpy())


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=500)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)

    train, test = load_images(args.seed)
    model = MAE()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, betas=(0.9, 0.95), weight_decay=0.05)
    warm = max(1, args.steps // 10)
    sched = torch.optim.lr_scheduler.LambdaLR(
        opt, lambda s: min((s + 1) / warm, 0.5 * (1 + math.cos(math.pi * s / args.steps))))
    for step in range(1, args.steps + 1):
        idx = torch.randint(len(train[0]), (32,))
        loss = model(train[0][idx])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % 100 == 0:
            print(f"step {step} loss {loss.item():.4f} val {reconstruction_error(model, test[0]):.4f}")
    print(f"EVIDENCE val_masked_mse={reconstruction_error(model, test[0]):.4f} probe_acc={probe(model, train, test):.4f}")


if __name__ == "__main__":
    main()
