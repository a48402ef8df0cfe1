"""Patch transformer on rendered shapes (disc, square, cross, bars)."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

SIZE, PATCH = 16, 4


def render(n, gen):
    kind = torch.randint(4, (n,), generator=gen)
    cx, cy = (torch.randint(5, 11, (2, n, 1, 1), generator=gen)).float()
    r = torch.randint(3, 5, (n, 1, 1), generator=gen).float()
    g = torch.arange(SIZE).float()
    dx, dy = (g[None, None, :] - cx).abs(), (g[None, :, None] - cy).abs()
    disc = dx**2 + dy**2 <= r**2
    square = torch.maximum(dx, dy) <= r - 1
    cross = (torch.minimum(dx, dy) < 1) & (torch.maximum(dx, dy) <= r)
    bars = (torch.maximum(dx, dy) <= r) & (dx % 2 == 0)
    img = torch.stack([disc, square, cross, bars], dim=1).float()
    img = img[torch.arange(n), kind]
    return img + 0.15 * torch.randn(n, SIZE, SIZE, generator=gen), kind


def patchify(img):
    n, k = len(img), SIZE // PATCH
    p = img.view(n, k, PATCH, k, PATCH).transpose(2, 3)
    return p.reshape(n, k * k, PATCH * PATCH)


class ViT(nn.Module):
    def __init__(self, dim=48, heads=4, depth=2, classes=4):
        super().__init__()
        tokens = (SIZE // PATCH) ** 2
        self.embed = nn.Linear(PATCH * PATCH, dim)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.pos = nn.Parameter(torch.zeros(1, tokens + 1, dim))
        layer = nn.TransformerEncoderLayer(
            dim, heads, 2 * dim, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.body = nn.TransformerEncoder(layer, depth, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, classes)
        self.apply(self._init)

    @staticmethod
    def _init(m):
        if isinstance(m, nn.Linear):
            with torch.no_grad():
                m.weight.normal_(0.0, 0.08).clamp_(-0.16, 0.16)
            nn.init.zeros_(m.bias)

    def forward(self, img):
        x = self.embed(patchify(img))
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], dim=1) + self.pos
        return self.head(self.norm(self.body(x)[:, 0]))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--steps", type=int, default=50)
    ap.add_argument("--batch", type=int, default=64)
    args = ap.parse_args()

    torch.manual_seed(args.seed)
    net = ViT()
    opt = torch.optim.AdamW(net.parameters(), lr=args.lr, weight_decay=0.01)
    gen = torch.Generator().manual_seed(args.seed + 17)
    for step in range(args.steps):
        img, kind = render(args.batch, gen)
        loss = F.cross_entropy(net(img), kind)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.6f}")

    img, kind = render(400, torch.Generator().manual_seed(2024))
    net.eval()
    with torch.no_grad():
        acc = (net(img).argmax(1) == kind).float().mean().item()
    print(f"EVIDENCE shape_acc={acc:.4f}")


if __name__ == "__main__":
    main()
