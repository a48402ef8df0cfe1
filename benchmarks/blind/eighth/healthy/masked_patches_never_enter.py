"""A masked autoencoder: three quarters of the patches never enter the encoder; then a probe on frozen features."""
import argparse

import torch
from torch import nn
from sklearn.datasets import load_digits


class MAE(nn.Module):
    def __init__(self, patches=16, pixels=4, dim=32):
        super().__init__()
        self.patch_embed = nn.Linear(pixels, dim)
        self.pos_embed = nn.Parameter(0.02 * torch.randn(1, patches + 1, dim), requires_grad=False)
        self.decoder_pos_embed = nn.Parameter(0.02 * torch.randn(1, patches + 1, dim))
        self.cls_token, self.mask_token = nn.Parameter(0.02 * torch.randn(1, 1, dim)), nn.Parameter(torch.zeros(1, 1, dim))
        layer = lambda: nn.TransformerEncoderLayer(dim, 4, 64, dropout=0.0, batch_first=True, norm_first=True)
        self.encoder, self.decoder = layer(), layer()
        self.norm, self.pred = nn.LayerNorm(dim), nn.Linear(dim, pixels)

    def random_masking(self, x, ratio):
        n, length, dim = x.shape
        keep = int(length * (1 - ratio))
        shuffle = torch.rand(n, length).argsort(1)
        restore = shuffle.argsort(1)
        kept = x.gather(1, shuffle[:, :keep, None].expand(-1, -1, dim))
        mask = torch.ones(n, length)
        mask[:, :keep] = 0
        return kept, mask.gather(1, restore), restore

    def features(self, patches, ratio=0.0):
        x = self.patch_embed(patches) + self.pos_embed[:, 1:]
        mask = restore = None
        if ratio > 0:
            x, mask, restore = self.random_masking(x, ratio)
        cls = (self.cls_token + self.pos_embed[:, :1]).expand(len(x), -1, -1)
        return self.norm(self.encoder(torch.cat([cls, x], 1))), mask, restore

    def forward(self, patches, ratio=0.75):
        x, mask, restore = self.features(patches, ratio)
        filler = self.mask_token.expand(len(x), restore.shape[1] + 1 - x.shape[1], -1)
        body = torch.cat([x[:, 1:], filler], 1).gather(1, restore[..., None].expand(-1, -1, x.shape[2]))
        out = self.pred(self.decoder(torch.cat([x[:, :1], body], 1) + self.decoder_pos_embed))[:, 1:]
        mean, var = patches.mean(-1, keepdim=True), patches.var(-1, keepdim=True)
        target = (patches - mean) / (var + 1e-2).sqrt()
        return ((out - target).pow(2).mean(-1) * mask).sum() / mask.sum()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=150)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    digits = load_digits()
    images = torch.tensor(digits.images, dtype=torch.float32) / 16
    patches = images.unfold(1, 2, 2).unfold(2, 2, 2).reshape(len(images), 16, 4)
    labels = torch.tensor(digits.target)
    order = torch.randperm(len(patches))
    patches, labels = patches[order], labels[order]
    model = MAE()
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=args.lr, betas=(0.9, 0.95))
    warm = max(1, args.steps // 10)
    for step in range(args.steps):
        for group in optimizer.param_groups:
            group["lr"] = args.lr * min(1.0, (step + 1) / warm)
        loss = model(patches[torch.randint(1400, (48,))])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 50 == 49:
            print(f"step {step + 1}: loss {loss.item():.4f}")
    model.requires_grad_(False).eval()
    features = model.features(patches)[0][:, 1:].mean(1)
    features = (features - features[:1400].mean(0)) / (features[:1400].std(0) + 1e-6)
    probe = nn.Linear(32, 10)
    sgd = torch.optim.SGD(probe.parameters(), lr=50 * args.lr, momentum=0.9)
    for step in range(args.steps):
        rows = torch.randint(1400, (128,))
        loss = nn.functional.cross_entropy(probe(features[rows]), labels[rows])
        sgd.zero_grad()
        loss.backward()
        sgd.step()
    print(f"probe: right {(probe(features[1400:]).argmax(1) == labels[1400:]).float().mean().item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
