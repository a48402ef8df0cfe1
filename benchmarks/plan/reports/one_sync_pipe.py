# SPDX-License-Identifier: Apache-2.0
"""A pipeline with one forward and one backward in turn, beside data parallelism, whose gradients are summed by hooks
with the backward of the last micro-batch only. The loss is the mean over the tokens of all micro-batches and ranks.
Bugs:
never_synced: hooks are switched on with the last backward after the turns; the last stage has none there.
    https://github.com/huggingface/picotron/pull/5
first_synced: hooks are on with the first micro-batch in place of the last.
    https://github.com/modelscope/FunASR/pull/3472
raw_sum: gradients are those of the summed loss, which is divided by the tokens afterwards, to be printed.
    https://github.com/pytorch/torchtitan/issues/2972
mean_of_means: each micro-batch is divided by its own tokens.
    https://github.com/allenai/open-instruct/pull/1736"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

VOCABULARY, WIDTH, HIDDEN, LAYERS, MICRO, BATCH, LENGTH = 19, 8, 15, 4, 4, 16, 6


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        return x + self.down(torch.tanh(self.up(self.norm(x))))


class Stage(nn.Module):
    def __init__(self, stage, stages):
        super().__init__()
        self.first, self.last = stage == 0, stage == stages - 1
        embed, head = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, VOCABULARY)
        blocks = [Block() for _ in range(LAYERS)]
        each = LAYERS // stages
        self.blocks = nn.ModuleDict({str(i): blocks[i] for i in range(stage * each, (stage + 1) * each)})
        if self.first:
            self.embed = embed
        if self.last:
            self.head = head

    def forward(self, x):
        x = self.embed(x) if self.first else x
        for block in self.blocks.values():
            x = block(x)
        return self.head(x) if self.last else x


class Hooks:
    """Sums a gradient over data parallelism when it is accumulated, if it is the turn of the last micro-batch."""
    def __init__(self, stage, dp):
        self.dp, self.on = dp, False
        for p in stage.parameters():
            p.register_post_accumulate_grad_hook(self.hook)

    def hook(self, p):
        if self.on:
            dist.all_reduce(p.grad, group=self.dp)  # place first_synced never_synced


class Pipeline:
    def __init__(self, stage, hooks, pp, bug):
        self.stage, self.hooks, self.bug = stage, hooks, bug
        self.rank, self.size = (dist.get_rank(pp), dist.get_world_size(pp)) if pp else (0, 1)
        if pp:
            self.before, self.after = (dist.get_global_rank(pp, (self.rank + d) % self.size) for d in (-1, 1))

    def forward(self, micro, total):
        if self.stage.first:
            x = micro[:, :-1].clamp(min=0)
        else:
            x = torch.empty(micro.size(0), LENGTH, WIDTH)
            dist.recv(x, self.before)
            x.requires_grad_()
        y = self.stage(x)
        if self.stage.last:
            labels = micro[:, 1:].flatten()
            y = F.cross_entropy(y.flatten(0, 1), labels, ignore_index=-100, reduction="sum")  # place raw_sum
            if self.bug == "mean_of_means":
                y = y / (labels != -100).sum() / MICRO / dist.get_world_size(self.hooks.dp)  # place mean_of_means
            elif self.bug != "raw_sum":
                y = y / total  # place raw_sum mean_of_means
        else:
            self.sent.append((dist.isend(y.detach(), self.after), y))
        self.kept.append((x, y))

    def backward(self, sync):
        if self.hooks:
            self.hooks.on = sync
        x, y = self.kept.pop(0)
        if self.stage.last:
            y.backward()
        else:
            grad = torch.empty_like(y)
            dist.recv(grad, self.after)
            y.backward(grad)
        if not self.stage.first:
            self.sent.append((dist.isend(x.grad, self.before), x))

    def step(self, text, total):
        parts, self.kept, self.sent = text.chunk(MICRO), [], []
        warm = min(self.size - self.rank - 1, MICRO)
        for m in range(warm):
            self.forward(parts[m], total)
        for m in range(MICRO):
            if warm + m < MICRO:
                self.forward(parts[warm + m], total)
            if self.bug == "first_synced":
                sync = m % MICRO == 0  # place first_synced
            elif self.bug == "never_synced":
                sync = m == MICRO - 1 and m >= MICRO - warm  # place never_synced
            else:
                sync = m == MICRO - 1
            self.backward(sync)
        for work, _ in self.sent:
            work.wait()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--pp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    dp = pp = hooks = None
    rank = place = 0
    if args.dp * args.pp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp, args.pp), mesh_dim_names=("dp", "pp"))
        dp, pp = mesh.get_group("dp"), mesh.get_group("pp")
        place, rank = mesh.get_local_rank("dp"), mesh.get_local_rank("pp")
    torch.manual_seed(52)
    stage = Stage(rank, args.pp)
    if dp:
        hooks = Hooks(stage, dp)
    pipeline = Pipeline(stage, hooks, pp, args.bug)
    optimizer = torch.optim.AdamW(stage.parameters(), lr=0.01, eps=1e-4)
    data = torch.Generator().manual_seed(31)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        for row, cut in enumerate(torch.randint(3, LENGTH + 2, (BATCH,), generator=data).tolist()):
            text[row, cut:] = -100
        text = text.chunk(args.dp)[place]
        total = (text[:, 1:] != -100).sum()
        if dp:
            dist.all_reduce(total, group=dp)
        optimizer.zero_grad()
        pipeline.step(text, total)
        optimizer.step()
    return stage


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
