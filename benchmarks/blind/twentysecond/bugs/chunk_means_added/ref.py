"""Fine-tune a small GPT-2 to spell words backwards, with accumulated micro-batches and a loss that never builds all logits."""
import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from transformers import GPT2Config, GPT2Model

PAD, BOS, SEP, EOS, LETTERS, IGNORE = 0, 1, 2, 3, 12, -100


class ChunkedCrossEntropy(nn.Module):
    """Mean over the taught tokens. Logits are made for a few positions at a time."""

    def __init__(self, chunk):
        super().__init__()
        self.chunk = chunk

    def forward(self, hidden, head, labels):
        hidden, labels = hidden[:, :-1].flatten(0, 1), labels[:, 1:].flatten()
        taught = labels != IGNORE
        hidden, labels = hidden[taught], labels[taught]
        total = hidden.new_zeros(())
        for h, y in zip(hidden.split(self.chunk), labels.split(self.chunk)):
            total = total + F.cross_entropy(head(h), y, reduction="sum")
        return total / len(labels), len(labels)


class Speller(nn.Module):
    def __init__(self):
        super().__init__()
        config = GPT2Config(vocab_size=LETTERS + 4, n_positions=32, n_embd=48, n_layer=2, n_head=4,
                            resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
        self.body = GPT2Model(config)
        self.head = nn.Linear(48, config.vocab_size, bias=False)

    def forward(self, ids, mask):
        return self.body(input_ids=ids, attention_mask=mask).last_hidden_state


def example(rng):
    word = [4 + rng.randrange(LETTERS) for _ in range(rng.choice((2, 3, 4, 11, 12)))]
    prompt = [BOS, *word, SEP]
    return prompt + word[::-1] + [EOS], [IGNORE] * len(prompt) + word[::-1] + [EOS]


def collate(rows):
    width = max(len(ids) for ids, _ in rows)
    ids = torch.tensor([i + [PAD] * (width - len(i)) for i, _ in rows])
    labels = torch.tensor([y + [IGNORE] * (width - len(y)) for _, y in rows])
    return {"ids": ids, "mask": (ids != PAD).long(), "labels": labels}


def evaluate(model, loss_fn, batches):
    model.eval()
    with torch.no_grad():
        pairs = [loss_fn(model(b["ids"], b["mask"]), model.head, b["labels"]) for b in batches]
    model.train()
    return sum(value * n for value, n in pairs).item() / sum(n for _, n in pairs)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=0.25)
    ap.add_argument("--steps", type=int, default=40)
    ap.add_argument("--accumulate", type=int, default=4)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    model, loss_fn = Speller(), ChunkedCrossEntropy(16)
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, nesterov=True)
    schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, total_iters=10)
    held_out = [collate([example(random.Random(1000 + 8 * k + i)) for i in range(8)]) for k in range(4)]
    norms, losses = [], []
    for step in range(args.steps):
        micro = [collate([example(rng) for _ in range(6)]) for _ in range(args.accumulate)]
        num_items = sum((b["labels"][:, 1:] != IGNORE).sum().item() for b in micro)
        step_loss = 0.0
        for batch in micro:
            loss, count = loss_fn(model(batch["ids"], batch["mask"]), model.head, batch["labels"])
            loss = loss * count / num_items
            loss.backward()
            step_loss += loss.item()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), 5.0).item())
        losses.append(step_loss)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        if step % 20 == 19:
            print(f"step {step + 1} loss {step_loss:.4f} grad norm {norms[-1]:.3f}")
    held = evaluate(model, loss_fn, held_out)
    print(f"EVIDENCE first_loss={losses[0]:.4f} mean_grad_norm={sum(norms) / len(norms):.4f} held_out={held:.4f}")


if __name__ == "__main__":
    main()
