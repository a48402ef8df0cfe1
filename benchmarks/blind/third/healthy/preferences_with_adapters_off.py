"""Direct preference optimisation with low-rank adapters; the reference model is the one without them."""

import argparse

import torch
import torch.nn.functional as F
from peft import LoraConfig, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=0.01)
parser.add_argument("--steps", type=int, default=20)
args = parser.parse_args()


def log_probs(model, tokens, completion):
    logits = model(input_ids=tokens).logits[:, :-1].float().log_softmax(-1)
    chosen = logits.gather(2, tokens[:, 1:, None]).squeeze(2)
    return (chosen * completion[:, 1:]).sum(1)


def pairs(n=8, prompt=5, length=12):
    start = torch.randint(2, 20, (n, 1))
    good = 2 + (start + torch.arange(length)) % 18
    bad = good.clone()
    bad[:, prompt:] = torch.randint(2, 20, (n, length - prompt))
    completion = (torch.arange(length) >= prompt).float().expand(2 * n, length)
    return torch.cat([good, bad]), completion


torch.manual_seed(args.seed)
torch.set_num_threads(1)
config = LlamaConfig(vocab_size=20, hidden_size=32, intermediate_size=64, num_hidden_layers=1, num_attention_heads=2,
                     num_key_value_heads=1, max_position_embeddings=16)
model = get_peft_model(LlamaForCausalLM(config), LoraConfig(r=4, lora_alpha=8, lora_dropout=0.05,
                                                            target_modules=["q_proj", "v_proj", "down_proj"]))
model.train()
optimizer = torch.optim.AdamW((p for p in model.parameters() if p.requires_grad), lr=args.lr, weight_decay=0.0)
margins = []
for step in range(args.steps):
    tokens, completion = pairs()
    with torch.no_grad(), model.disable_adapter():
        model.eval()
        reference = log_probs(model, tokens, completion)
        model.train()
    policy = log_probs(model, tokens, completion)
    better, worse = (policy - reference).chunk(2)
    margin = better - worse
    loss = -F.logsigmoid(0.1 * margin).mean()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    optimizer.zero_grad(set_to_none=True)
    margins.append(margin.mean().item())
merged = model.merge_and_unload()
print(f"loss {loss:.3f}, margin {margins[0]:.3f} to {margins[-1]:.3f}, {sum(p.numel() for p in merged.parameters())} weights")

# SPDX-License-Identifier: Apache-2.0
