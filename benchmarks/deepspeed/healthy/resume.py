"""DeepSpeed, ZeRO 1: stopped after half of the steps and resumed by a new engine from its checkpoint, two ranks."""

import logging
import shutil
import tempfile

import deepspeed
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_breast_cancer
from torch.utils.data import TensorDataset

from options import options

BATCH = 16


def make(args):
    model = nn.Sequential(nn.Linear(30, args.width), nn.Tanh(), nn.Linear(args.width, args.width), nn.Tanh(), nn.Linear(args.width, 2))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.98)
    engine, _, _, _ = deepspeed.initialize(
        model=model,
        optimizer=optimizer,
        lr_scheduler=schedule,
        config={
            "train_micro_batch_size_per_gpu": BATCH,
            "zero_optimization": {"stage": 1},
            "zero_allow_untested_optimizer": True,
        },
    )
    return engine


def train(engine, data, order, steps):
    rank, world = dist.get_rank(), dist.get_world_size()
    x, y = data.tensors
    for step in steps:
        start = (step * world + rank) * BATCH % (len(order) - BATCH)
        rows = order[start : start + BATCH]
        loss = F.cross_entropy(engine(x[rows]), y[rows])
        engine.backward(loss)
        engine.step()
    return loss.item()


def main():
    args = options(lr=0.05, width=24, steps=36)
    torch.set_num_threads(1)
    deepspeed.init_distributed("gloo")
    torch.manual_seed(args.seed)
    cancer = load_breast_cancer()
    x = torch.tensor(cancer.data, dtype=torch.float32)
    data = TensorDataset((x - x.mean(0)) / x.std(0), torch.tensor(cancer.target))
    order = torch.randperm(len(x), generator=torch.Generator().manual_seed(args.seed))
    folder = [tempfile.mkdtemp() if dist.get_rank() == 0 else None]
    dist.broadcast_object_list(folder)

    engine = make(args)
    half = args.steps // 2
    first = train(engine, data, order, range(half))
    engine.save_checkpoint(folder[0], client_state={"step": half})
    engine = make(args)
    _, client_state = engine.load_checkpoint(folder[0])
    last = train(engine, data, order, range(client_state["step"], args.steps))
    dist.barrier()
    if dist.get_rank() == 0:
        shutil.rmtree(folder[0])
        print(f"loss {first:.3f} before the checkpoint, {last:.3f} at the end")
    dist.destroy_process_group()


if __name__ == "__main__":
    logging.disable(logging.INFO)
    main()

# SPDX-License-Identifier: Apache-2.0
