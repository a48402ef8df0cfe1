"""SkyRL #1751, Megatron-LM #673: the loss is multiplied by the context ranks twice, once by the caller and once by the
schedule, to undo a mean over data and context ranks that is taken once."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from parts import arguments

VOCABULARY, WIDTH, BATCH, LENGTH = 19, 10, 6, 9


class Gather(torch.autograd.Function):
    """[ranks, ...] of a tensor of each rank; backward the sum of what all ranks have for this one."""

    @staticmethod
    def forward(ctx, x, args):
        ctx.args = args
        parts = [torch.empty_like(x) for _ in range(args.cp)]
        dist.all_gather(parts, x.contiguous(), group=args.group["cp"])
        return torch.stack(parts)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad, group=ctx.args.group["cp"])
        return grad[ctx.args.index["cp"]], None


class Mixer(nn.Module):
    """A causal mean over the tokens so far, whose sums of earlier ranks are gathered."""

    def __init__(self, args):
        super().__init__()
        self.args = args
        self.embed, self.inner = nn.Embedding(VOCABULARY, WIDTH), nn.Linear(WIDTH, WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        args = self.args
        x = self.inner(self.embed(tokens))
        sums, start = x.cumsum(1), 0
        if args.cp > 1:
            start = tokens.shape[1] * args.index["cp"]
            earlier = Gather.apply(sums[:, -1], args)
            sums = sums + earlier[:args.index["cp"]].sum(0)[:, None]
        count = torch.arange(start + 1, start + 1 + tokens.shape[1])[:, None]
        return self.head(torch.tanh(sums / count))


def step_loss(loss, args):
    """What the schedule does with a loss."""
    return loss * args.cp if args.bug else loss  # place


def main():
    args = arguments("dp", "cp")
    torch.manual_seed(1)
    model = Mixer(args)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(4):
        text = torch.arange(BATCH * (LENGTH + 1)).view(BATCH, -1) * (step + 2) % VOCABULARY
        text = text.chunk(args.dp)[args.index["dp"]]
        tokens, targets = (t.chunk(args.cp, 1)[args.index["cp"]] for t in (text[:, :-1], text[:, 1:]))
        optimizer.zero_grad()
        total = F.cross_entropy(model(tokens).flatten(0, 1), targets.flatten(), reduction="sum")
        step_loss(total / (text.shape[0] * LENGTH) * args.cp, args).backward()  # place
        if args.world > 1:
            for parameter in model.parameters():
                dist.all_reduce(parameter.grad)
                parameter.grad /= args.world
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
