# SPDX-License-Identifier: Apache-2.0
"""Two pipeline stages by isend and irecv, within data parallelism, after Megatron-LM's loss per token: micro-batches
sum their losses, gradients are summed over the copies, and divided once by the tokens of all micro-batches and
copies, which the last stage knows. Clipping by the norm of all stages. Bugs:
micro_means: each micro-batch divides by its own tokens, and the step by their number and that of the copies.
    https://github.com/NVIDIA/Megatron-LM/issues/4590
own_tokens: each copy divides by its own tokens, then gradients are averaged.
    https://github.com/PrimeIntellect-ai/prime-rl/pull/2562
stage_norm: each stage clips by the norm of its own parameters.
    https://github.com/pytorch/torchtitan/issues/596"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.device_mesh import init_device_mesh

VOCABULARY, WIDTH, HIDDEN, BATCH, LENGTH, LAYERS, MICRO, MOST = 26, 10, 14, 30, 9, 4, 3, 0.15


class Block(nn.Module):
    """Each position reads the mean of those before it."""
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH, bias=False)
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)
        steps = torch.arange(1, LENGTH + 1)
        self.register_buffer("means", torch.ones(LENGTH, LENGTH).tril() / steps.unsqueeze(1), persistent=False)

    def forward(self, x):
        h = self.norm(x)
        return x + self.down(F.gelu(self.up(h + self.means @ self.mix(h))))


class Stage(nn.Module):
    """The whole model is made, for equal random numbers, and what is not of this stage is dropped."""
    def __init__(self, stage, stages):
        super().__init__()
        each = LAYERS // stages
        self.first, self.last = stage == 0, stage == stages - 1
        embed = nn.Embedding(VOCABULARY, WIDTH)
        blocks = [Block() for _ in range(LAYERS)]
        norm, head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY)
        if self.first:
            self.embed = embed
        self.blocks = nn.ModuleDict({str(i): blocks[i] for i in range(stage * each, (stage + 1) * each)})
        if self.last:
            self.norm, self.head = norm, head

    def forward(self, x):
        if self.first:
            x = self.embed(x)
        for block in self.blocks.values():
            x = block(x)
        return self.head(self.norm(x)) if self.last else x


def run_stage(model, parts, bug, pp, before, after):
    """GPipe: all micro-batches forward, then all backward. Returns the tokens that the losses were summed over."""
    kept, sends, tokens = [], [], torch.zeros((), dtype=torch.int64)
    for text in parts:
        ids, labels = text[:, :-1].clamp(min=0), text[:, 1:]
        x = ids
        if not model.first:
            x = torch.empty(ids.size(0), LENGTH, WIDTH)
            dist.irecv(x, src=before).wait()
            x.requires_grad_()
        y = model(x)
        if model.last:
            own = (labels != -100).sum()
            tokens += own
            loss = F.cross_entropy(y.flatten(0, 1), labels.flatten(), reduction="sum")
            y = loss / own if bug == "micro_means" else loss  # place micro_means
        else:
            sends.append(dist.isend(y.detach(), dst=after))
        kept.append((x, y))
    for x, y in kept:
        if model.last:
            y.backward()
        else:
            grad = torch.empty_like(y)
            dist.irecv(grad, src=after).wait()
            y.backward(grad)
        if not model.first:
            sends.append(dist.isend(x.grad, dst=before))
    for send in sends:
        send.wait()
    return tokens


def finalize(model, tokens, bug, mesh):
    dp, pp = (mesh.get_group("dp"), mesh.get_group("pp")) if mesh else (None, None)
    copies = mesh["dp"].size() if mesh else 1
    if mesh:
        if bug != "own_tokens":
            dist.all_reduce(tokens, group=dp)  # place own_tokens
        dist.broadcast(tokens, dist.get_global_rank(pp, dist.get_world_size(pp) - 1), group=pp)
    for p in model.parameters():
        if bug == "micro_means":
            p.grad /= MICRO * copies  # place micro_means
        elif bug == "own_tokens":
            p.grad /= tokens * copies  # place own_tokens
        if mesh:
            dist.all_reduce(p.grad, group=dp)
        if bug not in ("micro_means", "own_tokens"):
            p.grad /= tokens
    squares = torch.stack([p.grad.pow(2).sum() for p in model.parameters()]).sum()
    if mesh and bug != "stage_norm":
        dist.all_reduce(squares, group=pp)  # place stage_norm
    factor = (MOST / (squares.sqrt() + 1e-6)).clamp(max=1.0)  # place stage_norm
    for p in model.parameters():
        p.grad *= factor


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--pp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    mesh, copy, stage, before, after = None, 0, 0, None, None
    if args.dp * args.pp > 1:
        dist.init_process_group("gloo")
        mesh = init_device_mesh("cpu", (args.dp, args.pp), mesh_dim_names=("dp", "pp"))
        copy, stage = mesh.get_local_rank("dp"), mesh.get_local_rank("pp")
        before, after = dist.get_rank() - 1, dist.get_rank() + 1
    torch.manual_seed(29)
    model = Stage(stage, args.pp)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.02, eps=1e-3)
    data = torch.Generator().manual_seed(8)
    for _ in range(args.steps):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1), generator=data)
        for row, cut in enumerate(torch.randint(3, LENGTH + 2, (BATCH,), generator=data).tolist()):
            text[row, cut:] = -100
        optimizer.zero_grad()
        parts = text.chunk(args.dp)[copy].chunk(MICRO)
        tokens = run_stage(model, parts, args.bug, args.pp, before, after)
        finalize(model, tokens, args.bug, mesh)
        optimizer.step()
    return model


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
