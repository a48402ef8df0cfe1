"""One small GPT-2 with two low-rank adapters, one for each of two kinds of text, which are trained one after the other."""
import argparse
import os
import warnings

os.environ["TRANSFORMERS_VERBOSITY"] = "error"
warnings.filterwarnings("ignore")
import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

VOCAB, LENGTH = 32, 16


def make_corpus(step):
    """Rows of numbers that grow by a fixed step, with some noise."""
    first = torch.randint(VOCAB, (400, 1))
    rows = (first + step * torch.arange(LENGTH)) % VOCAB
    return torch.where(torch.rand(rows.shape) < 0.05, torch.randint(VOCAB, rows.shape), rows)


def train(model, rows, lr, steps, name):
    """Trains whatever adapter is active."""
    parameters = [p for n, p in model.named_parameters() if "lora_" in n and p.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=lr, weight_decay=0.0)
    model.train()
    for step in range(1, steps + 1):
        batch = rows[torch.randint(len(rows), (24,))]
        loss = model(input_ids=batch, labels=batch).loss
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        if step % 20 == 0:
            print(f"{name}, step {step}: loss {loss.item():.4f}")


@torch.no_grad()
def loss_with(model, rows, adapter):
    model.set_adapter(adapter)
    model.eval()
    return model(input_ids=rows[:100], labels=rows[:100]).loss.item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=1e-2)
    parser.add_argument("--steps", type=int, default=80)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    torch.set_num_threads(1)
    up, down = make_corpus(3), make_corpus(-5)
    config = GPT2Config(vocab_size=VOCAB, n_positions=LENGTH, n_embd=48, n_layer=2, n_head=2, bos_token_id=0, eos_token_id=0)
    base = GPT2LMHeadModel(config)
    lora = dict(r=8, lora_alpha=16, target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True, task_type="CAUSAL_LM")
    model = get_peft_model(base, LoraConfig(**lora), adapter_name="up")
    train(model, up, args.lr, args.steps // 2, "up")
    model.add_adapter("down", LoraConfig(**lora))
    model.set_adapter("down")
    train(model, down, args.lr, args.steps - args.steps // 2, "down")
    first, second = loss_with(model, up, "up"), loss_with(model, down, "down")
    moved = sum(p.norm().item() for n, p in model.named_parameters() if "lora_B.down" in n)
    print(f"EVIDENCE losses with the own adapter: up {first:.4f}, down {second:.4f}; norm of the second one's matrices {moved:.4f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
