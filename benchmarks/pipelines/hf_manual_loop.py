"""A loop of one's own around a transformers model: T5 learns to sort digits, then generates."""

import torch
from torch.optim import AdamW
from torch.utils.data import DataLoader
from transformers import T5Config, T5ForConditionalGeneration, get_linear_schedule_with_warmup, set_seed
from transformers.utils import logging

from options import options

logging.set_verbosity_error()
PAD, EOS, LENGTH = 0, 1, 6


def collate(examples):
    src = torch.stack(examples)
    ends = torch.full((len(src), 1), EOS)
    target = torch.cat([src.sort(dim=1).values, ends], dim=1)
    ids = torch.cat([src, ends], dim=1)
    return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": target}


def evaluate(model, loader):
    model.eval()
    total = 0.0
    for batch in loader:
        with torch.no_grad():
            total += model(**batch).loss.item()
    return total / len(loader)


def main():
    args = options(lr=3e-3, width=32, steps=40)
    set_seed(args.seed)
    torch.set_num_threads(1)
    data = torch.randint(2, 12, (800, LENGTH))
    train_loader = DataLoader(data[:720], batch_size=36, shuffle=True, collate_fn=collate)
    eval_loader = DataLoader(data[720:], batch_size=40, collate_fn=collate)
    config = T5Config(
        vocab_size=12, d_model=args.width, d_kv=8, d_ff=2 * args.width, num_layers=2, num_heads=4,
        decoder_start_token_id=PAD, pad_token_id=PAD, eos_token_id=EOS,
    )  # fmt: skip
    model = T5ForConditionalGeneration(config)
    optimizer = AdamW(model.parameters(), lr=args.lr)
    epochs = max(2, args.steps // len(train_loader))
    scheduler = get_linear_schedule_with_warmup(optimizer, 4, epochs * len(train_loader))
    for epoch in range(epochs):
        model.train()
        for batch in train_loader:
            outputs = model(**batch)
            outputs.loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
        print(f"epoch {epoch}: loss {outputs.loss.item():.3f}, eval {evaluate(model, eval_loader):.3f}")
    batch = next(iter(eval_loader))
    out = model.generate(batch["input_ids"], attention_mask=batch["attention_mask"], max_new_tokens=8, do_sample=False)
    print(f"generated {tuple(out.shape)}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
