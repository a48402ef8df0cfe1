"""Sequence parallelism by all-to-all (DeepSpeed Ulysses, verl): ranks hold tokens, and heads within attention. Grouped
queries, rotated positions, a loss over the answer's tokens of all ranks. Bugs:
labels (verl #5227's shift, done after the split), own_count (360-LLaMA-Factory #72), heads (the order of repeated
heads), averaged (Megatron-LM #906: the mean over ranks of a loss that the whole count divides), positions (prime-rl #2392)."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from ranks import Job, reduced

VOCABULARY, WIDTH, HEADS, GROUPS, SIZE, BATCH, LENGTH, LAYERS = 29, 14, 6, 3, 4, 2, 15, 2


class AllToAll(torch.autograd.Function):
    """Split in `cut`, put together in `join`."""

    @staticmethod
    def forward(ctx, x, group, cut, join):
        ctx.group, ctx.cut, ctx.join = group, cut, join
        ranks = dist.get_world_size(group)
        given = [part.contiguous() for part in x.tensor_split(ranks, cut)]
        taken = [torch.empty_like(given[0]) for _ in range(ranks)]
        dist.all_to_all(taken, given, group=group)
        return torch.cat(taken, join).contiguous()

    @staticmethod
    def backward(ctx, grad):
        return AllToAll.apply(grad, ctx.group, ctx.join, ctx.cut), None, None, None


def rotate(x, positions):
    half = x.shape[-1] // 2
    angles = positions[:, None] / 50.0 ** (torch.arange(half) / half)
    cos, sin = angles.cos()[:, None], angles.sin()[:, None]
    left, right = x[..., :half], x[..., half:]
    return torch.cat((left * cos - right * sin, right * cos + left * sin), -1)


class Attention(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.job = job
        self.q_proj = nn.Linear(WIDTH, HEADS * SIZE)
        self.k_proj = nn.Linear(WIDTH, GROUPS * SIZE)
        self.v_proj = nn.Linear(WIDTH, GROUPS * SIZE)
        self.o_proj = nn.Linear(HEADS * SIZE, WIDTH, bias=False)

    def forward(self, x, positions):
        group, repeats = self.job.group["sp"], HEADS // GROUPS
        q = rotate(self.q_proj(x).unflatten(-1, (HEADS, SIZE)), positions)
        k = rotate(self.k_proj(x).unflatten(-1, (GROUPS, SIZE)), positions)
        v = self.v_proj(x).unflatten(-1, (GROUPS, SIZE))
        if self.job.bug == "heads":
            k, v = (t.repeat(1, 1, repeats, 1) for t in (k, v))  # place heads
        else:
            k, v = (t.repeat_interleave(repeats, 2) for t in (k, v))  # place heads
        if group is not None:
            q, k, v = (AllToAll.apply(t, group, 2, 1) for t in (q, k, v))
        out = F.scaled_dot_product_attention(*(t.transpose(1, 2) for t in (q, k, v)), is_causal=True).transpose(1, 2)
        if group is not None:
            out = AllToAll.apply(out.contiguous(), group, 1, 2)
        return self.o_proj(out.flatten(2))


class Block(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.input_norm, self.attention, self.mlp_norm = nn.RMSNorm(WIDTH), Attention(job), nn.RMSNorm(WIDTH)
        self.gate, self.up, self.down = nn.Linear(WIDTH, 20), nn.Linear(WIDTH, 20), nn.Linear(20, WIDTH)

    def forward(self, x, positions):
        x = x + self.attention(self.input_norm(x), positions)
        y = self.mlp_norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Model(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Block(job) for _ in range(LAYERS))
        self.norm, self.lm_head = nn.RMSNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens, positions):
        x = self.embed(tokens)
        for layer in self.layers:
            x = layer(x, positions)
        return self.lm_head(self.norm(x))


def batch_of(job, step):
    """Tokens, labels (-100 for the prompt and the end) and positions of this rank."""
    generator = torch.Generator().manual_seed(step)
    tokens = torch.randint(VOCABULARY, (BATCH, LENGTH), generator=generator)
    answer = torch.arange(LENGTH) >= torch.tensor([[4], [7]])
    ranks, index = job.size["sp"], job.index["sp"]
    mine = slice(index * LENGTH // ranks, (index + 1) * LENGTH // ranks)
    targets = tokens.masked_fill(~answer, -100)
    if job.bug == "labels":
        labels = F.pad(targets[:, mine], (0, 1), value=-100)[:, 1:]  # place labels
    else:
        labels = F.pad(targets, (0, 1), value=-100)[:, 1:][:, mine]  # place labels
    positions = torch.arange(LENGTH // ranks)  # place positions
    if job.bug != "positions":
        positions = positions + mine.start
    return tokens[:, mine], labels, positions


def main():
    job = Job("sp")
    torch.manual_seed(1)
    model = Model(job)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, weight_decay=0.1)
    group = job.group["sp"]
    for step in range(4):
        tokens, labels, positions = batch_of(job, step)
        logits = model(tokens, positions)
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="sum")  # place labels
        count = (labels != -100).sum()
        if job.bug != "own_count":
            count = reduced(count, group)  # place own_count
        loss = loss / count  # place own_count averaged
        optimizer.zero_grad()
        loss.backward()
        for parameter in model.parameters():
            if job.parallel:
                dist.all_reduce(parameter.grad, group=group)  # place averaged
                if job.bug in ("averaged", "own_count"):
                    parameter.grad /= job.size["sp"]  # place averaged
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
