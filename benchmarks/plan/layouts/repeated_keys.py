"""More tensor ranks than heads of keys and values: each head is on `copies` ranks (nanotron, Megatron-LM with
num_query_groups below tp). The mesh is (kv, copies), and queries are split over both. Adapters train beside a frozen
base. Bugs: copies (bigcode Megatron-LM #37: the gradient of a head that several ranks have), head (rank % heads in place
of rank // copies), adapter (the gradient of a whole A beside a split B, as in PEFT under tensor parallelism), bias (a
row-parallel bias that each rank adds)."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from ranks import CopyToRegion, Job, ReduceFromRegion, text

VOCABULARY, WIDTH, HEADS, GROUPS, SIZE, BATCH, LENGTH, RANK = 27, 10, 8, 2, 3, 3, 7, 5


class Attention(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.job, self.world = job, dist.group.WORLD if job.parallel else None
        ranks = job.size["kv"] * job.size["copies"]
        self.heads, self.groups = HEADS // ranks, max(GROUPS // job.size["kv"], 1)
        self.q = nn.Linear(WIDTH, self.heads * SIZE)
        self.k, self.v = nn.Linear(WIDTH, self.groups * SIZE), nn.Linear(WIDTH, self.groups * SIZE)
        self.out = nn.Linear(self.heads * SIZE, WIDTH)
        self.a, self.b = nn.Linear(WIDTH, RANK, bias=False), nn.Linear(RANK, self.heads * SIZE, bias=False)

    def forward(self, x):
        x = CopyToRegion.apply(x, self.world)
        low = self.a(x)
        q = self.q(x) + self.b(low)
        q = q.unflatten(-1, (self.heads, SIZE)).transpose(1, 2)
        k, v = (t(x).unflatten(-1, (self.groups, SIZE)).transpose(1, 2) for t in (self.k, self.v))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        out = F.linear(out.transpose(1, 2).flatten(2), self.out.weight)
        if self.job.bug == "bias":
            return ReduceFromRegion.apply(out + self.out.bias, self.world)  # place bias
        return ReduceFromRegion.apply(out, self.world) + self.out.bias  # place bias


class Model(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.embed, self.norm = nn.Embedding(VOCABULARY, WIDTH), nn.LayerNorm(WIDTH)
        self.attention, self.head = Attention(job), nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        x = self.embed(tokens)
        return self.head(x + self.attention(self.norm(x)))


def reduce_copies(model, job):
    for layer in (model.attention.k, model.attention.v):
        for p in layer.parameters():
            if job.bug == "head":
                dist.all_reduce(p.grad, group=job.group["kv"])  # place head
            elif job.bug != "copies":
                dist.all_reduce(p.grad, group=job.group["copies"])  # place head copies
    if job.bug != "adapter":
        dist.all_reduce(model.attention.a.weight.grad)  # place adapter


def main():
    job = Job("kv", "copies")
    torch.manual_seed(1)
    model = Model(job)
    model.embed.requires_grad_(False)
    optimizer = torch.optim.Adagrad([p for p in model.parameters() if p.requires_grad], lr=0.05)
    for step in range(3):
        tokens, labels = text(step, BATCH, LENGTH, VOCABULARY)
        optimizer.zero_grad()
        F.cross_entropy(model(tokens).flatten(0, 1), labels.flatten(), label_smoothing=0.1).backward()
        if job.parallel:
            reduce_copies(model, job)
        optimizer.step()  # place copies adapter


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
