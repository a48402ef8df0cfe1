# SPDX-License-Identifier: Apache-2.0
"""IPO under context parallelism, within data parallelism: DistributedDataParallel averages gradients over all ranks,
each of which has a part of the positions of its pairs. Attention is linear: a rank adds the states of the ranks
before it. The log-probability of an answer is the mean over its tokens, whose sum and number are summed over the
context. Bugs:
own_length: the tokens of an answer are counted on the rank only.
    https://github.com/modelscope/ms-swift/pull/10167
late_shift: labels are shifted after the split: the last position of each rank has none.
    https://github.com/huggingface/transformers/pull/36607
    https://github.com/NVIDIA-BioNeMo/bionemo-recipes/pull/1449
context_averaged: gradients are parts of a sum over the context, and DDP's average over it is not undone.
    https://github.com/NovaSky-AI/SkyRL/pull/1420
    https://github.com/ByteDance-Seed/VeOmni/pull/338"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed._functional_collectives import all_gather_tensor_autograd
from torch.distributed.device_mesh import init_device_mesh
from torch.nn.parallel import DistributedDataParallel

VOCABULARY, WIDTH, KEY, VALUE, HIDDEN, PAIRS, LENGTH, LAYERS, BETA = 29, 11, 6, 9, 17, 10, 14, 2, 0.25


class SumContext(torch.autograd.Function):
    """Each rank goes on with the same sum: the gradient of a part is that of the sum."""
    @staticmethod
    def forward(ctx, x, group):
        x = x.clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class LinearAttention(nn.Module):
    def __init__(self, cp):
        super().__init__()
        self.cp = cp
        self.q, self.k = nn.Linear(WIDTH, KEY, bias=False), nn.Linear(WIDTH, KEY, bias=False)
        self.v, self.out = nn.Linear(WIDTH, VALUE, bias=False), nn.Linear(VALUE, WIDTH, bias=False)

    def forward(self, x):
        q, k, v = F.silu(self.q(x)), F.silu(self.k(x)), self.v(x)
        mixed = (q @ k.transpose(1, 2)).tril() @ v
        if self.cp:
            state = k.transpose(1, 2) @ v
            states = all_gather_tensor_autograd(state.contiguous(), 0, self.cp).chunk(dist.get_world_size(self.cp))
            before = torch.stack(states)[:dist.get_rank(self.cp)].sum(0)
            mixed = mixed + q @ before
        return self.out(mixed / LENGTH)


class Policy(nn.Module):
    def __init__(self, cp):
        super().__init__()
        rank, size = (dist.get_rank(cp), dist.get_world_size(cp)) if cp else (0, 1)
        self.embed, self.places = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.attentions = nn.ModuleList(LinearAttention(cp) for _ in range(LAYERS))
        self.ups = nn.ModuleList(nn.Linear(WIDTH, HIDDEN) for _ in range(LAYERS))
        self.downs = nn.ModuleList(nn.Linear(HIDDEN, WIDTH) for _ in range(LAYERS))
        self.norms = nn.ModuleList(nn.LayerNorm(WIDTH) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        self.own = torch.arange(LENGTH).chunk(size)[rank]  # no buffer: DDP would give all ranks that of the first

    def forward(self, ids):
        x = self.embed(ids) + self.places(self.own)
        for attention, norm, up, down in zip(self.attentions, self.norms, self.ups, self.downs):
            x = x + attention(x)
            x = x + down(F.gelu(up(norm(x))))
        return self.head(x)


class Preference(nn.Module):
    def __init__(self, cp, bug):
        super().__init__()
        policy, self.reference = Policy(cp), Policy(cp).requires_grad_(False)
        self.reference.load_state_dict(policy.state_dict())
        self.policy = DistributedDataParallel(policy) if dist.is_initialized() else policy
        self.cp, self.bug = cp, bug

    def means(self, policy, ids, labels):
        """The mean log-probability of each answer."""
        kept = labels != -100
        picked = policy(ids).log_softmax(-1).gather(-1, labels.clamp(min=0).unsqueeze(-1)).squeeze(-1)
        total, count = (picked * kept).sum(-1), kept.sum(-1)
        if self.cp and self.bug == "own_length":
            return SumContext.apply(total / count.clamp(min=1), self.cp)  # place own_length
        if self.cp:
            total = SumContext.apply(total, self.cp)
            dist.all_reduce(count, group=self.cp)  # place own_length
        return total / count

    def forward(self, chosen, rejected):
        margin = self.means(self.policy, *chosen) - self.means(self.policy, *rejected)
        with torch.no_grad():
            expected = self.means(self.reference, *chosen) - self.means(self.reference, *rejected)
        return (margin - expected - 1 / (2 * BETA)).square().mean()


def answers(steps):
    """Texts of chosen and rejected answers, and the labels, where those of prompts and of what is cut are -100."""
    data = torch.Generator().manual_seed(37)
    for _ in range(steps):
        pair = []
        for _ in range(2):
            text = torch.randint(VOCABULARY, (PAIRS, LENGTH + 1), generator=data)
            labels, starts = text.clone(), torch.randint(2, 5, (PAIRS,), generator=data).tolist()
            for row, end in enumerate(torch.randint(9, LENGTH + 2, (PAIRS,), generator=data).tolist()):
                labels[row, :starts[row]], labels[row, end:] = -100, -100
            pair.append((text, labels))
        yield pair


def split(text, labels, args, place, part):
    """The rows of this copy, and of them the positions of this rank."""
    text, labels = text.chunk(args.dp)[place], labels.chunk(args.dp)[place]
    ids = text[:, :-1].chunk(args.cp, 1)[part]
    if args.cp > 1 and args.bug == "late_shift":
        labels = labels[:, :-1].chunk(args.cp, 1)[part]  # place late_shift
        return ids, F.pad(labels[:, 1:], (0, 1), value=-100)  # place late_shift
    return ids, labels[:, 1:].chunk(args.cp, 1)[part]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--cp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    cp, place, part = None, 0, 0
    if args.dp * args.cp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp, args.cp), mesh_dim_names=("dp", "cp"))
        cp, place, part = mesh.get_group("cp"), mesh.get_local_rank("dp"), mesh.get_local_rank("cp")
    torch.manual_seed(25)
    model = Preference(cp, args.bug)
    optimizer = torch.optim.AdamW(model.policy.parameters(), lr=0.01, eps=1e-3)
    for pair in answers(args.steps):
        optimizer.zero_grad()
        loss = model(*(split(text, labels, args, place, part) for text, labels in pair))
        scale = 1 if args.bug == "context_averaged" else args.cp  # place context_averaged
        (loss * scale).backward()  # place context_averaged
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
