"""Two adapters of one frozen model learn two languages, batch by batch in turn; at the end one is merged, one is kept."""

import argparse

import torch
from peft import LoraConfig, get_peft_model
from transformers import GPT2Config, GPT2LMHeadModel

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.02)
parser.add_argument("--steps", type=int, default=40)
args = parser.parse_args()
WORDS, LENGTH = 16, 10
LANGUAGES = {"rising": 1, "falling": -1}


def texts(n, by):
    return (torch.randint(WORDS, (n, 1)) + by * torch.arange(LENGTH)) % WORDS


@torch.no_grad()
def evaluate(model, by):
    model.eval()
    words = texts(32, by)
    loss = model(input_ids=words, labels=words).loss.item()
    model.train()
    return loss


torch.manual_seed(args.seed)
torch.set_num_threads(1)
config = GPT2Config(vocab_size=WORDS, n_positions=LENGTH, n_embd=32, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=0)
lora = LoraConfig(r=8, lora_alpha=32, target_modules=["c_attn", "c_fc"], fan_in_fan_out=True, lora_dropout=0.05)
model = get_peft_model(GPT2LMHeadModel(config), lora, adapter_name="rising")
model.add_adapter("falling", lora)
optimizers = {}
for name in LANGUAGES:
    model.set_adapter(name)
    optimizers[name] = torch.optim.AdamW([p for n, p in model.named_parameters() if f".{name}." in n], lr=args.lr)
model.train()
for step in range(args.steps):
    name = list(LANGUAGES)[step % 2]
    model.set_adapter(name)
    words = texts(32, LANGUAGES[name])
    loss = model(input_ids=words, labels=words).loss
    optimizers[name].zero_grad()
    loss.backward()
    optimizers[name].step()
    if step % 10 == 9:
        print(f"step {step}: {name} {loss.item():.3f}")
for name, by in LANGUAGES.items():
    model.set_adapter(name)
    print(f"{name}: validation {evaluate(model, by):.3f}")
with model.disable_adapter():
    print(f"without adapters: {evaluate(model, 1):.3f}")
merged = model.merge_and_unload(adapter_names=["rising"])
print(f"merged: {evaluate(merged, 1):.3f}")

# SPDX-License-Identifier: Apache-2.0
