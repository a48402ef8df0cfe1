"""Megatron's way: tensor and sequence parallelism, embedding and loss split over the vocabulary, a norm of queries and
keys, clipping by a norm that counts shards on all ranks and the rest once. Bugs: final_norm (Megatron-LM #1446), qk_norm
(NeMo RL #3788, transformers' replicated_with_grad_allreduce), row_mask and target_mask (the two masks of a split
vocabulary), padding (torchtitan #4637), log_tp (Megatron-LM #7452), norm_counts (TransformerEngine of ROCm #715)."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from ranks import GatherSequence, Job, ScatterSequence, reduced, text

VOCABULARY, WIDTH, HEADS, SIZE, HIDDEN, BATCH, LENGTH, LAYERS = 26, 10, 4, 6, 22, 3, 8, 2
PADDING = 15


class VocabularyEmbedding(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.job, self.rows = job, VOCABULARY // job.size["tp"]
        self.weight = nn.Parameter(torch.randn(self.rows, WIDTH))

    def forward(self, tokens):
        job, first = self.job, self.job.index["tp"] * self.rows
        outside = (tokens < first) | (tokens >= first + self.rows)
        local = (tokens - first).masked_fill(outside, 0)
        padding = PADDING - first if first <= PADDING < first + self.rows else None
        if job.bug == "padding":
            padding = PADDING % self.rows
        x = F.embedding(local, self.weight, padding)  # place padding row_mask
        if job.bug != "row_mask":
            x = x.masked_fill(outside[..., None], 0.0)  # place row_mask
        x = x.transpose(0, 1)
        return ScatterSequence.apply(x, job.group["tp"], 0) if job.parallel else x


class VocabularyLoss(torch.autograd.Function):
    """Cross entropy of each token, of logits whose last dimension is split."""

    @staticmethod
    def forward(ctx, logits, targets, job):
        group = job.group["tp"]
        logits = logits - reduced(logits.max(-1)[0], group, dist.ReduceOp.MAX)[..., None]
        first = job.index["tp"] * logits.shape[-1]
        outside = (targets < first) | (targets >= first + logits.shape[-1])
        local = (targets - first).masked_fill(outside, 0)
        predicted = logits.gather(-1, local[..., None])[..., 0]
        if job.bug != "target_mask":
            predicted = predicted.masked_fill(outside, 0.0)  # place target_mask
        predicted = reduced(predicted, group)  # place target_mask
        exponentials = logits.exp()
        total = reduced(exponentials.sum(-1), group)
        if job.bug == "log_tp":
            total = reduced(total, group)  # place log_tp
        ctx.save_for_backward(exponentials / total[..., None], local, outside)
        return total.log() - predicted

    @staticmethod
    def backward(ctx, grad):
        softmax, local, outside = ctx.saved_tensors
        made = softmax.scatter_add(-1, local[..., None], (outside.to(grad.dtype) - 1)[..., None])
        return made * grad[..., None], None, None


class Attention(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.job, self.heads = job, HEADS // job.size["tp"]
        self.qkv = nn.Linear(WIDTH, 3 * self.heads * SIZE)
        self.q_norm, self.k_norm = nn.RMSNorm(SIZE), nn.RMSNorm(SIZE)
        self.out = nn.Linear(self.heads * SIZE, WIDTH, bias=False)

    def forward(self, x):
        q, k, v = self.qkv(x).unflatten(-1, (self.heads, 3 * SIZE)).chunk(3, -1)
        q, k = self.q_norm(q), self.k_norm(k)
        q, k, v = (t.permute(1, 2, 0, 3) for t in (q, k, v))
        out = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(out.permute(2, 0, 1, 3).flatten(2))


class Mlp(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.up = nn.Linear(WIDTH, HIDDEN // job.size["tp"])
        self.down = nn.Linear(HIDDEN // job.size["tp"], WIDTH, bias=False)

    def forward(self, x):
        return self.down(F.gelu(self.up(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.job = job
        self.input_norm, self.attention = nn.LayerNorm(WIDTH), Attention(job)
        self.mlp_norm, self.mlp = nn.LayerNorm(WIDTH), Mlp(job)

    def part(self, norm, inner, x):
        group, y = self.job.group["tp"], norm(x)
        if group is None:
            return x + inner(y)
        return x + ScatterSequence.apply(inner(GatherSequence.apply(y, group, 0)), group, 0)

    def forward(self, x):
        return self.part(self.mlp_norm, self.mlp, self.part(self.input_norm, self.attention, x))


class Model(nn.Module):
    def __init__(self, job):
        super().__init__()
        self.job = job
        self.embedding = VocabularyEmbedding(job)
        self.layers = nn.ModuleList(Block(job) for _ in range(LAYERS))
        self.final_norm = nn.LayerNorm(WIDTH)
        self.output = nn.Linear(WIDTH, VOCABULARY // job.size["tp"], bias=False)

    def forward(self, tokens, labels):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = layer(x)
        x = self.final_norm(x)
        if self.job.parallel:
            x = GatherSequence.apply(x, self.job.group["tp"], 0)
        return VocabularyLoss.apply(self.output(x).transpose(0, 1), labels, self.job)


def partial(name, bug):
    """Is the gradient of this parameter a sum over the ranks?"""
    if "q_norm" in name or "k_norm" in name:
        return bug != "qk_norm"
    return "norm" in name and not (bug == "final_norm" and name.startswith("final_norm"))


def finish(model, job):
    """What Megatron's finalize_model_grads does: one buffer of all gradients that are sums over the ranks."""
    grads = [p.grad for name, p in model.named_parameters() if partial(name, job.bug)]
    flat = torch.cat([grad.flatten() for grad in grads])
    dist.all_reduce(flat, group=job.group["tp"])  # place final_norm qk_norm
    for grad, part in zip(grads, flat.split([grad.numel() for grad in grads])):
        grad.copy_(part.view_as(grad))


def clip(model, job, most):
    split = ("embedding", "qkv", "out", "up", "down")
    counted = [p.grad.pow(2).sum() for name, p in model.named_parameters()
               if job.index["tp"] == 0 or any(word in name for word in split) or job.bug == "norm_counts"]  # place norm_counts
    norm = reduced(torch.stack(counted).sum(), job.group["tp"]).sqrt()  # place norm_counts
    scale = (most / (norm + 1e-6)).clamp(max=1.0)
    for p in model.parameters():
        p.grad.mul_(scale)


def main():
    job = Job("tp")
    torch.manual_seed(1)
    model = Model(job)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    for step in range(4):
        tokens, labels = text(step, BATCH, LENGTH, VOCABULARY)
        losses = model(tokens, labels)
        optimizer.zero_grad()
        losses.mean().backward()
        if job.parallel:
            finish(model, job)
        clip(model, job, 0.05)
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
