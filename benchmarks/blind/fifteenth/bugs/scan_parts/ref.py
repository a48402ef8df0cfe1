"""Classify scanned parts by shape: an edge-convolution network over the nearest neighbours of each point."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


def scan(n, points, gen):
    """Noisy patches of curled sheets: four classes of how the surface bends at small scale, randomly turned."""
    label = torch.randint(0, 4, (n,), generator=gen)
    uv = torch.rand(n, points, 2, generator=gen) * 2 - 1
    u, v = uv[..., 0], uv[..., 1]
    phase = torch.rand(n, 1, generator=gen) * 6.28
    flat = torch.zeros_like(u)
    bowl = 0.7 * (u**2 + v**2) - 0.4
    ridged = 0.3 * torch.sin(5 * u + phase)
    rough = 0.2 * torch.randn(n, points, generator=gen)
    height = torch.stack([flat, bowl, ridged, rough], 1)[torch.arange(n), label]
    cloud = torch.stack([u, v, height], -1)
    turn, _ = torch.linalg.qr(torch.randn(n, 3, 3, generator=gen))
    cloud = cloud @ turn + 0.02 * torch.randn(cloud.shape, generator=gen)
    return cloud - cloud.mean(1, keepdim=True), label


def square_distance(a, b):
    """(B, N, 3), (B, M, 3) -> (B, N, M)"""
    dist = -2 * a @ b.transpose(1, 2)
    dist = dist + a.square().sum(-1)[:, :, None] + b.square().sum(-1)[:, None, :]
    return dist.clamp(min=1e-12)


def get_graph_feature(coords, feats, k):
    """coords (B, 3, N), feats (B, C, N) -> the centre beside the differences to its neighbours, (B, 2C, N, k)."""
    B, C, N = feats.shape
    dist = square_distance(coords.transpose(1, 2), coords.transpose(1, 2))
    idx = dist.topk(k + 1, dim=-1, largest=False).indices[:, :, 1:]
    idx = idx.unsqueeze(1).repeat(1, C, 1, 1)
    all_feats = feats.unsqueeze(2).repeat(1, 1, N, 1)
    neighbours = torch.gather(all_feats, dim=-1, index=idx)
    centre = feats.unsqueeze(-1).repeat(1, 1, 1, k)
    return torch.cat((centre, neighbours - centre), dim=1)


class EdgeNet(nn.Module):
    def __init__(self, classes=4, k=6, width=24):
        super().__init__()
        self.k = k
        self.conv1 = nn.Conv2d(6, width, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(2 * width, width, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.mix = nn.Conv1d(2 * width, 64, 1)
        self.head = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, classes))

    def forward(self, cloud):
        coords = cloud.transpose(1, 2)
        e1 = get_graph_feature(coords, coords, self.k)
        x1 = F.leaky_relu(self.norm1(self.conv1(e1)), 0.2).amax(-1)
        e2 = get_graph_feature(coords, x1, self.k)
        x2 = F.leaky_relu(self.norm2(self.conv2(e2)), 0.2).amax(-1)
        x = F.leaky_relu(self.mix(torch.cat([x1, x2], 1)), 0.2)
        return self.head(torch.cat([x.amax(-1), x.mean(-1)], 1))


class Fitter:
    def __init__(self, model, lr, steps, seed, points=56, batch=20):
        self.model, self.steps, self.points, self.batch = model, steps, points, batch
        self.gen = torch.Generator().manual_seed(seed + 1000)
        self.opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=1e-3)
        self.sched = torch.optim.lr_scheduler.OneCycleLR(self.opt, max_lr=lr, total_steps=steps)

    def fit(self):
        self.model.train()
        for step in range(1, self.steps + 1):
            cloud, label = scan(self.batch, self.points, self.gen)
            loss = F.cross_entropy(self.model(cloud), label, label_smoothing=0.05)
            self.opt.zero_grad(set_to_none=True)
            loss.backward()
            self.opt.step()
            self.sched.step()
            if step % 40 == 0:
                print(f"step {step:4d}  loss {loss.item():.3f}  lr {self.sched.get_last_lr()[0]:.1e}")
        return self

    @torch.no_grad()
    def accuracy(self, n=400):
        self.model.eval()
        cloud, label = scan(n, self.points, torch.Generator().manual_seed(77))
        guess = torch.cat([self.model(part).argmax(1) for part in cloud.split(100)])
        return [(guess == label)[label == c].float().mean().item() for c in range(4)]


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=5e-3)
    ap.add_argument("--steps", type=int, default=220)
    a = ap.parse_args()
    torch.manual_seed(a.seed)
    torch.set_num_threads(1)
    per_class = Fitter(EdgeNet(), a.lr, a.steps, a.seed).fit().accuracy()
    print("EVIDENCE accuracy %.3f; flat, bowl, ridged, rough %s" % (sum(per_class) / 4, " ".join(f"{p:.2f}" for p in per_class)))
