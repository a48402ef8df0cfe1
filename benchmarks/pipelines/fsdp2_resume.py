"""FSDP2 with a mixed precision policy and a distributed checkpoint: sharded state saved, loaded, training goes on."""

import tempfile

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

from options import options


def build(args, mesh):
    model = nn.Sequential(
        nn.Linear(64, 2 * args.width), nn.ReLU(), nn.Linear(2 * args.width, args.width), nn.ReLU(), nn.Linear(args.width, 10)
    )
    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for layer in (model[0], model[2]):
        fully_shard(layer, mesh=mesh, mp_policy=policy)
    fully_shard(model, mesh=mesh, mp_policy=policy)
    return model, torch.optim.Adam(model.parameters(), lr=args.lr)


def train(model, optimizer, loader, sampler, epochs):
    model.train()
    for epoch in epochs:
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x).float(), y)
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    return loss.item()


def worker(rank, folder, args):
    from sklearn.datasets import load_digits

    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    mesh = init_device_mesh("cpu", (2,))
    digits = load_digits()
    data = TensorDataset(torch.tensor(digits.data, dtype=torch.float32) / 16, torch.tensor(digits.target))
    sampler = DistributedSampler(data, shuffle=True)
    loader = DataLoader(data, batch_size=64, sampler=sampler)
    half = max(1, args.steps // len(loader) // 2)

    model, optimizer = build(args, mesh)
    first = train(model, optimizer, loader, sampler, range(half))
    model_state, optim_state = get_state_dict(model, optimizer)
    dcp.save({"model": model_state, "optim": optim_state}, checkpoint_id=f"{folder}/checkpoint")

    model, optimizer = build(args, mesh)
    model_state, optim_state = get_state_dict(model, optimizer)
    state = {"model": model_state, "optim": optim_state}
    dcp.load(state, checkpoint_id=f"{folder}/checkpoint")
    set_state_dict(model, optimizer, model_state_dict=state["model"], optim_state_dict=state["optim"])
    second = train(model, optimizer, loader, sampler, range(half, 2 * half))
    if rank == 0:
        print(f"loss {first:.3f}, resumed {second:.3f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(worker, args=(folder, options(lr=2e-3, width=32, steps=30)), nprocs=2)

# SPDX-License-Identifier: Apache-2.0
