"""Continued training of a small Llama from a checkpoint of our own; embeddings are tied only if the config says so."""
import argparse
import os
import tempfile

import torch
from transformers import LlamaConfig, LlamaForCausalLM, get_constant_schedule_with_warmup

VOCAB, SEQ = 32, 14


def build_config(tie):
    return LlamaConfig(vocab_size=VOCAB, hidden_size=48, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4,
                       num_key_value_heads=4, max_position_embeddings=SEQ, tie_word_embeddings=tie)


def retie_weights(model):
    """Loading can break the alias between head and input embeddings."""
    if model.config.tie_word_embeddings:
        model.lm_head.weight = model.model.embed_tokens.weight


def batches(seed, rows=24):
    gen = torch.Generator().manual_seed(seed)
    while True:
        start = torch.randint(0, VOCAB, (rows, 1), generator=gen)
        stride = torch.randint(1, 5, (rows, 1), generator=gen)
        yield (start + stride * torch.arange(SEQ)) % VOCAB


def build(config, lr):
    model = LlamaForCausalLM(config)
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.0)
    return model, optimizer, get_constant_schedule_with_warmup(optimizer, 5)


def train(model, optimizer, scheduler, stream, steps):
    losses = []
    for step in range(steps):
        ids = next(stream)
        loss = model(input_ids=ids, labels=ids).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if step % 10 == 0:
            print(f"  step {step} loss {losses[-1]:.4f}")
    return losses


def save(path, model, optimizer, scheduler):
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "scheduler": scheduler.state_dict()}, path)


def resume(path, config, lr):
    state = torch.load(path)
    model, optimizer, scheduler = build(config, lr)
    model.load_state_dict(state["model"])
    retie_weights(model)
    optimizer.load_state_dict(state["optimizer"])
    scheduler.load_state_dict(state["scheduler"])
    return model, optimizer, scheduler


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=3e-3)
    parser.add_argument("--steps", type=int, default=60)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    config, stream = build_config(tie=False), batches(args.seed)
    model, optimizer, scheduler = build(config, args.lr)
    first = train(model, optimizer, scheduler, stream, args.steps - args.steps // 4)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "checkpoint.pt")
        save(path, model, optimizer, scheduler)
        model, optimizer, scheduler = resume(path, config, args.lr)
    second = train(model, optimizer, scheduler, stream, args.steps // 4)
    print(f"EVIDENCE loss_before_save={first[-1]:.4f} loss_after_resume={second[0]:.4f} last_loss={second[-1]:.4f}")
