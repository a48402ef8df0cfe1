"""Small models of transformers, trained by DDP, by accelerate or with transformers' own tensor parallelism.

Configurations only: no weights are fetched. --mode single is the single-device program."""
import argparse
import os

import models
import torch
import torch.distributed as dist


def config_of(args):
    import transformers
    sizes = dict(vocab_size=26, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
                 num_key_value_heads=2, max_position_embeddings=32, attn_implementation="eager")
    if args.model == "llama":
        return transformers.LlamaConfig(**sizes, tie_word_embeddings=False)
    if args.model == "mixtral":
        return transformers.MixtralConfig(**sizes, num_local_experts=4, num_experts_per_tok=2)
    return transformers.GPT2Config(vocab_size=26, n_embd=24, n_layer=2, n_head=4, n_positions=32, resid_pdrop=0,
                                   embd_pdrop=0, attn_pdrop=0, attn_implementation="eager")


def build(args):
    """The model, alike on all ranks."""
    import transformers
    torch.manual_seed(0)
    model = transformers.AutoModelForCausalLM.from_config(config_of(args))
    return models.split(model) if args.mode == "tp" else model


def batch_of(number, args, rank, ranks):
    made = torch.Generator().manual_seed(number)
    return torch.randint(26, (args.batch, 7), generator=made).chunk(ranks)[rank]


def run_accelerate(args):
    from accelerate import Accelerator
    accelerator = Accelerator(cpu=True, gradient_accumulation_steps=args.accumulate)
    model = build(args)
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    model, optimizer = accelerator.prepare(model, optimizer)
    for number in range(3):
        tokens = batch_of(number, args, accelerator.process_index, accelerator.num_processes)
        for part in tokens.chunk(args.accumulate):
            with accelerator.accumulate(model):
                loss = model(input_ids=part, labels=part).loss
                accelerator.backward(loss)
                if accelerator.sync_gradients and args.clip:
                    accelerator.clip_grad_norm_(model.parameters(), args.clip)
                optimizer.step()
                optimizer.zero_grad()


def run_plain(args):
    rank, ranks = 0, 1
    if "WORLD_SIZE" in os.environ:
        dist.init_process_group("gloo")
        if args.mode == "ddp":
            rank, ranks = dist.get_rank(), dist.get_world_size()
    model = build(args)
    net = torch.nn.parallel.DistributedDataParallel(model) if args.mode == "ddp" else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    for number in range(3):
        tokens = batch_of(number, args, rank, ranks)
        for part in tokens.chunk(args.accumulate):
            (net(input_ids=part, labels=part).loss / args.accumulate).backward()
        if args.clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        optimizer.step()
        optimizer.zero_grad()


def arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mode", choices=("single", "ddp", "tp", "accelerate"), default="single")
    parser.add_argument("--model", choices=("llama", "mixtral", "gpt2"), default="llama")
    parser.add_argument("--batch", type=int, default=36)
    parser.add_argument("--accumulate", type=int, default=1)
    parser.add_argument("--clip", type=float, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    given = arguments()
    run_accelerate(given) if given.mode == "accelerate" else run_plain(given)

# SPDX-License-Identifier: Apache-2.0
