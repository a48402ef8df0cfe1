# SPDX-License-Identifier: Apache-2.0
"""Distillation: a student whose output layer is split over the vocabulary, a frozen teacher that is split the same way,
data parallelism by hand, a loss per valid token of the whole batch. Bugs: double_reduce (NeMo Automodel #3776: the sum
of the KL term is taken with a differentiable all_reduce, whose backward sums again), world_tokens (NeMo RL #2745:
tokens of the KL term are counted over all ranks, not over data parallelism), local_teacher (the teacher's softmax is
normalised by the shard; after the review of vocabulary-parallel KD in NVIDIA Model-Optimizer #2459), plain_total
(ms-swift #9947: the all_reduce of the student's normaliser does not bring the gradients of the other shards back)."""
import argparse

import torch
import torch.distributed as dist
import torch.distributed.nn.functional as differentiable
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

VOCABULARY, WIDTH, WIDE, BATCH, LENGTH, TEMPERATURE = 22, 8, 14, 6, 9, 2.0


class Copy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        ctx.group = group
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.clone()
        dist.all_reduce(grad, group=ctx.group)
        return grad, None


class Reduce(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, group):
        x = x.clone()
        dist.all_reduce(x, group=group)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad, None


class Network(nn.Module):
    def __init__(self, width, tp):
        super().__init__()
        self.tp = tp
        self.embed = nn.Embedding(VOCABULARY, width)
        self.hidden = nn.Linear(width, 2 * width - 1)
        self.back = nn.Linear(2 * width - 1, width)
        self.norm = nn.RMSNorm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)
        if tp:
            piece = self.head.weight.data.chunk(dist.get_world_size(tp))[dist.get_rank(tp)]
            self.head.weight = nn.Parameter(piece.clone())

    def forward(self, ids):
        x = self.embed(ids)
        x = self.norm(x + self.back(torch.tanh(self.hidden(x))))
        if self.tp:
            x = Copy.apply(x, self.tp)
        return self.head(x)


class Pair(nn.Module):
    def __init__(self, tp):
        super().__init__()
        self.student, self.teacher = Network(WIDTH, tp), Network(WIDE, tp)
        self.teacher.requires_grad_(False)


def log_softmax(logits, tp, bug=""):
    if tp is None:
        return F.log_softmax(logits, -1)
    top = logits.detach().amax(-1, keepdim=True)
    dist.all_reduce(top, op=dist.ReduceOp.MAX, group=tp)
    logits = logits - top
    total = logits.exp().sum(-1, keepdim=True)
    if bug != "local_teacher":  # place local_teacher
        total = Reduce.apply(total, tp)  # place plain_total
    if bug != "plain_total":  # place plain_total
        total = Copy.apply(total, tp)  # place plain_total
    return logits - total.log()  # place local_teacher


def cross_entropy(logits, labels, valid, tp):
    if tp is None:
        return F.cross_entropy(logits[valid], labels[valid], reduction="sum")
    logs, columns = log_softmax(logits, tp), logits.size(-1)
    local = labels - dist.get_rank(tp) * columns
    outside = (local < 0) | (local >= columns)
    picked = logs.gather(-1, local.masked_fill(outside, 0)[..., None]).squeeze(-1).masked_fill(outside, 0.0)
    return -(Reduce.apply(picked, tp) * valid).sum()


def divergence(student, teacher, valid, tp, bug):
    """KL(teacher, student), summed over the valid tokens."""
    wanted = log_softmax(teacher / TEMPERATURE, tp, bug)
    given = log_softmax(student / TEMPERATURE, tp, bug if bug == "plain_total" else "")
    each = (wanted.exp() * (wanted - given)).sum(-1)
    if tp and bug == "double_reduce":
        each = differentiable.all_reduce(each, group=tp)  # place double_reduce
    elif tp:
        each = Reduce.apply(each, tp)
    return (each * valid).sum() * TEMPERATURE ** 2


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--tp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    dp = tp = None
    if args.dp * args.tp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp, args.tp), mesh_dim_names=("dp", "tp"))
        dp, tp = mesh.get_group("dp"), mesh.get_group("tp")
    torch.manual_seed(11)
    pair = Pair(tp)
    weights = [p for p in pair.student.parameters()]
    optimizer = torch.optim.AdamW(weights, lr=0.02, eps=1e-4)
    data = torch.Generator().manual_seed(3)
    lengths = torch.tensor([9, 4, 7, 2, 8, 5])
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        valid = torch.arange(LENGTH) < lengths[:, None]
        if dp:
            text, valid = (t.chunk(args.dp)[dist.get_rank(dp)] for t in (text, valid))
        tokens = valid.sum()
        scored = tokens.clone()
        if dp:
            dist.all_reduce(tokens, group=dp)
            dist.all_reduce(scored, group=None if args.bug == "world_tokens" else dp)  # place world_tokens
        optimizer.zero_grad()
        with torch.no_grad():
            teacher = pair.teacher(text[:, :-1])
        student = pair.student(text[:, :-1])
        hard = cross_entropy(student, text[:, 1:], valid, tp) / tokens
        soft = divergence(student, teacher, valid, tp, args.bug) / scored  # place world_tokens
        (0.4 * hard + 0.6 * soft).backward()
        if dp:
            for p in weights:
                dist.all_reduce(p.grad, group=dp)
        optimizer.step()
    return pair


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
