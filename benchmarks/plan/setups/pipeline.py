"""A stack of blocks as a pipeline of torch.distributed.pipelining; --stages 1 is the single-device program."""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed import pipelining


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, 3 * width), nn.Linear(3 * width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    """All blocks, or those of one stage under their names in the whole."""

    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleDict(blocks)

    def forward(self, x):
        for block in self.blocks.values():
            x = block(x)
        return x


class Stages(nn.Module):
    """What this rank has of the model."""

    def __init__(self, blocks):
        super().__init__()
        self.blocks = nn.ModuleDict(blocks)


SCHEDULES = {"gpipe": pipelining.ScheduleGPipe, "1f1b": pipelining.Schedule1F1B,
             "interleaved": pipelining.ScheduleInterleaved1F1B}


def loss_of(out, target):
    return ((out - target) ** 2).mean()


def build(args, all_blocks, rank):
    """(modules that this rank trains, schedule)"""
    n_stages = args.stages * args.chunks
    per_stage = args.layers // n_stages
    example = torch.empty(args.batch // args.micro, args.width)
    mine, stages = {}, []
    for chunk in range(args.chunks):
        index = chunk * args.stages + rank
        names = [str(n) for n in range(index * per_stage, (index + 1) * per_stage)]
        part = Model({name: all_blocks[name] for name in names})
        mine.update(part.blocks.items())
        stages.append(pipelining.PipelineStage(
            part, index, n_stages, torch.device("cpu"), input_args=(example.clone().requires_grad_(index > 0),),
            output_args=(example.clone().requires_grad_(),)))
    kind = SCHEDULES[args.schedule]
    stage = stages if args.schedule == "interleaved" else stages[0]
    return Stages(mine), kind(stage, args.micro, loss_fn=loss_of, scale_grads=args.scale)


def single_step(model, x, y, args):
    for xs, ys in zip(x.chunk(args.micro), y.chunk(args.micro)):
        (loss_of(model(xs), ys) / args.micro).backward()


def pipeline_step(schedule, x, y, rank, args):
    has_first, has_last = rank == 0, rank == args.stages - 1
    schedule.step(*([x] if has_first else []), **({"target": y} if has_last else {}))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedule", choices=SCHEDULES, default="gpipe")
    for name, default in (("stages", 1), ("chunks", 1), ("layers", 4), ("micro", 4), ("width", 5), ("batch", 28),
                          ("steps", 3)):
        parser.add_argument("--" + name, type=int, default=default)
    parser.set_defaults(scale=True)
    return parser.parse_args()


def main(args):
    torch.manual_seed(0)
    all_blocks = {str(n): Block(args.width) for n in range(args.layers)}
    rank = 0
    if args.stages == 1:
        model = Model(all_blocks)
    else:
        dist.init_process_group("gloo")
        rank = dist.get_rank()
        model, schedule = build(args, all_blocks, rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for number in range(args.steps):
        made = torch.Generator().manual_seed(number)
        x, y = (torch.randn(args.batch, args.width, generator=made) for _ in range(2))
        optimizer.zero_grad()
        if args.stages == 1:
            single_step(model, x, y, args)
        else:
            pipeline_step(schedule, x, y, rank, args)
        optimizer.step()


if __name__ == "__main__":
    main(arguments())

# SPDX-License-Identifier: Apache-2.0
