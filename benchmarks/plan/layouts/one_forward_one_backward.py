"""A pipeline by hand, one forward and one backward in turn: messages of activations and gradients, an embedding that is
the head, too, and micro-batches with unlike numbers of tokens that count. Bugs: tied (nanotron: the gradients of the two
copies are not added), counted_twice (Megatron-LM #844: both copies in the norm), means (transformers #34511: the mean of
means), order (gradients of the wrong micro-batch), own_norm (torchtitan #596)."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from ranks import Job, reduced, text

VOCABULARY, WIDTH, BATCH, LENGTH, MICRO, LAYERS = 21, 8, 9, 5, 3, 4


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm, self.mix, self.out = nn.RMSNorm(WIDTH), nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = self.mix(self.norm(x)).chunk(3, -1)
        return x + self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True))


class Stage(nn.Module):
    """The layers of this rank. The first and the last one have the embedding."""

    def __init__(self, job):
        super().__init__()
        stages, index = job.size["pp"], job.index["pp"]
        self.first, self.last = index == 0, index == stages - 1
        embed = nn.Embedding(VOCABULARY, WIDTH)
        layers = [Layer() for _ in range(LAYERS)]
        self.embed = embed if self.first or self.last else None
        each = LAYERS // stages
        self.layers = nn.ModuleDict({str(i): layers[i] for i in range(index * each, (index + 1) * each)})
        self.norm = nn.RMSNorm(WIDTH) if self.last else None

    def forward(self, x):
        if self.first:
            x = self.embed(x)
        for layer in self.layers.values():
            x = layer(x)
        return F.linear(self.norm(x), self.embed.weight) if self.last else x


def loss_of(job, logits, labels, counts, i):
    total = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="sum")
    if job.bug == "means":
        return total / counts[i] / MICRO  # place means
    return total / sum(counts)  # place means


def run_pipeline(job, stage, tokens, labels):
    """Forward and backward of all micro-batches of this rank's stage."""
    rank, stages = job.index["pp"], job.size["pp"]
    counts = [int((part != -100).sum()) for part in labels]
    waiting, sent = [], []

    def forward(i):
        x = tokens[i]
        if not stage.first:
            x = torch.empty(tokens[i].shape[0], LENGTH, WIDTH)
            dist.recv(x, rank - 1)
            x.requires_grad_()
        out = stage(x)
        if stage.last:
            out = loss_of(job, out, labels[i], counts, i)
        else:
            sent.append(dist.isend(out.detach().contiguous(), rank + 1))
        waiting.append((x, out))

    def backward():
        x, out = waiting.pop() if job.bug == "order" and not stage.last else waiting.pop(0)  # place order
        if stage.last:
            out.backward()
        else:
            grad = torch.empty_like(out)
            dist.recv(grad, rank + 1)  # place order
            out.backward(grad)  # place order
        if not stage.first:
            sent.append(dist.isend(x.grad, rank - 1))

    warm = min(stages - 1 - rank, MICRO)
    for i in range(warm):
        forward(i)
    for i in range(warm, MICRO):
        forward(i)
        backward()
    for i in range(warm):
        backward()
    for request in sent:
        request.wait()


def clip(job, stage, most):
    counted = [p for name, p in stage.named_parameters()
               if job.bug == "counted_twice" or not (name == "embed.weight" and stage.last and not stage.first)]
    norm = torch.stack([p.grad.pow(2).sum() for p in counted]).sum()  # place counted_twice own_norm
    if job.bug != "own_norm":
        norm = reduced(norm, job.group["pp"])  # place counted_twice
    for p in stage.parameters():
        p.grad.mul_(most / (norm.sqrt() + 1e-6))  # place own_norm


def main():
    job = Job("pp")
    torch.manual_seed(1)
    stage = Stage(job)
    tied = dist.new_group([0, job.size["pp"] - 1]) if job.parallel else None
    optimizer = torch.optim.Adam(stage.parameters(), lr=0.01)
    for step in range(3):
        tokens, labels = text(step, BATCH, LENGTH, VOCABULARY)
        lengths = torch.tensor([5, 4, 5, 1, 2, 1, 3, 5, 3])
        labels = labels.masked_fill(torch.arange(LENGTH) >= lengths[:, None], -100)
        optimizer.zero_grad()
        run_pipeline(job, stage, tokens.chunk(MICRO), labels.chunk(MICRO))
        if job.parallel and stage.embed is not None and job.bug != "tied":
            dist.all_reduce(stage.embed.weight.grad, group=tied)
        clip(job, stage, 0.2)  # place tied
        optimizer.step()  # place tied


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
