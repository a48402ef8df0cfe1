"""LoRA on a small Llama: only the adapter learns; it is saved, loaded as trainable, and trained on."""

import copy
import tempfile
import warnings

import torch
from peft import LoraConfig, PeftModel, get_peft_model
from transformers import LlamaConfig, LlamaForCausalLM, get_cosine_schedule_with_warmup, set_seed
from transformers.utils import logging

from options import options

logging.set_verbosity_error()
warnings.filterwarnings("ignore")


def batches(data, steps):
    for _ in range(steps):
        start = torch.randint(len(data) - 32, (12,)).tolist()
        yield torch.stack([data[i : i + 32] for i in start])


def train(model, data, steps, lr):
    trainable = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(trainable, lr=lr)
    scheduler = get_cosine_schedule_with_warmup(optimizer, 2, steps)
    model.train()
    for ids in batches(data, steps):
        optimizer.zero_grad()
        loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(trainable, 1.0)
        optimizer.step()
        scheduler.step()
    return loss.item()


def main():
    args = options(lr=1e-2, width=32, steps=40)
    set_seed(args.seed)
    torch.set_num_threads(1)
    with open(copy.__file__) as f:
        data = torch.tensor([min(ord(c), 127) for c in f.read()])
    base = LlamaForCausalLM(
        LlamaConfig(
            vocab_size=128, hidden_size=args.width, intermediate_size=2 * args.width, num_hidden_layers=2,
            num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, bos_token_id=0, eos_token_id=0,
        )
    )  # fmt: skip
    weights = copy.deepcopy(base.state_dict())
    config = LoraConfig(r=4, lora_alpha=8, lora_dropout=0.05, target_modules=["q_proj", "v_proj"], task_type="CAUSAL_LM")
    model = get_peft_model(base, config)
    first = train(model, data, args.steps // 2, args.lr)
    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        fresh = LlamaForCausalLM(base.config)
        fresh.load_state_dict(weights)
        model = PeftModel.from_pretrained(fresh, folder, is_trainable=True)
    second = train(model, data, args.steps - args.steps // 2, args.lr)
    merged = model.merge_and_unload().eval()
    with torch.no_grad():
        loss = merged(input_ids=data[None, :32], labels=data[None, :32]).loss.item()
    print(f"loss {first:.3f}, went on {second:.3f}, merged {loss:.3f}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
