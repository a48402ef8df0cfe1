"""A causal model of transformers with `gradient_checkpointing_enable`, in a loop by hand with accumulation over two batches."""

import torch
from torch.utils.data import DataLoader
from transformers import GPT2Config, GPT2LMHeadModel, get_cosine_schedule_with_warmup

from options import options

WORDS, LENGTH = 40, 24


def rows(n):
    start = torch.randint(WORDS, (n, 1))
    return (start + torch.arange(LENGTH) ** 2 // 5) % WORDS


def main():
    args = options(lr=4e-3, width=32, steps=30)
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    config = GPT2Config(vocab_size=WORDS, n_positions=LENGTH, n_embd=args.width, n_layer=2, n_head=4, bos_token_id=0,
                        eos_token_id=0, use_cache=False)  # fmt: skip
    model = GPT2LMHeadModel(config)
    model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
    loader = DataLoader(rows(16 * args.steps), batch_size=8, shuffle=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    schedule = get_cosine_schedule_with_warmup(optimizer, 3, args.steps)
    held_out = rows(32)
    model.train()
    for i, batch in enumerate(loader):
        loss = model(input_ids=batch, labels=batch).loss / 2
        loss.backward()
        if i % 2:
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
    model.eval()
    with torch.no_grad():
        print(f"loss {2 * loss.item():.3f}, held out {model(input_ids=held_out, labels=held_out).loss.item():.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
