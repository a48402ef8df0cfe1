"""torchtitan's way: parallelize_module with sequence parallelism and loss_parallel, fully_shard over dp, a loss that is
summed and divided by the tokens of all dp ranks, a smoothing term, clipping with full tensors. Bugs: smoothing (pytorch
#190746: log_softmax within loss_parallel), own_tokens (prime-rl #1957: divided by the tokens of the rank), fsdp_mean
(the mean of FSDP2 is not undone)."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributed.fsdp import fully_shard
from torch.distributed.tensor import DTensor, Replicate, Shard
from torch.distributed.tensor.parallel import (ColwiseParallel, PrepareModuleInput, RowwiseParallel, SequenceParallel,
                                               loss_parallel, parallelize_module)

from ranks import Job, reduced, text

VOCABULARY, WIDTH, HEADS, SIZE, HIDDEN, BATCH, LENGTH, LAYERS = 34, 12, 4, 6, 22, 4, 10, 2


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.wq, self.wk, self.wv = (nn.Linear(WIDTH, HEADS * SIZE, bias=False) for _ in range(3))
        self.wo = nn.Linear(HEADS * SIZE, WIDTH, bias=False)

    def forward(self, x):
        q, k, v = (w(x).unflatten(-1, (-1, SIZE)).transpose(1, 2) for w in (self.wq, self.wk, self.wv))
        return self.wo(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).flatten(2))


class FeedForward(nn.Module):
    def __init__(self):
        super().__init__()
        self.w1, self.w2, self.w3 = nn.Linear(WIDTH, HIDDEN), nn.Linear(HIDDEN, WIDTH), nn.Linear(WIDTH, HIDDEN)

    def forward(self, x):
        return self.w2(F.silu(self.w1(x)) * self.w3(x))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.attention_norm, self.attention = nn.RMSNorm(WIDTH), Attention()
        self.ffn_norm, self.feed_forward = nn.RMSNorm(WIDTH), FeedForward()

    def forward(self, x):
        x = x + self.attention(self.attention_norm(x))
        return x + self.feed_forward(self.ffn_norm(x))


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok_embeddings = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(Block() for _ in range(LAYERS))
        self.norm, self.output = nn.RMSNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.tok_embeddings(tokens)
        for layer in self.layers:
            x = layer(x)
        return self.output(self.norm(x))


def apply_tp(model, mesh):
    parallelize_module(model, mesh, {
        "tok_embeddings": RowwiseParallel(input_layouts=Replicate(), output_layouts=Shard(1)),
        "norm": SequenceParallel(),
        "output": ColwiseParallel(input_layouts=Shard(1), output_layouts=Shard(-1), use_local_output=False)})
    for block in model.layers:
        plan = {
            "attention_norm": SequenceParallel(),
            "attention": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
            "attention.wq": ColwiseParallel(), "attention.wk": ColwiseParallel(), "attention.wv": ColwiseParallel(),
            "attention.wo": RowwiseParallel(output_layouts=Shard(1)),
            "ffn_norm": SequenceParallel(),
            "feed_forward": PrepareModuleInput(input_layouts=(Shard(1),), desired_input_layouts=(Replicate(),)),
            "feed_forward.w1": ColwiseParallel(), "feed_forward.w2": RowwiseParallel(output_layouts=Shard(1)), "feed_forward.w3": ColwiseParallel()}
        parallelize_module(block, mesh, plan)


def smoothing(job, logits, mask):
    """The mean of all log probabilities, over tokens that count."""
    if isinstance(logits, DTensor) and job.bug != "smoothing":
        logits = logits.redistribute(placements=[Replicate()]).to_local(grad_placements=[Replicate()])
    mean = F.log_softmax(logits, -1).mean(-1)  # place smoothing
    return ((mean.full_tensor() if isinstance(mean, DTensor) else mean) * mask).sum()


def backward(job, model, tokens, labels):
    logits = model(tokens)
    mask = (labels != -100).float()
    loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100, reduction="sum")
    loss = loss.to_local() if isinstance(loss, DTensor) else loss
    loss = loss - 0.1 * smoothing(job, logits, mask)
    count = mask.sum()
    if job.bug != "own_tokens":
        count = reduced(count, job.group["dp"])
    loss = loss / count  # place own_tokens fsdp_mean
    if job.bug != "fsdp_mean":
        loss = loss * job.size["dp"]  # place fsdp_mean
    loss.backward()


def clip(model, most):
    norm = torch.nn.utils.get_total_norm([p.grad for p in model.parameters()])
    norm = norm.full_tensor() if isinstance(norm, DTensor) else norm
    torch.nn.utils.clip_grads_with_norm_(model.parameters(), most, norm)


def main():
    job = Job("dp", "tp")
    torch.manual_seed(1)
    model = Transformer()
    if job.parallel:
        apply_tp(model, job.mesh["tp"])
        for block in model.layers:
            fully_shard(block, mesh=job.mesh["dp"])
        fully_shard(model, mesh=job.mesh["dp"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01, foreach=True)
    for step in range(3):
        tokens, labels = text(step, BATCH, LENGTH, VOCABULARY)
        lengths = torch.tensor([10, 7, 3, 5])
        labels = labels.masked_fill(torch.arange(LENGTH) >= lengths[:, None], -100)
        tokens, labels = (t.chunk(job.size["dp"])[job.index["dp"]] for t in (tokens, labels))
        optimizer.zero_grad()
        if job.parallel:
            with loss_parallel():
                backward(job, model, tokens, labels)
        else:
            backward(job, model, tokens, labels)
        clip(model, 1.0)
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
