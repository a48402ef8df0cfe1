"""A small GPT-2 learns to route support tickets: chats and e-mails in, a short reply out; loss on the reply only."""

import argparse
import random

import torch
from transformers import GPT2Config, GPT2LMHeadModel, get_cosine_schedule_with_warmup

parser = argparse.ArgumentParser()
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--lr", type=float, default=5e-3)
parser.add_argument("--steps", type=int, default=300)
args = parser.parse_args()
random.seed(args.seed)
torch.manual_seed(args.seed)
torch.set_num_threads(1)

MAX_LEN = 24
FILLER = [f"w{i}" for i in range(25)]
TEAMS = ["billing", "shipping", "returns", "accounts"]
LEVELS = ["urgent", "normal", "low"]
CHAT = {f"chat{i}": (TEAMS[i % 4], LEVELS[i % 3]) for i in range(12)}
MAIL = {f"mail{i}": (TEAMS[(i + 1) % 4], LEVELS[(i // 2) % 3]) for i in range(12)}
WORDS = ["<pad>", "<bos>", "<eos>", "<reply>"] + FILLER + TEAMS + LEVELS + list(CHAT) + list(MAIL)
VOCAB = {w: i for i, w in enumerate(WORDS)}
PAD, BOS, EOS, REPLY = range(4)


def encode(words):
    return [VOCAB[w] for w in words]


def make_ticket():
    if random.random() < 0.5:
        topics, words = CHAT, random.choices(FILLER, k=random.randint(3, 14))
    else:
        topics, words = MAIL, random.choices(FILLER, k=random.randint(22, 40))
    topic = random.choice(list(topics))
    words[-random.randint(1, min(len(words), 12))] = topic
    return words, topics[topic]


def build_example(words, reply, max_len=MAX_LEN):
    source = encode(words) + [REPLY]
    target = encode(reply) + [EOS]
    ids = source + target
    labels = [-100] * len(source) + target
    ids = [BOS] + ids[-(max_len - 1):]
    labels = [-100] + labels[-(max_len - 1):]
    return {"input_ids": ids, "labels": labels}


def collate(rows):
    size = max(len(r["input_ids"]) for r in rows)
    ids = torch.full((len(rows), size), PAD)
    labels = torch.full((len(rows), size), -100)
    mask = torch.zeros(len(rows), size, dtype=torch.long)
    for i, r in enumerate(rows):
        n = len(r["input_ids"])
        ids[i, :n] = torch.tensor(r["input_ids"])
        labels[i, :n] = torch.tensor(r["labels"])
        mask[i, :n] = 1
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}


@torch.no_grad()
def reply_to(model, words, max_new=3):
    ids = torch.tensor([[BOS] + (encode(words) + [REPLY])[-(MAX_LEN - 1 - max_new):]])
    out = []
    for _ in range(max_new):
        nxt = model(input_ids=ids).logits[0, -1].argmax().item()
        if nxt == EOS:
            break
        out.append(WORDS[nxt])
        ids = torch.cat([ids, torch.tensor([[nxt]])], dim=1)
    return tuple(out)


model = GPT2LMHeadModel(GPT2Config(
    vocab_size=len(WORDS), n_positions=MAX_LEN, n_embd=32, n_layer=1, n_head=2, bos_token_id=BOS,
    eos_token_id=EOS, pad_token_id=PAD, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0,
    initializer_range=0.15))
model.loss_type = "ForCausalLM"
optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
schedule = get_cosine_schedule_with_warmup(optimizer, 10, args.steps)
data = [build_example(*make_ticket()) for _ in range(3000)]

model.train()
for step in range(args.steps):
    batch = collate(random.sample(data, 24))
    loss = model(**batch).loss
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    if step % 75 == 0:
        print(f"step {step} loss {loss.item():.3f}")

model.eval()
right = {"chats": [], "mails": []}
for _ in range(200):
    words, reply = make_ticket()
    right["chats" if len(words) < 15 else "mails"].append(reply_to(model, words) == reply)
rate = {k: sum(v) / len(v) for k, v in right.items()}
print(f"EVIDENCE correct replies: chats {rate['chats']:.3f}, mails {rate['mails']:.3f}, loss {loss.item():.3f}")
