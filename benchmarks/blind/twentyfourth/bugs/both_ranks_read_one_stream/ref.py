"""A classifier of galaxies under DDP on two gloo ranks, fed by a stream that is read once from its beginning."""
import argparse
import itertools
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from torch import nn
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, IterableDataset

PIXELS, CLASSES = 64, 5


class GalaxyStream(IterableDataset):
    """Rows come in an order that is fixed by the files; each rank takes its share of them."""

    def __init__(self, seed, rank, world):
        self.seed, self.rank, self.world = seed, rank, world

    def read(self):
        shapes = torch.randn(CLASSES, PIXELS, generator=torch.Generator().manual_seed(1))
        gen = torch.Generator().manual_seed(self.seed + 70)
        for number in itertools.count():
            label = int(torch.randint(0, CLASSES, (), generator=gen))
            light = 0.5 + torch.rand((), generator=gen)
            yield number, 0.45 * light * shapes[label] + 1.4 * torch.randn(PIXELS, generator=gen), label

    def __iter__(self):
        stream = self.read()
        stream = itertools.islice(stream, self.rank, None, self.world)
        yield from stream


class Encoder(nn.Sequential):
    def __init__(self, width=96):
        super().__init__(nn.Linear(PIXELS, width), nn.ReLU(), nn.Linear(width, CLASSES))


def main(rank, world, args, store):
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=world)
    torch.manual_seed(args.seed)
    model = DDP(Encoder())
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loader = DataLoader(GalaxyStream(args.seed, rank, world), batch_size=16)
    seen = torch.zeros(args.steps * 16 * world)
    for step, (number, image, label) in enumerate(itertools.islice(loader, args.steps)):
        loss = nn.functional.cross_entropy(model(image), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        seen[number] += 1
        if rank == 0 and (step + 1) % 10 == 0:
            print(f"step {step + 1} loss {loss.item():.4f}", flush=True)
    dist.all_reduce(seen)
    different = (seen > 0).sum().item() / seen.sum().item()
    test = GalaxyStream(args.seed + 9999, 0, 1)
    _, image, label = next(iter(DataLoader(test, batch_size=1500)))
    with torch.no_grad():
        logits = model.module.eval()(image)
    accuracy = (logits.argmax(1) == label).float().mean().item()
    if rank == 0:
        print(f"EVIDENCE different_rows={different:.4f} accuracy={accuracy:.4f} "
              f"test={nn.functional.cross_entropy(logits, label).item():.4f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mp.spawn(main, args=(2, args, os.path.join(folder, "store")), nprocs=2)
