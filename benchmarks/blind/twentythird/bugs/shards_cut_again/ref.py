"""Each of two processes reads its own files, made ready for its rank. Accelerate wraps model and optimizer."""
import argparse
import os
import socket

import torch
import torch.multiprocessing as mp
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset

FEATURES, CLASSES = 24, 6


def centres():
    return 1.2 * torch.randn(CLASSES, 4, FEATURES, generator=torch.Generator().manual_seed(3))


def write_files(rows=384, seed=0):
    """Rows of all ranks. Each class is a union of four clumps."""
    gen = torch.Generator().manual_seed(seed)
    label = torch.randint(0, CLASSES, (rows,), generator=gen)
    clump = torch.randint(0, 4, (rows,), generator=gen)
    return centres()[label, clump] + 1.4 * torch.randn(rows, FEATURES, generator=gen), label


class RankFiles(Dataset):
    """The part of one rank: every world_size-th row."""

    def __init__(self, rank, world_size):
        x, y = write_files()
        self.ids = torch.arange(rank, len(x), world_size)
        self.x, self.y = x[self.ids], y[self.ids]

    def __len__(self):
        return len(self.ids)

    def __getitem__(self, i):
        return self.x[i], self.y[i], self.ids[i]


class Trainer:
    def __init__(self, args):
        from accelerate import Accelerator
        self.accelerator = Accelerator(cpu=True)
        self.args = args
        torch.manual_seed(args.seed)
        model = nn.Sequential(nn.Linear(FEATURES, 96), nn.ReLU(), nn.Dropout(0.2), nn.Linear(96, CLASSES))
        optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.02)
        data = RankFiles(self.accelerator.process_index, self.accelerator.num_processes)
        self.loader = DataLoader(data, batch_size=16)
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)
        self.seen = set()

    def fit(self):
        step = epoch = 0
        while step < self.args.steps:
            for x, y, ids in self.loader:
                self.seen.update(ids.tolist())
                loss = nn.functional.cross_entropy(self.model(x), y)
                self.optimizer.zero_grad()
                self.accelerator.backward(loss)
                self.optimizer.step()
                step += 1
                if step == self.args.steps:
                    break
            epoch += 1
            if epoch % 4 == 0:
                self.accelerator.print(f"epoch {epoch} step {step} loss {loss.item():.4f}")
        return epoch

    @torch.no_grad()
    def report(self, epochs):
        self.model.eval()
        x, y = write_files(2000, seed=77)
        right = (self.model(x).argmax(1) == y).float().mean().item()
        seen = self.accelerator.reduce(torch.tensor(float(len(self.seen))), "sum").item()
        self.accelerator.print(f"EVIDENCE rows_seen={seen:.0f} epochs={epochs} accuracy={right:.4f}", flush=True)


def launch(rank, world, port, args):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE=str(world), MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    trainer = Trainer(args)
    trainer.report(trainer.fit())
    trainer.accelerator.wait_for_everyone()
    torch.distributed.destroy_process_group()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=144)
    args = ap.parse_args()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    mp.spawn(launch, args=(2, port, args), nprocs=2)
