"""Fine-tune a pretrained digit classifier on blurred, shifted digits: data parallel by hand, two gloo ranks."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F


class Classifier(nn.Module):
    def __init__(self, width=128, classes=10):
        super().__init__()
        self.body = nn.Sequential(
            nn.Linear(64, width), nn.GELU(), nn.LayerNorm(width),
            nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width),
        )
        self.drop = nn.Dropout(0.1)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        return self.head(self.drop(self.body(x.flatten(1))))


def load_images():
    from sklearn.datasets import load_digits
    x, y = load_digits(return_X_y=True)
    x = torch.tensor(x / 16.0, dtype=torch.float32).view(-1, 8, 8)
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(0))
    return x[order], torch.tensor(y)[order]


def degrade(x):
    """The target domain: one pixel to the right and a 3x3 box blur."""
    shifted = torch.roll(x, 1, dims=2)
    return F.avg_pool2d(shifted[:, None], 3, stride=1, padding=1)[:, 0]


def pretrain(x, y, path, seed, steps=100):
    torch.manual_seed(seed)
    model = Classifier()
    opt = torch.optim.Adam(model.parameters(), lr=2e-3)
    for _ in range(steps):
        idx = torch.randint(0, len(x), (64,))
        loss = F.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    torch.save(model.state_dict(), path)


def broadcast_state(model, src=0):
    for tensor in model.state_dict().values():
        dist.broadcast(tensor, src=src)


def average_grads(params, world):
    flat = torch.cat([p.grad.flatten() for p in params])
    dist.all_reduce(flat)
    flat /= world
    for p, chunk in zip(params, flat.split([p.numel() for p in params])):
        p.grad.copy_(chunk.view_as(p))


@torch.no_grad()
def evaluate(model, x, y, rank, world):
    """Every rank scores its part of the test images."""
    model.eval()
    logits, target = model(x[rank::world]), y[rank::world]
    stats = torch.stack([
        F.cross_entropy(logits, target, reduction="sum"),
        (logits.argmax(1) == target).sum().float(),
        torch.tensor(float(len(target))),
    ])
    dist.all_reduce(stats)
    return (stats[0] / stats[2]).item(), (stats[1] / stats[2]).item()


def finetune(rank, world, args, folder, few, test):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{folder}/init", rank=rank, world_size=world)
    torch.manual_seed(args.seed * world + rank)          # every rank draws its own batches and dropout masks
    x, y = few[0][rank::world], few[1][rank::world]

    model = Classifier()
    if rank == 0:                                        # only the first rank reads the file system
        model.load_state_dict(torch.load(os.path.join(folder, "pretrained.pt")))
    broadcast_state(model)
    params = list(model.parameters())
    opt = torch.optim.SGD(params, lr=args.lr, momentum=0.9)
    for step in range(1, args.steps + 1):
        idx = torch.randint(0, len(x), (args.batch,))
        loss = F.cross_entropy(model(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        average_grads(params, world)
        opt.step()
        if step % 20 == 0 and rank == 0:
            print(f"step {step} loss {loss.item():.4f}", flush=True)
    loss, acc = evaluate(model, *test, rank, world)
    if rank == 0:
        print(f"EVIDENCE target_loss={loss:.4f} target_accuracy={acc:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=0.005)
    p.add_argument("--steps", type=int, default=60)
    p.add_argument("--batch", type=int, default=16)
    args = p.parse_args()
    torch.set_num_threads(1)
    x, y = load_images()
    few = degrade(x[900:980]), y[900:980]
    test = degrade(x[980:]), y[980:]
    with tempfile.TemporaryDirectory() as folder:
        pretrain(x[:900], y[:900], os.path.join(folder, "pretrained.pt"), args.seed)
        mp.spawn(finetune, args=(2, args, folder, few, test), nprocs=2)


if __name__ == "__main__":
    main()
