"""accelerate and transformers: a causal model by hand, accumulation, a prepared schedule; weights saved."""

import json
import tempfile

import torch
from accelerate import Accelerator
from accelerate.utils import set_seed
from torch.utils.data import DataLoader
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM, get_linear_schedule_with_warmup
from transformers.utils import logging

from options import options

logging.set_verbosity_error()
LENGTH = 32


def load(module, limit):
    with open(module.__file__) as f:
        ids = torch.tensor([min(ord(c), 127) for c in f.read(limit)])
    return [{"input_ids": row, "labels": row} for row in ids[: len(ids) // LENGTH * LENGTH].view(-1, LENGTH)]


def evaluate(accelerator, model, loader):
    model.eval()
    losses = []
    for batch in loader:
        with torch.no_grad():
            losses.append(accelerator.gather_for_metrics(model(**batch).loss.repeat(len(batch["labels"]))))
    return torch.cat(losses).mean().item()


def main():
    args = options(lr=4e-3, width=32, steps=36)
    set_seed(args.seed)
    torch.set_num_threads(1)
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=2)
    config = GPTNeoXConfig(
        vocab_size=128, hidden_size=args.width, intermediate_size=2 * args.width, num_hidden_layers=2,
        num_attention_heads=4, max_position_embeddings=LENGTH, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    model = GPTNeoXForCausalLM(config)
    rows = load(json, 15000)
    train_loader = DataLoader(rows[:400], batch_size=10, shuffle=True)
    eval_loader = DataLoader(rows[400:], batch_size=20)
    decayed = [p for p in model.parameters() if p.dim() > 1]
    other = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": decayed, "weight_decay": 0.05}, {"params": other, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=args.lr)
    epochs = max(2, args.steps // 20)
    scheduler = get_linear_schedule_with_warmup(optimizer, 4, 20 * epochs)
    model, optimizer, train_loader, eval_loader, scheduler = accelerator.prepare(
        model, optimizer, train_loader, eval_loader, scheduler
    )
    for epoch in range(epochs):
        model.train()
        for batch in train_loader:
            with accelerator.accumulate(model):
                loss = model(**batch).loss
                accelerator.backward(loss)
                if accelerator.sync_gradients:
                    accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
        print(f"epoch {epoch}: loss {loss.item():.3f}, eval {evaluate(accelerator, model, eval_loader):.3f}")
    with tempfile.TemporaryDirectory() as folder:
        accelerator.unwrap_model(model).save_pretrained(folder)
        again = GPTNeoXForCausalLM.from_pretrained(folder)
    print(f"reloaded: {sum(p.numel() for p in again.parameters())} numbers")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
