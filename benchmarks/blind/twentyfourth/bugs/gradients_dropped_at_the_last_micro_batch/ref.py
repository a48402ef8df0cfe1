"""Training with accelerate on two gloo ranks. Four sources take turns, and their gradients are accumulated."""
import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

SOURCES, DIM, BATCH = 4, 10, 16


class Regressor(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(DIM + SOURCES, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(),
                                 nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(-1)


def rows(source, n, gen):
    rule = torch.randn(SOURCES, DIM, generator=torch.Generator().manual_seed(3))[source]
    x = torch.randn(n, DIM, generator=gen)
    mark = torch.eye(SOURCES)[source].expand(n, SOURCES)
    return torch.cat([x, mark], 1), x @ rule / 2 + source


def interleaved(rounds, world, seed):
    """In each round every source gives one batch to every rank."""
    gen = torch.Generator().manual_seed(seed + 200)
    parts = [rows(source, BATCH * world, gen) for _ in range(rounds) for source in range(SOURCES)]
    return TensorDataset(torch.cat([p[0] for p in parts]), torch.cat([p[1] for p in parts]))


def main(rank, world, args, store):
    torch.set_num_threads(1)
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world), LOCAL_WORLD_SIZE=str(world),
                      MASTER_ADDR="127.0.0.1", MASTER_PORT="29511")
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=SOURCES)
    torch.manual_seed(args.seed)
    model = Regressor()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    loader = DataLoader(interleaved(args.steps, world, args.seed), batch_size=BATCH, shuffle=False)
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    done = 0
    for x, y in loader:
        with accelerator.accumulate(model):
            loss = nn.functional.mse_loss(model(x), y)
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            done += 1
            if rank == 0 and done % 20 == 0:
                print(f"step {done} loss {loss.item():.4f}", flush=True)
    gen = torch.Generator().manual_seed(5555)
    errors = []
    with torch.no_grad():
        for source in range(SOURCES):
            x, y = rows(source, 500, gen)
            errors.append(nn.functional.mse_loss(accelerator.unwrap_model(model)(x), y).item())
    if rank == 0:
        print(f"EVIDENCE error_of_first_three={sum(errors[:3]) / 3:.4f} error_of_last={errors[3]:.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=6e-3)
    parser.add_argument("--steps", type=int, default=80)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(2, args, os.path.join(folder, "store")), nprocs=2)
