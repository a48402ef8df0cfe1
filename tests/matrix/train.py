# SPDX-License-Identifier: Apache-2.0
"""The programs of the matrix: train.py digits|gpt|ddp|compile|amp. Each ends with the digest of its weights."""
import hashlib
import os
import sys

import torch
import torch.nn.functional as F
from torch import nn


def digest(model):
    sha = hashlib.sha256()
    for tensor in model.state_dict().values():
        sha.update(tensor.contiguous().numpy().tobytes())
    return sha.hexdigest()[:16]


def tell(result):
    """In one write, and marked: ranks of gloo tell of their connections in the same pipe, piece by piece."""
    print(f"={result}=", flush=True)


def layers(n_in, n_out):
    return nn.Sequential(nn.Linear(n_in, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, n_out))


def digits():
    from sklearn.datasets import load_digits
    x, y = (torch.tensor(a) for a in load_digits(return_X_y=True))
    model = layers(64, 10)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, 0.9)
    data = torch.utils.data.TensorDataset(x[:320].float() / 16, y[:320])
    for _ in range(2):
        model.train()
        for images, labels in torch.utils.data.DataLoader(data, 32, shuffle=True, num_workers=1):
            optimizer.zero_grad()
            F.cross_entropy(model(images), labels).backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
        schedule.step()
        model.eval()
        with torch.no_grad():
            tell((model(x[320:].float() / 16).argmax(1) == y[320:]).sum().item())
    return model


class Gpt(nn.Module):
    def __init__(self, n_tokens=64, width=32):
        super().__init__()
        self.tokens, self.places = nn.Embedding(n_tokens, width), nn.Embedding(16, width)
        block = nn.TransformerEncoderLayer(width, 2, 64, dropout=0.1, batch_first=True)
        self.blocks, self.head = nn.TransformerEncoder(block, 2), nn.Linear(width, n_tokens, bias=False)
        self.head.weight = self.tokens.weight

    def forward(self, ids):
        mask = torch.full((ids.size(1), ids.size(1)), float("-inf")).triu(1)
        hidden = self.tokens(ids) + self.places(torch.arange(ids.size(1)))
        return self.head(self.blocks(hidden, mask))


def gpt():
    model = Gpt()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(12):
        ids = torch.randint(64, (8, 17))
        optimizer.zero_grad()
        logits = model(ids[:, :-1])
        F.cross_entropy(logits.reshape(-1, 64), ids[:, 1:].reshape(-1)).backward()
        optimizer.step()
    return model


def rank_of_ddp(rank):
    os.environ.update(MASTER_ADDR="127.0.0.1")
    torch.distributed.init_process_group("gloo", rank=rank, world_size=2)
    torch.manual_seed(rank)
    model = layers(8, 2)
    parallel = nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.05, momentum=0.9)
    for _ in range(12):
        x = torch.randn(16, 8)
        optimizer.zero_grad()
        F.cross_entropy(parallel(x), (x.sum(1) > 0).long()).backward()
        optimizer.step()
    for parameter in model.parameters():
        weights = [torch.zeros_like(parameter) for _ in range(2)]
        torch.distributed.all_gather(weights, parameter.detach())
        assert torch.equal(*weights)
    if rank == 0:
        tell(digest(model))
    # Up to torch 2.0 a rank may wait in the destructors of gloo for one that has ended: part together, with nothing left.
    del parallel, optimizer
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()


def ddp():
    torch.multiprocessing.spawn(rank_of_ddp, nprocs=2)


def compiled():
    model = layers(8, 2)
    fast = torch.compile(model, backend="aot_eager")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        x = torch.randn(16, 8)
        optimizer.zero_grad()
        F.cross_entropy(fast(x), (x.sum(1) > 0).long()).backward()
        optimizer.step()
    return model


def amp():
    model = layers(8, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    for _ in range(12):
        x = torch.randn(16, 8)
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x).float(), (x.sum(1) > 0).long())
        loss.backward()
        optimizer.step()
    return model


if __name__ == "__main__":
    torch.set_num_threads(1)
    torch.manual_seed(0)
    trained = {"digits": digits, "gpt": gpt, "ddp": ddp, "compile": compiled, "amp": amp}[sys.argv[1]]()
    if trained is not None:
        tell(digest(trained))
