"""Supervised fine-tuning of the upper half of a small decoder in bfloat16 autocast."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

VOCAB, LENGTH, PROMPT = 64, 40, 16
GLOBAL_BATCH, MICRO_BATCH = 32, 8


class Decoder(nn.Module):
    def __init__(self, dim=64, depth=4):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, dim)
        self.pos = nn.Parameter(torch.randn(LENGTH, dim) * 0.02)
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.0, batch_first=True, norm_first=True)
            for _ in range(depth)
        )
        self.norm = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, VOCAB, bias=False)

    def forward(self, ids):
        x = self.embed(ids) + self.pos[: ids.shape[1]]
        mask = torch.full((ids.shape[1],) * 2, float("-inf")).triu(1)
        for layer in self.layers:
            x = layer(x, src_mask=mask)
        return self.lm_head(self.norm(x))


def freeze_lower(model, n_frozen):
    model.embed.requires_grad_(False)
    model.pos.requires_grad_(False)
    for layer in model.layers[:n_frozen]:
        layer.requires_grad_(False)


def make_batch(rule, gen):
    ids = torch.randint(4, VOCAB, (GLOBAL_BATCH, LENGTH), generator=gen)
    for t in range(PROMPT, LENGTH):
        ids[:, t] = rule[ids[:, t - 1]]
    length = torch.randint(PROMPT + 4, LENGTH + 1, (GLOBAL_BATCH, 1), generator=gen)
    pos = torch.arange(LENGTH)[None]
    mask = (pos >= PROMPT) & (pos < length)
    return ids, mask


def compute_loss(model, ids, mask):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(ids[:, :-1])
    nll = F.cross_entropy(logits.float().reshape(-1, VOCAB), ids[:, 1:].reshape(-1), reduction="none")
    weight = mask[:, 1:].reshape(-1).float()
    return (nll * weight).sum() / weight.sum()


def training_step(model, opt, sched, ids, mask):
    opt.zero_grad()
    micro_ids = ids.split(MICRO_BATCH)
    micro_masks = mask.split(MICRO_BATCH)
    n_micro = len(micro_ids)
    step_loss = 0.0
    for mb_ids, mb_mask in zip(micro_ids, micro_masks):
        loss = compute_loss(model, mb_ids, mb_mask) / n_micro
        loss.backward()
        step_loss += loss.item()
    nn.utils.clip_grad_norm_([p for p in model.parameters() if p.requires_grad], 1.0)
    opt.step()
    sched.step()
    return step_loss


def lr_lambda(step, warmup, total):
    if step < warmup:
        return (step + 1) / warmup
    return 0.5 * (1 + math.cos(math.pi * (step - warmup) / max(1, total - warmup)))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int, default=30)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)

    model = Decoder()
    freeze_lower(model, 2)
    trainable = [p for p in model.parameters() if p.requires_grad]
    opt = torch.optim.AdamW(trainable, lr=4e-3, betas=(0.9, 0.95), weight_decay=0.01)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: lr_lambda(s, 8, args.steps))
    gen = torch.Generator().manual_seed(args.seed + 1)
    rule = torch.randperm(VOCAB, generator=gen)
    for step in range(args.steps):
        ids, mask = make_batch(rule, gen)
        loss = training_step(model, opt, sched, ids, mask)
        if step % 5 == 0 or step == args.steps - 1:
            print(f"step {step} train/loss {loss:.6f}")


if __name__ == "__main__":
    main()
