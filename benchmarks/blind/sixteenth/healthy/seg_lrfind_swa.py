"""Binary segmentation with ignore label: learning rate range test on a throw-away state, loss-spike skipping, plateau
rollback to the best state, then SWA with batch-norm recalibration."""
import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel, SWALR, update_bn
from torch.utils.data import DataLoader, TensorDataset

IGNORE = 255


def make_blobs(n, seed, size=24):
    g = torch.Generator().manual_seed(seed)
    yy, xx = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
    c = torch.rand(n, 2, 1, 1, generator=g) * size
    r = 3 + 5 * torch.rand(n, 1, 1, generator=g)
    dist = ((yy - c[:, 0]) ** 2 + (xx - c[:, 1]) ** 2).sqrt()
    mask = (dist < r).long()
    image = 0.6 * mask.float() + 0.5 * torch.randn(n, size, size, generator=g)
    mask[(dist - r).abs() < 0.7] = IGNORE  # annotators disagree at the border
    return TensorDataset(image.unsqueeze(1), mask)


def layer(cin, cout, dilation=1):
    return nn.Sequential(nn.Conv2d(cin, cout, 3, padding=dilation, dilation=dilation, bias=False),
                         nn.BatchNorm2d(cout), nn.LeakyReLU(0.1))


class DilatedNet(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.body = nn.Sequential(layer(1, width), layer(width, width, 2), layer(width, width, 4), layer(width, width, 2))
        self.out = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        return self.out(self.body(x)).squeeze(1)


def masked_bce(logits, mask):
    keep = mask != IGNORE
    return F.binary_cross_entropy_with_logits(logits[keep], mask[keep].float())


@torch.no_grad()
def iou(model, loader):
    model.eval()
    inter = union = 0
    for x, y in loader:
        keep, p = y != IGNORE, model(x) > 0
        inter += (p & (y == 1) & keep).sum().item()
        union += ((p | (y == 1)) & keep).sum().item()
    model.train()
    return inter / max(union, 1)


def lr_range_test(model, loader, base_lr, points=12):
    """Exponentially rising rate from base_lr / 30 to base_lr * 30; model and generator state are restored afterwards."""
    keep, rng = copy.deepcopy(model.state_dict()), torch.get_rng_state()
    opt = torch.optim.SGD(model.parameters(), lr=base_lr, momentum=0.9)
    curve, feed = [], iter(loader)
    for i in range(points):
        rate = base_lr / 30 * 900 ** (i / (points - 1))
        opt.param_groups[0]["lr"] = rate
        x, y = next(feed)
        loss = masked_bce(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        curve.append((rate, loss.item()))
        if loss.item() > 4 * curve[0][1]:
            break
    model.load_state_dict(keep)
    model.zero_grad(set_to_none=True)
    torch.set_rng_state(rng)
    drops = [(curve[i + 1][1] - curve[i][1], curve[i][0]) for i in range(len(curve) - 1)]
    return min(max(min(drops)[1], base_lr / 3), base_lr * 3)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.03)
    ap.add_argument("--steps", type=int, default=180)
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)

    train = DataLoader(make_blobs(256, args.seed), batch_size=16, shuffle=True)
    val = DataLoader(make_blobs(64, 900 + args.seed), batch_size=64)
    model = DilatedNet()
    lr = lr_range_test(model, train, args.lr)
    print(f"range test chose lr {lr:.4f}")

    opt = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, nesterov=True, weight_decay=1e-4)
    swa, swa_start = AveragedModel(model), int(0.7 * args.steps)
    swa_sched, every = None, max(5, args.steps // 12)
    best, best_state, poor, skipped, ema_loss, step = -1.0, None, 0, 0, None, 0
    while step < args.steps:
        for x, y in train:
            loss = masked_bce(model(x), y)
            opt.zero_grad()
            step += 1
            if ema_loss is not None and loss.item() > 3 * ema_loss:
                skipped += 1  # spike: this batch is not used
                ema_loss *= 1.1
            else:
                loss.backward()
                opt.step()
                ema_loss = loss.item() if ema_loss is None else 0.9 * ema_loss + 0.1 * loss.item()
            if step >= swa_start:
                if swa_sched is None:
                    model.load_state_dict(best_state["model"])  # averaging starts at the best point so far
                    opt.load_state_dict(best_state["opt"])
                    swa_sched = SWALR(opt, swa_lr=0.5 * opt.param_groups[0]["lr"], anneal_epochs=5)
                if step % 3 == 0:
                    swa.update_parameters(model)
                    swa_sched.step()
            elif step % every == 0 or step == swa_start - 1:
                score = iou(model, val)
                if score > best:
                    best, poor = score, 0
                    best_state = copy.deepcopy({"model": model.state_dict(), "opt": opt.state_dict()})
                else:
                    poor += 1
                if poor == 2:
                    model.load_state_dict(best_state["model"])
                    opt.load_state_dict(best_state["opt"])
                    for g in opt.param_groups:
                        g["lr"] *= 0.5
                    best_state["opt"] = copy.deepcopy(opt.state_dict())
                    poor = 0
                    print(f"step {step} rolled back, lr {opt.param_groups[0]['lr']:.4f}")
                print(f"step {step} loss {ema_loss:.4f} val IoU {score:.4f}")
            if step >= args.steps:
                break
    update_bn(train, swa)
    print(f"EVIDENCE best_iou={best:.4f} last_iou={iou(model, val):.4f} swa_iou={iou(swa, val):.4f} skipped={skipped}")


if __name__ == "__main__":
    main()
