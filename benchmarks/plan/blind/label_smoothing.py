"""Megatron-LM #737, #7464 (finding 1 of #7452): label smoothing of a vocabulary-parallel cross entropy takes the rank's
part of the vocabulary for the whole."""
import torch
import torch.distributed as dist
import torch.nn as nn

from parts import arguments, enter

VOCABULARY, WIDTH, HIDDEN, BATCH, LENGTH, SMOOTHING = 22, 6, 10, 4, 7, 0.125


class VocabParallelCrossEntropy(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, target, args):
        group, part = args.group.get("tp"), logits.shape[-1]
        first = args.index["tp"] * part
        largest = logits.max(-1).values
        if group is not None:
            dist.all_reduce(largest, dist.ReduceOp.MAX, group=group)
        logits = logits - largest[..., None]
        mask = (target < first) | (target >= first + part)
        local = (target - first).masked_fill(mask, 0)
        picked = logits.gather(-1, local[..., None]).squeeze(-1).masked_fill(mask, 0.0)
        exponentials = logits.exp()
        total = exponentials.sum(-1)
        every = logits.sum(-1)
        if group is not None:
            dist.all_reduce(picked, group=group)
            dist.all_reduce(total, group=group)
            if not args.bug:
                dist.all_reduce(every, group=group)
        ctx.vocabulary = part if args.bug else VOCABULARY
        mean = every / ctx.vocabulary - total.log()  # place
        smoothing = SMOOTHING * ctx.vocabulary / (ctx.vocabulary - 1)
        ctx.smoothing = smoothing
        ctx.save_for_backward(exponentials / total[..., None], mask, local)
        return (1 - smoothing) * (total.log() - picked) - smoothing * mean  # place

    @staticmethod
    def backward(ctx, grad):
        softmax, mask, local = ctx.saved_tensors
        hit = torch.zeros_like(softmax).scatter_(-1, local[..., None], 1 - ctx.smoothing)  # place
        softmax = softmax - hit.masked_fill(mask[..., None], 0.0) - ctx.smoothing / ctx.vocabulary  # place
        return softmax * grad[..., None], None, None


class Model(nn.Module):
    def __init__(self, args):
        super().__init__()
        self.args = args
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.hidden = nn.Linear(WIDTH, HIDDEN)
        head = torch.randn(VOCABULARY, HIDDEN) * 0.2
        self.head = nn.Parameter(head.chunk(args.tp)[args.index["tp"]].clone())

    def forward(self, tokens):
        x = torch.relu(self.hidden(self.embed(tokens)))
        return enter(x, self.args.group.get("tp")) @ self.head.t()


def main():
    args = arguments("tp")
    torch.manual_seed(1)
    model = Model(args)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(5):
        text = torch.randint(VOCABULARY, (BATCH, LENGTH + 1))
        optimizer.zero_grad()
        loss = VocabParallelCrossEntropy.apply(model(text[:, :-1]), text[:, 1:], args).mean()
        loss.backward()
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
