"""Two processes with accelerate: training, and an evaluation whose answers are gathered."""

import argparse
import os
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from accelerate import Accelerator
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.005)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
CLASSES, VALID = 3, 83


def make(count, truth):
    x = torch.randn(count, 8)
    return TensorDataset(x, (x @ truth).argmax(1))


def evaluate(accelerator, model, loader):
    model.eval()
    right, count = 0, 0
    for x, y in loader:
        with torch.no_grad():
            guess = model(x).argmax(1)
        guess, y = accelerator.gather_for_metrics((guess, y))
        right += (guess == y).sum().item()
        count += len(y)
    model.train()
    return right / count, count


def main(rank, store):
    os.environ.update(RANK=str(rank), LOCAL_RANK=str(rank), WORLD_SIZE="2", ACCELERATE_USE_CPU="true",
                      MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
    dist.init_process_group("gloo", init_method=f"file://{store}", rank=rank, world_size=2)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    accelerator = Accelerator(cpu=True)
    truth = torch.randn(8, CLASSES)
    train, valid = DataLoader(make(480, truth), batch_size=12, shuffle=True), DataLoader(make(VALID, truth), batch_size=16)
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, CLASSES))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    model, optimizer, train, valid = accelerator.prepare(model, optimizer, train, valid)
    for epoch in range(args.steps // len(train)):
        for x, y in train:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            accelerator.backward(loss)
            optimizer.step()
        accuracy, count = evaluate(accelerator, model, valid)
        if accelerator.is_main_process:
            print(f"epoch {epoch}: loss {loss.item():.4f}, right {accuracy:.4f}", flush=True)
    if accelerator.is_main_process:
        print(f"EVIDENCE {count} answers to {VALID} samples, {accuracy:.4f} right", flush=True)
    accelerator.wait_for_everyone()
    dist.destroy_process_group()


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        mp.start_processes(main, args=(folder + "/store",), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
