"""Preferences between two answers are learned by an adapter; the reference is the model without it."""
import argparse
import os

os.environ["HF_HUB_DISABLE_PROGRESS_BARS"] = "1"
import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel, logging

logging.set_verbosity_error()
WORDS, PROMPT, ANSWER = 24, 4, 6


def make_text(size, generator, stride=None):
    start = torch.randint(0, WORDS, (size, 1), generator=generator)
    stride = torch.randint(1, 4, (size, 1), generator=generator) if stride is None else stride
    return (start + stride * torch.arange(PROMPT + ANSWER)) % WORDS


def make_pairs(size, generator):
    """The preferred answer leaps by fives, the other one goes on with the stride of the prompt."""
    rejected = make_text(size, generator)
    chosen = rejected.clone()
    chosen[:, PROMPT:] = (chosen[:, PROMPT - 1:PROMPT] + 5 * torch.arange(1, ANSWER + 1)) % WORDS
    return chosen, rejected


def answer_log_prob(model, ids):
    logits = model(input_ids=ids).logits[:, :-1].log_softmax(2)
    return logits.gather(2, ids[:, 1:, None]).squeeze(2)[:, PROMPT - 1:].sum(1)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=40)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)
    config = GPT2Config(vocab_size=WORDS, n_positions=16, n_embd=48, n_layer=2, n_head=4, resid_pdrop=0.0, embd_pdrop=0.0,
                        attn_pdrop=0.0, bos_token_id=0, eos_token_id=0)
    base = GPT2LMHeadModel(config)
    optimizer = torch.optim.AdamW(base.parameters(), lr=args.lr)
    for step in range(args.steps * 2):
        ids = make_text(32, generator)
        loss = base(input_ids=ids, labels=ids).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"language model: loss {loss.item():.4f}")
    model = get_peft_model(base, LoraConfig(r=4, lora_alpha=8, target_modules=["c_attn"], fan_in_fan_out=True))
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=args.lr)
    for step in range(args.steps):
        chosen, rejected = make_pairs(16, generator)
        policy = answer_log_prob(model, chosen) - answer_log_prob(model, rejected)
        with torch.no_grad(), model.disable_adapter():
            reference = answer_log_prob(model, chosen) - answer_log_prob(model, rejected)
        margin = 0.3 * (policy - reference)
        loss = -F.logsigmoid(margin).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 10 == 0:
            print(f"step {step}: loss {loss.item():.4f}, policy {policy.mean().item():.4f}")
    print(f"EVIDENCE loss {loss.item():.4f}, margin {margin.mean().item():.4f}, policy {policy.mean().item():.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
