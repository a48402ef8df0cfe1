"""SwAV-style clustering on digits: Sinkhorn codes, late feature queue, frozen prototypes at first, LARS-like rule."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits


def crop(x, size):
    """Random crop of every image to size x size, resized back, with jitter."""
    n = x.size(0)
    scale = torch.full((n,), size / 8.0)
    room = 1 - scale
    shift = (torch.rand(n, 2) * 2 - 1) * room[:, None]
    theta = torch.zeros(n, 2, 3)
    theta[:, 0, 0] = theta[:, 1, 1] = scale
    theta[:, :, 2] = shift
    out = F.grid_sample(x, F.affine_grid(theta, list(x.shape), align_corners=False), align_corners=False)
    return out + 0.05 * torch.randn_like(out)


class SwAV(nn.Module):
    def __init__(self, dim=32, n_proto=30):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, 16, 3, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.head = nn.Sequential(nn.Linear(128, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, dim))
        self.prototypes = nn.Linear(dim, n_proto, bias=False)

    @torch.no_grad()
    def normalize_prototypes(self):
        self.prototypes.weight.copy_(F.normalize(self.prototypes.weight, dim=1))

    def forward(self, views):
        z = F.normalize(self.head(self.backbone(torch.cat(views))), dim=1)
        return z, self.prototypes(z)


@torch.no_grad()
def sinkhorn(scores, eps=0.05, iters=3):
    q = torch.exp((scores - scores.max()) / eps).T
    q /= q.sum()
    k, b = q.shape
    for _ in range(iters):
        q /= q.sum(dim=1, keepdim=True).clamp_min(1e-12)
        q /= k
        q /= q.sum(dim=0, keepdim=True)
        q /= b
    return (q * b).T


class LARS(torch.optim.Optimizer):
    """Layer-wise rates for matrices and kernels only; vectors (biases, norms) use plain momentum SGD."""

    def __init__(self, params, lr, momentum=0.9, weight_decay=1e-5, trust=0.02):
        super().__init__(params, dict(lr=lr, momentum=momentum, weight_decay=weight_decay, trust=trust))

    @torch.no_grad()
    def step(self, closure=None):
        for g in self.param_groups:
            for p in g["params"]:
                if p.grad is None:
                    continue
                d = p.grad
                if p.ndim > 1:
                    d = d.add(p, alpha=g["weight_decay"])
                    pn, dn = p.norm(), d.norm()
                    if pn > 0 and dn > 0:
                        d = d * (g["trust"] * pn / dn)
                buf = self.state[p].setdefault("mu", torch.zeros_like(p))
                buf.mul_(g["momentum"]).add_(d)
                p.add_(buf, alpha=-g["lr"])


@torch.no_grad()
def cluster_accuracy(model, xtr, ytr, xte, yte):
    """Every prototype votes with the majority label of the training images assigned to it."""
    model.eval()
    ctr, cte = (model([v])[1].argmax(dim=1) for v in (xtr, xte))
    model.train()
    table = torch.zeros(model.prototypes.out_features, 10)
    table.index_put_((ctr, ytr), torch.ones(len(ytr)), accumulate=True)
    return (table.argmax(dim=1)[cte] == yte).float().mean().item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.3)
    ap.add_argument("--steps", type=int, default=120)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    d = load_digits()
    perm = torch.randperm(len(d.target))
    x = torch.tensor(d.images, dtype=torch.float32).unsqueeze(1)[perm] / 16
    y = torch.tensor(d.target)[perm]
    xtr, ytr, xte, yte = x[:1400], y[:1400], x[1400:], y[1400:]

    model = SwAV()
    opt = LARS(model.parameters(), lr=args.lr)
    bs, n_local, temp = 128, 2, 0.1
    freeze_for, queue_from, warm = args.steps // 12, args.steps // 3, max(args.steps // 10, 1)
    queue = torch.zeros(2, 2 * bs, 32)
    before = cluster_accuracy(model, xtr, ytr, xte, yte)
    for step in range(args.steps):
        lr = args.lr * (step + 1) / warm if step < warm else \
            0.5 * args.lr * (1 + math.cos(math.pi * (step - warm) / max(args.steps - warm, 1)))
        for g in opt.param_groups:
            g["lr"] = lr
        model.normalize_prototypes()
        xb = xtr[torch.randint(0, len(xtr), (bs,))]
        z, logits = model([crop(xb, 7), crop(xb, 7)] + [crop(xb, 5) for _ in range(n_local)])
        loss = 0.0
        for v in range(2):  # codes come from the two large crops only
            with torch.no_grad():
                scores = logits[v * bs:(v + 1) * bs].detach()
                if step >= queue_from + 2:  # the queue is full two steps after it is switched on
                    scores = torch.cat([model.prototypes(queue[v]), scores])
                if step >= queue_from:
                    queue[v, bs:] = queue[v, :-bs].clone()
                    queue[v, :bs] = z[v * bs:(v + 1) * bs].detach()
                code = sinkhorn(scores)[-bs:]
            others = [u for u in range(2 + n_local) if u != v]
            loss += sum(-(code * F.log_softmax(logits[u * bs:(u + 1) * bs] / temp, dim=1)).sum(1).mean()
                        for u in others) / len(others)
        loss = loss / 2
        opt.zero_grad()
        loss.backward()
        if step < freeze_for:
            for name, p in model.named_parameters():
                if "prototypes" in name:
                    p.grad = None
        opt.step()
        if step % 20 == 0:
            print(f"step {step} loss {loss.item():.4f} lr {lr:.3f} queue {'on' if step >= queue_from else 'off'}")
    after = cluster_accuracy(model, xtr, ytr, xte, yte)
    print(f"EVIDENCE cluster_acc_before={before:.4f} cluster_acc_after={after:.4f} final_loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
