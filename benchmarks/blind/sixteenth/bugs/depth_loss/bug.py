"""Monocular depth on synthetic corridors: encoder-decoder; masked log-depth L1 + gradient loss."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

H, W = 24, 32


class CorridorDataset(Dataset):
    """RGB picture of a floor plane with a box standing on it; depth in metres, 0 = sensor hole."""

    def __init__(self, n, seed, augment=False):
        gen = torch.Generator().manual_seed(seed)
        self.augment = augment
        self.samples = [self.render(gen) for _ in range(n)]

    @staticmethod
    def render(gen):
        u = torch.rand(8, generator=gen)
        horizon = 4 + 6 * u[0]
        rows = torch.arange(H).float().unsqueeze(1).expand(H, W)
        floor = 12.0 / (rows - horizon).clamp(min=1.0)
        depth = floor.clamp(max=10.0)
        rgb = torch.stack([0.2 + 0.5 * u[1] / depth.sqrt(), 0.3 + 0.3 / depth, 0.6 - 0.3 / depth])
        top, left = int(3 + 8 * u[2]), int(20 * u[3])
        height, width = int(6 + 6 * u[4]), int(6 + 6 * u[5])
        near = 1.0 + 3.0 * u[6]
        depth = depth.clone()
        depth[top:top + height, left:left + width] = near
        colour = torch.tensor([0.9, 0.4, 0.1]) * (1.3 - near / 5)
        rgb[:, top:top + height, left:left + width] = colour.view(3, 1, 1)
        rgb = rgb + 0.04 * torch.randn(rgb.shape, generator=gen)
        holes = torch.rand(H, W, generator=gen) < 0.1
        return rgb.clamp(0, 1), depth.masked_fill(holes, 0.0)

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        rgb, depth = self.samples[i]
        if self.augment and torch.rand(()) < 0.5:
            rgb, depth = rgb.flip(-1), depth.flip(-1)
        if self.augment:
            rgb = (rgb * (0.9 + 0.2 * torch.rand(3, 1, 1))).clamp(0, 1)
        return (rgb - 0.45) / 0.25, depth


def conv(cin, cout, stride=1):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, stride, 1, bias=False), nn.GroupNorm(4, cout), nn.SiLU())


class DepthNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.stem = conv(3, width)
        self.enc1 = conv(width, 2 * width, 2)
        self.enc2 = nn.Sequential(conv(2 * width, 2 * width, 2), conv(2 * width, 2 * width))
        self.dec1 = conv(4 * width, width)
        self.dec2 = conv(2 * width, width)
        self.out = nn.Conv2d(width, 1, 1)
        nn.init.constant_(self.out.bias, 1.0)

    def forward(self, x):
        a = self.stem(x)
        b = self.enc1(a)
        c = F.interpolate(self.enc2(b), scale_factor=2)
        d = F.interpolate(self.dec1(torch.cat([c, b], 1)), scale_factor=2)
        return self.out(self.dec2(torch.cat([d, a], 1)))  # log depth, (B, 1, H, W)


class MaskedDepthLoss(nn.Module):
    def __init__(self, grad_weight=0.5):
        super().__init__()
        self.grad_weight = grad_weight

    def forward(self, log_pred, depth):
        valid = (depth > 0).float()
        target = depth.clamp(min=0.1).log()
        diff = (log_pred - target) * valid
        data = diff.abs().sum() / valid.expand_as(diff).sum().clamp(min=1)
        gx = (diff[..., :, 1:] - diff[..., :, :-1]).abs() * valid[..., :, 1:] * valid[..., :, :-1]
        gy = (diff[..., 1:, :] - diff[..., :-1, :]).abs() * valid[..., 1:, :] * valid[..., :-1, :]
        return data + self.grad_weight * (gx.mean() + gy.mean())


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    rel, good, count = 0.0, 0.0, 0
    for rgb, depth in loader:
        pred = model(rgb)[:, 0].exp()
        m = depth > 0
        rel += ((pred[m] - depth[m]).abs() / depth[m]).sum().item()
        good += (torch.maximum(pred[m] / depth[m], depth[m] / pred[m]) < 1.25).sum().item()
        count += int(m.sum())
    model.train()
    return rel / count, good / count


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=160)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)

    train = DataLoader(CorridorDataset(256, args.seed, augment=True), batch_size=12, shuffle=True)
    val = DataLoader(CorridorDataset(64, 5000 + args.seed), batch_size=32)
    model, criterion = DepthNet(), MaskedDepthLoss()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=args.steps)
    step = 0
    while step < args.steps:
        for rgb, depth in train:
            loss = criterion(model(rgb), depth)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            step += 1
            if step % 40 == 0:
                rel, good = evaluate(model, val)
                print(f"step {step} loss {loss.item():.4f} abs_rel {rel:.4f} delta1 {good:.4f}")
            if step >= args.steps:
                break
    rel, good = evaluate(model, val)
    print(f"EVIDENCE val_abs_rel={rel:.4f} val_delta1={good:.4f}")


if __name__ == "__main__":
    main()
