"""torchtitan #596: each pipeline stage clips by the norm of its own gradients."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from parts import arguments

WIDTH, HIDDEN, CLASSES, ROWS = 6, 10, 7, 5


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.up, self.down = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self, layers, last):
        super().__init__()
        self.layers = nn.ModuleDict({str(i): Block() for i in layers})
        self.head = nn.Linear(WIDTH, CLASSES) if last else None

    def forward(self, x):
        for layer in self.layers.values():
            x = layer(x)
        return self.head(x) if self.head else x


def train(model, x, y, args):
    stage, last = args.index["pp"], args.pp - 1
    if stage > 0:
        x = torch.empty(ROWS, WIDTH)
        dist.recv(x, args.rank - 1)
        x.requires_grad_()
    out = model(x)
    if stage == last:
        F.cross_entropy(out, y).backward()
    else:
        dist.send(out.detach(), args.rank + 1)
        grad = torch.empty_like(out)
        dist.recv(grad, args.rank + 1)
        out.backward(grad)
    if stage > 0:
        dist.send(x.grad, args.rank - 1)


def clip(parameters, args, most=0.3):
    parameters = list(parameters)
    if args.bug or args.pp == 1:
        nn.utils.clip_grad_norm_(parameters, most, foreach=False)  # place
        return
    norm = torch.nn.utils.get_total_norm([p.grad for p in parameters], foreach=False)
    square = norm ** 2
    dist.all_reduce(square, group=args.group["pp"])
    torch.nn.utils.clip_grads_with_norm_(parameters, most, square ** 0.5, foreach=False)


def main():
    args = arguments("pp")
    torch.manual_seed(1)
    each = 6 // args.pp
    stage = args.index["pp"]
    model = Model(range(stage * each, stage * each + each), stage == args.pp - 1)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(4):
        generator = torch.Generator().manual_seed(step)
        x, y = torch.randn(ROWS, WIDTH, generator=generator), torch.randint(CLASSES, (ROWS,), generator=generator)
        optimizer.zero_grad()
        train(model, x, y, args)
        clip(model.parameters(), args)
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
