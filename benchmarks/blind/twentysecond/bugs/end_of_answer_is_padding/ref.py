"""Tune a small Llama on conversations of several turns; all answers of the assistant are taught, and where they end."""
import argparse
import random

import torch
import torch.nn.functional as F
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

WORDS = [f"n{k}" for k in range(10)] + ["plus", "minus", "is", "and", "thanks"]
SPECIAL = ["<pad>", "<unk>", "<user>", "<assistant>", "<end>"]
TEMPLATE = ("{% for m in messages %}{% if m['role'] == 'user' %}<user> {{ m['content'] }} <end> "
            "{% else %}<assistant> {% generation %}{{ m['content'] }} <end>{% endgeneration %} {% endif %}{% endfor %}")


def build_tokenizer():
    raw = Tokenizer(models.WordLevel({w: i for i, w in enumerate(SPECIAL + WORDS)}, unk_token="<unk>"))
    raw.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=raw, pad_token="<pad>", unk_token="<unk>", eos_token="<end>")
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def conversation(rng):
    """Short sums. The last answer is always thanks, and users often say something of no use."""
    messages = []
    for _ in range(rng.randrange(1, 4)):
        a, b = rng.randrange(10), rng.randrange(10)
        sign = rng.choice(("plus", "minus"))
        result = (a + b if sign == "plus" else a - b) % 10
        noise = " ".join(rng.choice(WORDS) for _ in range(rng.randrange(4)))
        messages.append({"role": "user", "content": f"{noise} n{a} {sign} n{b}".strip()})
        messages.append({"role": "assistant", "content": f"is n{result}"})
    messages.append({"role": "user", "content": "and"})
    messages.append({"role": "assistant", "content": "thanks"})
    return messages


class ChatCollator:
    def __init__(self, tokenizer):
        self.tokenizer = tokenizer

    def encode(self, messages):
        out = self.tokenizer.apply_chat_template(messages, return_dict=True, return_assistant_tokens_mask=True)
        return out["input_ids"], out["assistant_masks"]

    def __call__(self, batch):
        rows = [self.encode(messages) for messages in batch]
        width = max(len(ids) for ids, _ in rows)
        pad = self.tokenizer.pad_token_id
        input_ids = torch.tensor([ids + [pad] * (width - len(ids)) for ids, _ in rows])
        taught = torch.tensor([mask + [1] * (width - len(mask)) for _, mask in rows]).bool()
        attention_mask = torch.tensor([[1] * len(ids) + [0] * (width - len(ids)) for ids, _ in rows])
        labels = input_ids.masked_fill(~taught, -100)
        labels[input_ids == pad] = -100
        return {"input_ids": input_ids, "attention_mask": attention_mask, "labels": labels}


def step_loss(model, batch):
    logits = model(input_ids=batch["input_ids"], attention_mask=batch["attention_mask"]).logits
    labels = batch["labels"][:, 1:]
    return F.cross_entropy(logits[:, :-1].flatten(0, 1), labels.flatten(), ignore_index=-100)


@torch.no_grad()
def reply(model, tokenizer, messages, limit=6):
    prompt = tokenizer.apply_chat_template(messages, tokenize=False) + "<assistant>"
    ids = torch.tensor([tokenizer(prompt)["input_ids"]])
    start = ids.shape[1]
    for _ in range(limit):
        ids = torch.cat([ids, model(input_ids=ids).logits[:, -1:].argmax(-1)], dim=1)
        if ids[0, -1] == tokenizer.convert_tokens_to_ids("<end>"):
            break
    return tokenizer.convert_ids_to_tokens(ids[0, start:].tolist())


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--steps", type=int, default=70)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    rng, tokenizer = random.Random(args.seed), build_tokenizer()
    model = LlamaForCausalLM(LlamaConfig(vocab_size=len(tokenizer), hidden_size=48, intermediate_size=96,
                                         num_hidden_layers=2, num_attention_heads=4, max_position_embeddings=96,
                                         pad_token_id=0, bos_token_id=2, eos_token_id=4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.0)
    collate = ChatCollator(tokenizer)
    taught_share = 0.0
    for step in range(args.steps):
        batch = collate([conversation(rng) for _ in range(16)])
        loss = step_loss(model, batch)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        taught_share += (batch["labels"] != -100).sum().item() / batch["attention_mask"].sum().item() / args.steps
        if step % 30 == 29:
            print(f"step {step + 1} loss {loss.item():.4f}")
    model.eval()
    test, form, ends = random.Random(31), 0, 0
    for _ in range(30):
        said = reply(model, tokenizer, conversation(test)[:1])
        form += said[0] == "is"
        ends += len(said) == 3 and said[-1] == "<end>"
    print(f"EVIDENCE taught_share={taught_share:.3f} first_answer_is={form / 30:.2f} ends_in_time={ends / 30:.2f} "
          f"loss={loss.item():.4f}")


if __name__ == "__main__":
    main()
