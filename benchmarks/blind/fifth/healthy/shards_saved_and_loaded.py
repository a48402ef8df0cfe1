"""Two ranks shard a model by fully_shard, reduce after two micro-batches, clip, save the whole state and go on from it."""

import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.distributed.checkpoint.state_dict import StateDictOptions, get_model_state_dict, set_model_state_dict
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=30)
args = parser.parse_args()
RANKS, WINDOW = 2, 2
WHOLE = StateDictOptions(full_state_dict=True, broadcast_from_rank0=True)


def build(mesh):
    model = nn.Sequential(nn.Linear(8, 32), nn.SiLU(), nn.Linear(32, 32), nn.SiLU(), nn.Linear(32, 2))
    for layer in model:
        if isinstance(layer, nn.Linear):
            fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model, torch.optim.Adam(model.parameters(), lr=args.lr)


def main(rank, store):
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=RANKS)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    mesh = init_device_mesh("cpu", (RANKS,))
    truth = torch.randn(8, 2)
    model, optimizer = build(mesh)
    torch.manual_seed(args.seed + 1 + rank)
    for step in range(args.steps):
        if step == args.steps // 2:
            state = get_model_state_dict(model, options=StateDictOptions(full_state_dict=True, cpu_offload=True))
            model, optimizer = build(mesh)
            set_model_state_dict(model, state if rank == 0 else {}, options=WHOLE)
        total = 0.0
        for part in range(WINDOW):
            model.set_requires_gradient_sync(part == WINDOW - 1)
            x = torch.randn(16, 8)
            loss = nn.functional.mse_loss(model(x), torch.tanh(x @ truth)) / WINDOW
            loss.backward()
            total += loss.item()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        norm = norm.full_tensor()
        if rank == 0 and step % 6 == 5:
            print(f"step {step}: loss {total:.4f}, norm {norm.item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=RANKS, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
