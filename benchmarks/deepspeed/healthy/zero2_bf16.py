"""DeepSpeed, ZeRO 2 in bfloat16: a causal model, the optimizer and the warm-up that its configuration names, two ranks."""

import argparse
import logging

import deepspeed
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F

from options import options

CONTEXT, BATCH = 32, 8


class Decoder(nn.Module):
    def __init__(self, dim, layers=2):
        super().__init__()
        self.embed = nn.Embedding(128, dim)
        self.position = nn.Parameter(torch.zeros(CONTEXT, dim))
        self.layers = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, 4, 2 * dim, dropout=0.0, activation="gelu", batch_first=True) for _ in range(layers)
        )
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 128)

    def forward(self, ids):
        x = self.embed(ids) + self.position
        mask = torch.triu(torch.full((CONTEXT, CONTEXT), float("-inf"), dtype=x.dtype), diagonal=1)
        for layer in self.layers:
            x = layer(x, src_mask=mask)
        return self.head(self.norm(x))


def main():
    args = options(lr=3e-3, width=32, steps=30)
    torch.set_num_threads(1)
    deepspeed.init_distributed("gloo")
    rank = dist.get_rank()
    torch.manual_seed(args.seed)
    with open(argparse.__file__) as f:
        text = torch.tensor([min(ord(c), 127) for c in f.read(30000)])
    model = Decoder(args.width)
    engine, _, _, schedule = deepspeed.initialize(
        model=model,
        model_parameters=model.parameters(),
        config={
            "train_micro_batch_size_per_gpu": BATCH,
            "bf16": {"enabled": True},
            "gradient_clipping": 1.0,
            "zero_optimization": {"stage": 2},
            "optimizer": {"type": "AdamW", "params": {"lr": args.lr, "weight_decay": 0.05, "torch_adam": True}},
            "scheduler": {"type": "WarmupLR", "params": {"warmup_max_lr": args.lr, "warmup_num_steps": 6}},
        },
    )
    draw = torch.Generator().manual_seed(1000 * args.seed + rank)
    for step in range(args.steps):
        starts = torch.randint(len(text) - CONTEXT - 1, (BATCH,), generator=draw)
        chunk = torch.stack([text[s : s + CONTEXT + 1] for s in starts.tolist()])
        logits = engine(chunk[:, :-1])
        loss = F.cross_entropy(logits.float().flatten(0, 1), chunk[:, 1:].flatten())
        engine.backward(loss)
        engine.step()
        if step % 10 == 9 and rank == 0:
            print(f"step {step}: loss {loss.item():.3f}, rate {schedule.get_last_lr()[0]:.5f}")
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    logging.disable(logging.INFO)
    main()

# SPDX-License-Identifier: Apache-2.0
