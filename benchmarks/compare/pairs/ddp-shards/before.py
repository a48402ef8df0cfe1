"""Two data-parallel ranks train a text classifier on a corpus that is ordered by source."""
import argparse
import os
import socket

import torch
import torch.distributed as dist
import torch.multiprocessing as mp
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH, CLASSES = 200, 20, 4


def make_corpus(seed, n=2400, n_sources=6):
    """Documents come source by source, as they lie in the files."""
    gen = torch.Generator().manual_seed(seed + 19)
    topic = torch.rand(CLASSES, VOCAB, generator=gen) ** 6
    docs, labels = [], []
    for source in range(n_sources):
        style = torch.rand(VOCAB, generator=gen) ** 3
        y = torch.randint(0, CLASSES, (n // n_sources,), generator=gen)
        prob = topic[y] + 0.3 * style
        docs.append(torch.multinomial(prob, LENGTH, replacement=True, generator=gen))
        labels.append(y)
    return torch.cat(docs), torch.cat(labels)


def shard(tensor, rank, world_size):
    return tensor[rank::world_size]


class BagClassifier(nn.Module):
    def __init__(self, dim=48):
        super().__init__()
        self.embed = nn.EmbeddingBag(VOCAB, dim, mode="mean")
        self.hidden = nn.Linear(dim, dim)
        self.drop = nn.Dropout(0.1)
        self.out = nn.Linear(dim, CLASSES)

    def forward(self, docs):
        return self.out(self.drop(F.relu(self.hidden(self.embed(docs)))))


def average_gradients(model, world_size):
    for p in model.parameters():
        dist.all_reduce(p.grad)
        p.grad /= world_size


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def worker(rank, world_size, port, args):
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    dist.init_process_group("gloo", rank=rank, world_size=world_size)
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    model = BagClassifier()
    docs, labels = make_corpus(args.seed)
    docs, labels = shard(docs, rank, world_size), shard(labels, rank, world_size)
    opt = torch.optim.Adam(model.parameters(), lr=5e-3)
    batch = 32
    per_epoch = len(docs) // batch
    for step in range(args.steps):
        epoch, pos = divmod(step, per_epoch)
        if pos == 0:
            gen = torch.Generator().manual_seed(args.seed + epoch)
            order = torch.randperm(len(docs), generator=gen)
        idx = order[pos * batch:(pos + 1) * batch]
        loss = F.cross_entropy(model(docs[idx]), labels[idx])
        opt.zero_grad()
        loss.backward()
        average_gradients(model, world_size)
        opt.step()
        if step % 20 == 0 or step == args.steps - 1:
            value = loss.detach().clone()
            dist.all_reduce(value)
            if rank == 0:
                print(f"step {step} loss {value.item() / world_size:.6f}", flush=True)
    dist.barrier()
    dist.destroy_process_group()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=110)
    args = parser.parse_args()
    mp.spawn(worker, args=(2, free_port(), args), nprocs=2)


if __name__ == "__main__":
    main()
