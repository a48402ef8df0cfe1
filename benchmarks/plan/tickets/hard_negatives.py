# SPDX-License-Identifier: Apache-2.0
"""Training of an embedding model under DDP: queries, their passages, and two hard negatives for each. Passages of all
ranks are candidates for each query; gradients of gathered ones are summed for those whose they are. A second loss
follows the margins that a reranker gave to some of the negatives; it is a mean over all of these. Bugs:
columns_gathered: columns are put together before they are gathered, so ranks lie where the labels look for columns.
    https://github.com/huggingface/sentence-transformers/pull/3453
world_scaled: the loss is multiplied by the ranks to counter the mean of DDP, though it is a mean over the rank's rows.
    https://github.com/texttron/tevatron/issues/143
own_count: margins are averaged over those of the rank, and then over the ranks.
    https://github.com/vllm-project/speculators/pull/942"""
import argparse

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

WORDS, WIDTH, HIDDEN, FEATURES, BATCH, LENGTH, NEGATIVES = 37, 9, 17, 10, 15, 6, 2


class GatherRows(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        pieces = [torch.empty_like(x) for _ in range(dist.get_world_size())]
        dist.all_gather(pieces, x.contiguous())
        return torch.cat(pieces)

    @staticmethod
    def backward(ctx, grad):
        grad = grad.contiguous().clone()
        dist.all_reduce(grad)
        return grad.chunk(dist.get_world_size())[dist.get_rank()].contiguous()


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.norm = nn.Embedding(WORDS, WIDTH), nn.LayerNorm(WIDTH)
        self.score = nn.Linear(WIDTH, 1, bias=False)
        self.up, self.down = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, FEATURES)
        self.log_scale = nn.Parameter(torch.tensor(0.5))

    def forward(self, columns, kept):
        """Columns: queries, passages and negatives. Features of length one, and the scale of their products."""
        x = self.norm(self.words(columns))
        weights = self.score(x).squeeze(-1).masked_fill(~kept, float("-inf")).softmax(-1)
        pooled = torch.einsum("cbl,cblw->cbw", weights, x)
        x = self.down(F.gelu(self.up(pooled)))
        return x * (x.square().sum(-1, keepdim=True) + 1e-6).rsqrt(), self.log_scale.exp()


class RankingLoss(nn.Module):
    def __init__(self, dp, bug):
        super().__init__()
        self.dp, self.bug = dp, bug

    def candidates(self, passages, negatives):
        """What queries choose from: first the passages, in the order of the rows, then the negatives."""
        columns = [passages, *negatives]
        if self.dp == 1:
            return torch.cat(columns)
        if self.bug == "columns_gathered":
            return GatherRows.apply(torch.cat(columns))  # place columns_gathered
        return torch.cat([GatherRows.apply(column) for column in columns])

    def forward(self, features, scale, margins, known):
        queries, passages, *negatives = features
        first = dist.get_rank() * queries.size(0) if self.dp > 1 else 0
        labels = torch.arange(first, first + queries.size(0))
        scores = scale * queries @ self.candidates(passages, negatives).T
        loss = F.cross_entropy(scores, labels)
        if self.dp > 1 and self.bug == "world_scaled":
            loss = loss * self.dp  # place world_scaled
        own = (queries * passages).sum(-1)
        wrong = torch.stack([own - (queries * negative).sum(-1) for negative in negatives]) - margins
        count = known.sum()
        if self.dp > 1 and self.bug != "own_count":  # place own_count
            dist.all_reduce(count)
            count = count / self.dp
        return loss + 0.5 * (wrong.square() * known).sum() / count  # place own_count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dp", type=int, default=1)
    parser.add_argument("--steps", type=int, default=3)
    parser.add_argument("--bug", default="")
    args = parser.parse_args()
    rank = 0
    if args.dp > 1:
        dist.init_process_group("gloo")
        rank = dist.get_rank()
    torch.manual_seed(17)
    encoder = Encoder()
    model = DistributedDataParallel(encoder) if args.dp > 1 else encoder
    criterion = RankingLoss(args.dp, args.bug)
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=0.01, eps=1e-4, weight_decay=0.02)
    data = torch.Generator().manual_seed(64)
    for _ in range(args.steps):
        columns = torch.randint(WORDS, (2 + NEGATIVES, BATCH, LENGTH), generator=data)
        lengths = torch.randint(2, LENGTH + 1, (2 + NEGATIVES, BATCH, 1), generator=data)
        kept = torch.arange(LENGTH) < lengths
        margins = torch.randint(9, (NEGATIVES, BATCH), generator=data).to(torch.get_default_dtype()) / 8
        known = torch.rand(NEGATIVES, BATCH, generator=data) < 0.6
        rows = torch.arange(BATCH).chunk(args.dp)[rank]
        optimizer.zero_grad()
        features, scale = model(columns[:, rows], kept[:, rows])
        criterion(features, scale, margins[:, rows], known[:, rows]).backward()
        optimizer.step()
    return encoder


if __name__ == "__main__":
    main()
    if dist.is_initialized():
        dist.destroy_process_group()
