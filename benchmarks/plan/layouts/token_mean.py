"""transformers' and accelerate's way: DDP with no_sync, micro-batches, losses that are summed and divided by the tokens
of all micro-batches of all ranks, times the number of ranks since DDP takes a mean. Bugs: own_items (verl #5366, prime-rl
#1957: the tokens of the rank), not_scaled (transformers #34511: the mean of DDP is not undone), scaled_by_micro
(transformers #35207: multiplied by the micro-batches, too), first_items (the tokens of one micro-batch), no_sync
(build-nanogpt #30)."""
import contextlib

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

from ranks import Job, text

VOCABULARY, WIDTH, BATCH, LENGTH, MICRO = 33, 9, 12, 7, 3


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.mix = nn.TransformerEncoderLayer(WIDTH, 3, 14, dropout=0.0, batch_first=True, norm_first=True)
        self.head = nn.Linear(WIDTH, VOCABULARY)

    def forward(self, tokens):
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1])
        return self.head(self.mix(self.embed(tokens), src_mask=mask))


def items_in_batch(job, labels):
    count = (labels[0] != -100).sum() if job.bug == "first_items" else torch.stack([(y != -100).sum() for y in labels]).sum()  # place first_items
    if job.parallel and job.bug != "own_items":
        counts = [torch.zeros_like(count) for _ in range(job.size["dp"])]
        dist.all_gather(counts, count)
        count = torch.stack(counts).sum()
    return count


def main():
    job = Job("dp")
    torch.manual_seed(1)
    model = Model()
    wrapped = DistributedDataParallel(model) if job.parallel else model
    optimizer = torch.optim.NAdam(model.parameters(), lr=0.01)
    for step in range(3):
        tokens, labels = text(step, BATCH, LENGTH, VOCABULARY)
        lengths = torch.tensor([7, 3, 5, 2, 6, 1, 4, 7, 2, 2, 5, 3])
        labels = labels.masked_fill(torch.arange(LENGTH) >= lengths[:, None], -100)
        tokens, labels = (t.chunk(job.size["dp"])[job.index["dp"]].chunk(MICRO) for t in (tokens, labels))
        items = items_in_batch(job, labels)
        optimizer.zero_grad()
        for i in range(MICRO):
            quiet = job.parallel and (i + 1 < MICRO or job.bug == "no_sync")
            with wrapped.no_sync() if quiet else contextlib.nullcontext():
                logits = wrapped(tokens[i])
                loss = F.cross_entropy(logits.flatten(0, 1), labels[i].flatten(), reduction="sum") / items  # place own_items not_scaled first_items
                if job.bug != "not_scaled":
                    loss = loss * job.size["dp"]  # place not_scaled
                if job.bug == "scaled_by_micro":
                    loss = loss * MICRO  # place scaled_by_micro
                loss.backward()  # place no_sync
        optimizer.step()  # place no_sync


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
