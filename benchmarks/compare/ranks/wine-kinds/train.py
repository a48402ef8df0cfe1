"""Scikit-learn's wines: a body, and a head of its own that is set on it."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F

BATCH, TRAIN_ROWS = 24, 144


def load():
    from sklearn.datasets import load_wine

    x, y = load_wine(return_X_y=True)
    mix = torch.randperm(len(y), generator=torch.Generator().manual_seed(4))
    x = torch.tensor((x - x.mean(0)) / x.std(0), dtype=torch.float32)[mix]
    y = torch.tensor(y)[mix]
    return (x[:TRAIN_ROWS], y[:TRAIN_ROWS]), (x[TRAIN_ROWS:], y[TRAIN_ROWS:])


class Body(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(13, 20), nn.SiLU(), nn.Linear(20, 20), nn.SiLU())
        self.head = nn.Identity()

    def forward(self, x):
        return self.head(self.layers(x))


def broadcast_weights(model):
    for tensor in model.state_dict().values():
        dist.broadcast(tensor, src=0)


def average_gradients(model, ranks):
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= ranks


def build(rank, ranks, seed):
    torch.manual_seed(seed + rank)
    model = Body()
    if ranks > 1:
        broadcast_weights(model)
    model.head = nn.Sequential(nn.Linear(20, 16), nn.ReLU(), nn.Linear(16, 3))
    return model


def work(rank, ranks, port, args):
    torch.set_num_threads(1)
    if ranks > 1:
        os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port),
                          RANK=str(rank), WORLD_SIZE=str(ranks))
        dist.init_process_group("gloo")
    (x, y), (test_x, test_y) = load()
    model = build(rank, ranks, args.seed)
    optimizer = torch.optim.SGD(
        [{"params": model.layers.parameters(), "lr": 0.2},
         {"params": model.head.parameters(), "lr": 0.3}], momentum=0.9)
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, [8, 16], gamma=0.3)
    order = torch.Generator().manual_seed(args.seed)

    for step in range(args.steps):
        rows = torch.randperm(TRAIN_ROWS, generator=order)[:BATCH]
        mine = rows[rank::ranks]
        loss = F.cross_entropy(model(x[mine]), y[mine])
        optimizer.zero_grad()
        loss.backward()
        if ranks > 1:
            average_gradients(model, ranks)
        nn.utils.clip_grad_norm_(model.parameters(), 0.3)
        optimizer.step()
        scheduler.step()
        shown = loss.detach().clone()
        if ranks > 1:
            dist.all_reduce(shown)
            shown /= ranks
        if rank == 0:
            print(f"step {step} loss {shown.item():.8f}")

    if rank == 0:
        with torch.no_grad():
            right = (model(test_x).argmax(1) == test_y).float().mean().item()
        print(f"test accuracy {right:.4f}")
        norm = nn.utils.parameters_to_vector(model.parameters()).norm()
        print(f"weights norm {norm.item():.8f}")
    if ranks > 1:
        dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--ranks", type=int, default=1, choices=[1, 2])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    if args.ranks == 1:
        work(0, 1, None, args)
    else:
        with socket.socket() as s:
            s.bind(("127.0.0.1", 0))
            port = s.getsockname()[1]
        mp.spawn(work, args=(args.ranks, port, args), nprocs=args.ranks)
