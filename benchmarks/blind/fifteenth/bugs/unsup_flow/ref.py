"""Unsupervised optical flow between two frames: a small conv net, photometric loss through a backward warp."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

SIZE = 24


def smooth_texture(gen, size, n=1):
    """Random texture without anything finer than three pixels."""
    coarse = torch.rand(n, 1, size // 3, size // 3, generator=gen)
    return F.interpolate(coarse, size=(size, size), mode="bicubic", align_corners=False)


class MovingCrops(Dataset):
    """Pairs of frames cut from a larger texture; the second one is moved by up to two pixels."""

    def __init__(self, n, seed):
        gen = torch.Generator().manual_seed(seed)
        up = 4  # the texture is four times as fine as the frames, so that motion is sub-pixel
        self.items = []
        for _ in range(n):
            tex = F.interpolate(smooth_texture(gen, SIZE + 12), scale_factor=up, mode="bicubic", align_corners=False)[0]
            dx, dy = (torch.randint(-2 * up, 2 * up + 1, (2,), generator=gen)).tolist()
            o = 5 * up
            first = tex[:, o:o + SIZE * up:up, o:o + SIZE * up:up]
            second = tex[:, o - dy:o - dy + SIZE * up:up, o - dx:o - dx + SIZE * up:up]
            flow = torch.tensor([dx / up, dy / up])
            self.items.append((first.clone(), second.clone(), flow))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


class FlowNet(nn.Module):
    def __init__(self, w=16):
        super().__init__()
        self.enc = nn.Sequential(nn.Conv2d(1, w, 5, padding=2), nn.ReLU(), nn.Conv2d(w, w, 3, padding=1))
        self.dec = nn.Sequential(
            nn.Conv2d(27, 2 * w, 3, padding=1), nn.ReLU(),
            nn.Conv2d(2 * w, w, 3, padding=1), nn.ReLU(),
            nn.Conv2d(w, 2, 3, padding=1))

    def forward(self, a, b):
        fa, fb = F.normalize(self.enc(a), dim=1), F.normalize(self.enc(b), dim=1)
        padded = F.pad(fb, (2, 2, 2, 2), mode="replicate")
        h, w = fa.shape[-2:]
        cost = [(fa * padded[..., i:i + h, j:j + w]).sum(1) for i in range(5) for j in range(5)]
        line = torch.linspace(-1, 1, w).expand(len(a), 1, h, w)
        return self.dec(torch.cat([torch.stack(cost, 1) * 3, line, line.transpose(2, 3)], 1))


def warp(img, flow):
    """Fetches img at x + flow(x)."""
    n, _, h, w = img.shape
    ys, xs = torch.meshgrid(torch.arange(h, dtype=img.dtype), torch.arange(w, dtype=img.dtype), indexing="ij")
    x = 2.0 * (xs + flow[:, 0]) / (w - 1) - 1.0
    y = 2.0 * (ys + flow[:, 1]) / (h - 1) - 1.0
    return F.grid_sample(img, torch.stack([x, y], -1), padding_mode="border", align_corners=True)


def charbonnier(x):
    return (x * x + 1e-4).sqrt()


def loss_fn(a, b, flow):
    photo = charbonnier(warp(b, flow) - a).mean()
    smooth = charbonnier(flow.diff(dim=2)).mean() + charbonnier(flow.diff(dim=3)).mean()
    return photo + 0.02 * smooth, photo


@torch.no_grad()
def end_point_error(net, loader):
    total, stretch, n = 0.0, 0.0, 0
    for a, b, true in loader:
        diff = net(a, b) - true[:, :, None, None]
        total += diff.norm(dim=1).mean().item() * len(a)
        # do the left and the right third agree on the horizontal motion?
        u = diff[:, 0, 3:-3]
        stretch += (u[..., 2:8].mean() - u[..., -8:-2].mean()).item() * len(a)
        n += len(a)
    return total / n, stretch / n


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=4e-3)
    p.add_argument("--steps", type=int, default=240)
    a = p.parse_args()
    torch.manual_seed(a.seed)
    torch.set_num_threads(1)
    train = DataLoader(MovingCrops(320, a.seed + 1), batch_size=12, shuffle=True, drop_last=True)
    test = DataLoader(MovingCrops(72, a.seed + 1000), batch_size=36)
    net = FlowNet()
    opt = torch.optim.Adam(net.parameters(), lr=a.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, T_max=a.steps)
    step = 0
    while step < a.steps:
        for first, second, _ in train:
            loss, photo = loss_fn(first, second, net(first, second))
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            if step % 50 == 0:
                print(f"step {step} loss {loss.item():.4f} photometric {photo.item():.4f}")
            step += 1
            if step >= a.steps:
                break
    net.eval()
    epe, stretch = end_point_error(net, test)
    print(f"EVIDENCE end-point error {epe:.3f} pixels, left minus right {stretch:+.3f}")


if __name__ == "__main__":
    main()
