"""Two ranks train with DistributedDataParallel and share the validation; answers are gathered for a report."""
import argparse
import tempfile

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score, confusion_matrix
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, Subset, TensorDataset


def datasets():
    x, y = load_digits(return_X_y=True)
    whole = TensorDataset(torch.tensor(x / 16.0, dtype=torch.float32), torch.tensor(y))
    order = torch.randperm(len(whole), generator=torch.Generator().manual_seed(3)).tolist()
    return Subset(whole, order[:1397]), Subset(whole, order[1397:])


@torch.no_grad()
def collect(model, dataset, rank, world):
    """Answers for all samples, in the order of the data set."""
    model.eval()
    sampler = DistributedSampler(dataset, num_replicas=world, rank=rank, shuffle=False)
    answers = torch.cat([model(x).argmax(1) for x, _ in DataLoader(dataset, batch_size=50, sampler=sampler)])
    gathered = [torch.empty_like(answers) for _ in range(world)]
    dist.all_gather(gathered, answers)
    model.train()
    return torch.stack(gathered, 1).flatten()[:len(dataset)]


def main(rank, world, folder, args):
    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=rank, world_size=world)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    train, valid = datasets()
    labels = torch.stack([y for _, y in valid])
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 10)))
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True)
    sampler = DistributedSampler(train, num_replicas=world, rank=rank, seed=args.seed)
    loader = DataLoader(train, batch_size=24, sampler=sampler, drop_last=True)
    step, epoch, accuracy = 0, 0, 0.0
    while step < args.steps:
        sampler.set_epoch(epoch)
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            if step == args.steps:
                break
        epoch += 1
        answers = collect(model, valid, rank, world)
        if rank == 0:
            accuracy = accuracy_score(labels, answers)
            print(f"epoch {epoch}, step {step}: loss {loss.item():.4f}, accuracy {accuracy:.4f}", flush=True)
    if rank == 0:
        table = confusion_matrix(labels, answers)
        print(f"EVIDENCE accuracy {accuracy:.4f}, {table.trace()} of {len(labels)} on the diagonal", flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--steps", type=int, default=116)
    with tempfile.TemporaryDirectory() as directory:
        mp.start_processes(main, args=(2, directory, parser.parse_args()), nprocs=2, start_method="fork")

# SPDX-License-Identifier: Apache-2.0
