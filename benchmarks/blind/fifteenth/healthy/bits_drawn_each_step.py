"""Any-precision training: the number of bits is drawn in every step, steps of quantisation are learned (LSQ),
the network runs through torch.compile with the eager backend, each width has norms of its own."""
import argparse
import math

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

BITS = (2, 4, 8)


class LearnedStep(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, step, low, high, shrink):
        ctx.save_for_backward(x, step)
        ctx.limits = low, high, shrink
        return (x / step).clamp(low, high).round() * step

    @staticmethod
    def backward(ctx, grad):
        x, step = ctx.saved_tensors
        low, high, shrink = ctx.limits
        level = x / step
        inside = (level >= low) & (level <= high)
        slope = torch.where(inside, level.round() - level, level.clamp(low, high))
        return grad * inside, (grad * slope).sum().view_as(step) * shrink, None, None, None


class AnyBitConv(nn.Conv2d):
    """Weights with one learned step per width; the first use of a width sets it from the data."""

    def __init__(self, *a, **k):
        super().__init__(*a, **k)
        self.steps = nn.ParameterDict({str(b): nn.Parameter(torch.tensor(1.0)) for b in BITS})
        self.register_buffer("seen", torch.zeros(9, dtype=torch.bool))
        self.bits = 32

    def forward(self, x):
        if self.bits == 32:
            return super().forward(x)
        high = 2 ** (self.bits - 1) - 1
        step = self.steps[str(self.bits)]
        if not self.seen[self.bits]:
            with torch.no_grad():
                step.copy_(2 * self.weight.abs().mean() / math.sqrt(max(high, 1)))
            self.seen[self.bits] = True
        w = LearnedStep.apply(self.weight, step, -high - 1, high, 1 / math.sqrt(self.weight.numel() * max(high, 1)))
        return F.conv2d(x, w, self.bias, self.stride, self.padding)


class SwitchNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norms = nn.ModuleDict({str(b): nn.BatchNorm2d(width) for b in (*BITS, 32)})
        self.bits = 32

    def forward(self, x):
        return self.norms[str(self.bits)](x)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 24, 3, padding=1)
        self.layers = nn.ModuleList(AnyBitConv(24, 24, 3, padding=1, bias=False) for _ in range(3))
        self.norms = nn.ModuleList(SwitchNorm(24) for _ in range(3))
        self.head = nn.Linear(24, 10)

    def switch(self, bits):
        for m in self.modules():
            if isinstance(m, (AnyBitConv, SwitchNorm)):
                m.bits = bits

    def forward(self, x):
        x = F.relu(self.stem(x))
        for conv, norm in zip(self.layers, self.norms):
            x = x + F.relu(norm(conv(x)))
        return self.head(x.mean((2, 3)))


@torch.no_grad()
def test(net, x, y):
    net.eval()
    scores = {}
    for bits in (*BITS, 32):
        net.switch(bits)
        scores[bits] = (net(x).argmax(1) == y).float().mean().item()
    net.train()
    return scores


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=180)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    digits = load_digits()
    x = torch.tensor(digits.images, dtype=torch.float32).unsqueeze(1) / 16
    y = torch.tensor(digits.target)
    order = torch.randperm(len(x))
    tr, te = order[:1300], order[1300:]

    net = Net()
    compiled = torch.compile(net, backend="eager")
    steps_ = [p for n, p in net.named_parameters() if ".steps." in n]
    rest = [p for n, p in net.named_parameters() if ".steps." not in n]
    opt = torch.optim.AdamW([{"params": rest, "weight_decay": 1e-2}, {"params": steps_, "lr": args.lr / 8, "weight_decay": 0.0}], lr=args.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(opt, max(1, args.steps))
    warm = args.steps // 8
    for step in range(args.steps):
        idx = tr[torch.randint(0, len(tr), (64,))]
        xb, yb = x[idx], y[idx]
        opt.zero_grad()
        net.switch(32)
        full = compiled(xb)
        loss = F.cross_entropy(full, yb)
        if step >= warm:
            bits = BITS[int(torch.randint(0, len(BITS), ()))]
            net.switch(bits)
            soft = full.detach().softmax(1)
            # low widths learn from the full one, in every third step from labels, too
            low = compiled(xb)
            loss = loss + F.kl_div(low.log_softmax(1), soft, reduction="batchmean")
            if step % 3 == 0:
                loss = loss + 0.5 * F.cross_entropy(low, yb)
        loss.backward()
        opt.step()
        schedule.step()
        with torch.no_grad():
            for p in steps_:
                p.clamp_(min=1e-4)
        if (step + 1) % 60 == 0:
            print(step + 1, f"loss {loss.item():.4f}", {k: round(v, 3) for k, v in test(net, x[te], y[te]).items()})
    final = test(net, x[te], y[te])
    print("EVIDENCE accuracy by bits", " ".join(f"{k}:{v:.4f}" for k, v in final.items()))
