"""Two ranks under DDP: at times one has no pairs in its batch and takes part with a loss of nought."""

import argparse
import os
import tempfile

import numpy as np
import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from sklearn.metrics import average_precision_score
from torch import nn
from torch.nn.parallel import DistributedDataParallel


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(12, 48), nn.ReLU(), nn.Linear(48, 16))
        self.log_scale = nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        return nn.functional.normalize(self.layers(x), dim=1), self.log_scale.clamp(max=3.0).exp()


def batch(rank, centers, rng):
    """The second rank's stream is poor: few things in a batch, often no two of a kind."""
    size = int(rng.integers(12, 30)) if rank == 0 else int(rng.integers(2, 8))
    kinds = rng.integers(len(centers), size=size)
    x = centers[kinds] + 0.7 * rng.normal(size=(size, centers.shape[1]))
    return torch.tensor(x, dtype=torch.float32), torch.tensor(kinds)


def contrast(features, scale, kinds):
    same = kinds[:, None] == kinds[None]
    eye = torch.eye(len(kinds), dtype=torch.bool)
    has_pair = (same & ~eye).any(1)
    if not has_pair.any():
        return None
    logits = (scale * features @ features.t()).masked_fill(eye, -1e4)
    log_p = logits.log_softmax(1)
    positive = (same & ~eye).float()
    return -((log_p * positive).sum(1) / positive.sum(1).clamp(min=1))[has_pair].mean()


@torch.no_grad()
def report(model, rank, centers, seed):
    rng = np.random.default_rng(seed + 17 * rank)
    x, kinds = batch(0, centers, rng)
    features, _ = model.module(x)
    places = torch.triu_indices(len(x), len(x), 1)
    own = ((features @ features.t())[places[0], places[1]].numpy(), (kinds[places[0]] == kinds[places[1]]).numpy())
    everything = [None, None] if rank == 0 else None
    dist.gather_object(own, everything, dst=0)  # parts are of unlike length
    if rank == 0:
        scores, truth = (np.concatenate(part) for part in zip(*everything))
        return average_precision_score(truth, scores) if truth.any() else float("nan")


def main(rank, folder, args):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    centers = np.random.default_rng(args.seed).normal(size=(14, 12))
    rng = np.random.default_rng([args.seed, rank])
    model = DistributedDataParallel(Encoder())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    empty = 0
    for step in range(1, args.steps + 1):
        x, kinds = batch(rank, centers, rng)
        features, scale = model(x)
        loss = contrast(features, scale, kinds)
        taking_part = torch.tensor(0.0 if loss is None else 1.0)
        empty += loss is None
        if loss is None:
            loss = 0.0 * (features.sum() + scale)
        dist.all_reduce(taking_part)
        if taking_part == 0:
            continue  # both agree that there is nothing
        optimizer.zero_grad()
        (loss * 2 / taking_part.item()).backward()
        optimizer.step()
        if step % 50 == 0:
            precision = report(model, rank, centers, 1000 * args.seed + step)
            if rank == 0:
                print(f"step {step}: loss {loss.item():.3f}, average precision {precision:.3f}", flush=True)
                with open(os.path.join(folder, "log.csv"), "a") as log:
                    log.write(f"{step},{precision}\n")
    print(f"rank {rank} had nothing {empty} times", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=4e-3)
    parser.add_argument("--steps", type=int, default=200)
    with tempfile.TemporaryDirectory() as directory:
        mp.start_processes(main, args=(directory, parser.parse_args()), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
