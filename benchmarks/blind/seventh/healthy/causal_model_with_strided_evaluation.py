"""Answers are learned for prompts; the model is evaluated on a long text with a sliding window."""

import argparse
import math

import torch
from transformers import GPT2Config, GPT2LMHeadModel, get_cosine_schedule_with_warmup

def get_args():
    parser = argparse.ArgumentParser(description=__doc__)
    for name, kind, default in (("--seed", int, 0), ("--lr", float, 0.004), ("--steps", int, 105)):
        parser.add_argument(name, type=kind, default=default)
    return parser.parse_args()


args = get_args()
PAD, STOP, WORDS = 0, 1, 14


def dialogues(count):
    """A prompt of words that rise, then the same words backwards, then the stop."""
    rows = []
    for _ in range(count):
        start, length = int(torch.randint(2, 9, ())), int(torch.randint(2, 6, ()))
        prompt = torch.arange(start, start + length)
        rows.append((prompt, torch.cat([prompt.flip(0), torch.tensor([STOP])])))
    return rows


def collate(rows, prompts, length=24):
    """Each row has two dialogues."""
    ids, labels = torch.full((len(rows), length), PAD), torch.full((len(rows), length), -100)
    mask = torch.zeros_like(ids)
    for k, row in enumerate(rows):
        start = 0
        for prompt, answer in row:
            whole = torch.cat([prompt, torch.tensor([STOP]), answer])
            end, first = start + len(whole), 0 if prompts else len(prompt) + 1
            ids[k, start:end], mask[k, start:end] = whole, 1
            labels[k, start + first:end] = whole[first:]
            start = end
    return {"input_ids": ids, "labels": labels, "attention_mask": mask}


@torch.no_grad()
def perplexity(model, text, window=24, stride=8):
    """Only words that no window before has seen count."""
    total, count, seen = 0.0, 0, 0
    for start in range(0, len(text), stride):
        end = min(start + window, len(text))
        ids = text[start:end][None]
        labels = ids.clone()
        labels[:, :max(len(ids[0]) - (end - seen), 1)] = -100
        new = int((labels != -100).sum())
        total, count, seen = total + model(input_ids=ids, labels=labels).loss.item() * new, count + new, end
        if end == len(text):
            return math.exp(total / count)


@torch.no_grad()
def answers(model, rows):
    width = max(len(prompt) for prompt, _ in rows) + 1
    ids, mask = torch.full((len(rows), width), PAD), torch.zeros(len(rows), width, dtype=torch.long)
    for k, (prompt, _) in enumerate(rows):
        ids[k, -len(prompt) - 1:] = torch.cat([prompt, torch.tensor([STOP])])
        mask[k, -len(prompt) - 1:] = 1
    made = model.generate(input_ids=ids, attention_mask=mask, max_new_tokens=6, do_sample=False, pad_token_id=PAD,
                          eos_token_id=STOP)[:, width:]
    return sum(m.tolist()[:len(a)] == a.tolist() for m, (_, a) in zip(made, rows)) / len(rows)


def main():
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    config = GPT2Config(vocab_size=WORDS, n_positions=32, n_embd=48, n_layer=2, n_head=4, bos_token_id=STOP, eos_token_id=STOP)
    model = GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    schedule = get_cosine_schedule_with_warmup(optimizer, args.steps // 10, args.steps)
    train, valid = dialogues(800), dialogues(40)
    text = torch.cat([torch.cat([p, torch.tensor([STOP]), a]) for p, a in valid])[:120]
    for step in range(1, args.steps + 1):
        model.train()
        rows = [[train[k], train[m]] for k, m in torch.randint(len(train), (32, 2)).tolist()]
        batch = collate(rows, prompts=step % 2 == 0)
        loss = model(**batch, use_cache=False).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        optimizer.zero_grad()
        if step % 35 == 0:
            model.eval()
            text_value, right = perplexity(model, text), answers(model, valid)
            print(f"step {step}: loss {loss.item():.4f}, perplexity {text_value:.3f}, right {right:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
