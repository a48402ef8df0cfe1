"""ZeRO by hand: all parameters are views of one padded buffer; two micro-batches; gradients are reduce-scattered, Adam
updates the rank's part, and the parts are gathered. There is no torch.optim.Optimizer. Bugs: own_norm (a norm of the
rank's part clips it), boundary (DeepSpeed as in open-instruct #1498: only the last micro-batch counts), not_averaged
(DeepSpeed #7773), wrong_part (DeepSpeed #2058: the part of another rank), before_update (the old part is gathered)."""
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from ranks import Job, reduced, text

VOCABULARY, WIDTH, BATCH, LENGTH, MICRO = 23, 7, 12, 5, 2


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(VOCABULARY, WIDTH)
        self.convolution = nn.Conv1d(WIDTH, 11, 3)
        self.norm = nn.LayerNorm(11)
        self.head = nn.Linear(11, VOCABULARY)

    def forward(self, tokens):
        x = F.pad(self.embed(tokens).transpose(1, 2), (2, 0))
        return self.head(self.norm(F.mish(self.convolution(x)).transpose(1, 2)))


class Zero:
    """The flat buffers of a model, and Adam on the rank's part of them."""

    def __init__(self, model, job, lr=0.01, betas=(0.9, 0.98), eps=1e-7, most=0.3):
        self.job, self.lr, self.betas, self.eps, self.most, self.steps = job, lr, betas, eps, most, 0
        self.ranks = job.size["dp"]
        self.parameters = list(model.parameters())
        used = sum(p.numel() for p in self.parameters)
        self.part = -(-used // self.ranks)
        self.values, self.grads = torch.zeros(self.part * self.ranks), torch.zeros(self.part * self.ranks)
        at = 0
        for p in self.parameters:
            self.values[at:at + p.numel()].copy_(p.detach().flatten())
            p.data = self.values[at:at + p.numel()].view_as(p)
            p.grad = self.grads[at:at + p.numel()].view_as(p)
            at += p.numel()
        self.mine = slice(job.index["dp"] * self.part, (job.index["dp"] + 1) * self.part)
        self.first, self.second = torch.zeros(self.part), torch.zeros(self.part)

    def zero_grad(self):
        self.grads.zero_()

    @torch.no_grad()
    def step(self):
        job, group = self.job, self.job.group["dp"]
        grad = self.grads
        if job.parallel:
            grad = torch.empty(self.part)
            dist.reduce_scatter_tensor(grad, self.grads, op=dist.ReduceOp.SUM, group=group)
            grad /= self.ranks
        norm = grad.pow(2).sum()
        if job.bug != "own_norm":
            norm = reduced(norm, group)
        norm = norm.sqrt()  # place own_norm
        grad = grad * (self.most / (norm + 1e-6))  # place own_norm
        self.steps += 1
        beta1, beta2 = self.betas
        self.first.mul_(beta1).add_(grad, alpha=1 - beta1)
        self.second.mul_(beta2).addcmul_(grad, grad, value=1 - beta2)
        size = self.lr / (1 - beta1 ** self.steps)
        root = (self.second / (1 - beta2 ** self.steps)).sqrt().add_(self.eps)
        part = self.values[self.mine]
        if job.bug == "wrong_part":
            part = self.values[self.part * ((job.index["dp"] + 1) % self.ranks):][:self.part].clone()  # place wrong_part
        old = part.clone()
        part.addcdiv_(self.first, root, value=-size)  # place wrong_part
        if job.parallel:
            given = old if job.bug == "before_update" else part.clone()  # place before_update
            dist.all_gather_into_tensor(self.values, given, group=group)  # place before_update wrong_part


def main():
    job = Job("dp")
    torch.manual_seed(1)
    model = Model()
    optimizer = Zero(model, job)
    for step in range(2):
        tokens, labels = (t.chunk(job.size["dp"])[job.index["dp"]] for t in text(step, BATCH, LENGTH, VOCABULARY))
        optimizer.zero_grad()
        for x, y in zip(tokens.chunk(MICRO), labels.chunk(MICRO)):
            if job.bug == "boundary":
                optimizer.zero_grad()  # place boundary
            loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
            if job.bug != "not_averaged":
                loss = loss / MICRO
            loss.backward()  # place not_averaged boundary
        optimizer.step()


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
