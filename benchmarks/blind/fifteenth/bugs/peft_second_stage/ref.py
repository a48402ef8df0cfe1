"""Adapters in two stages: learn the routing of tickets, save the adapter, go on with it on tickets of a new desk."""

import argparse
import copy
import os
import tempfile

import torch
import torch.nn.functional as F
from peft import LoraConfig, PeftModel, get_peft_model
from torch import nn
from transformers import BertConfig, BertModel

WORDS_PER_TOPIC, TOPICS, LENGTH = 10, 4, 9
URGENT = WORDS_PER_TOPIC * TOPICS  # a word that moves a ticket to the next desk, in the second stage only
CLS = URGENT + 1
VOCAB = CLS + 1


def tickets(n, desk, rng):
    topic = torch.randint(0, TOPICS, (n,), generator=rng)
    others = torch.randint(0, URGENT, (n, LENGTH), generator=rng)
    own = topic[:, None] * WORDS_PER_TOPIC + torch.randint(0, WORDS_PER_TOPIC, (n, LENGTH), generator=rng)
    ids = torch.where(torch.rand(n, LENGTH, generator=rng) < 0.55, own, others)
    urgent = torch.rand(n, generator=rng) < 0.5
    place = torch.randint(0, LENGTH, (n,), generator=rng)
    ids[torch.arange(n)[urgent], place[urgent]] = URGENT
    label = topic if desk == "first" else (topic + urgent.long()) % TOPICS
    return torch.cat([torch.full((n, 1), CLS), ids], dim=1), label


class Router(nn.Module):
    """An encoder, adapted or not, and a head of our own."""

    def __init__(self, encoder):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Linear(64, TOPICS)

    def forward(self, ids):
        return self.head(self.encoder(input_ids=ids).last_hidden_state.mean(dim=1))


def new_base(state=None):
    config = BertConfig(
        vocab_size=VOCAB, hidden_size=64, num_hidden_layers=2, num_attention_heads=4, intermediate_size=128,
        max_position_embeddings=32, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )
    base = BertModel(config, add_pooling_layer=False)
    if state is not None:
        base.load_state_dict(state)
    return base


def pretrain(base, steps, rng):
    """A few steps of masked words, so that the base is no random network."""
    lm_head = nn.Linear(64, VOCAB)
    optimizer = torch.optim.AdamW([*base.parameters(), *lm_head.parameters()], lr=2e-3)
    for _ in range(steps):
        ids, _ = tickets(32, "first", rng)
        hidden = torch.rand(ids.shape, generator=rng) < 0.2
        hidden[:, 0] = False
        out = base(input_ids=ids.masked_fill(hidden, CLS)).last_hidden_state
        loss = F.cross_entropy(lm_head(out[hidden]), ids[hidden])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    print(f"pretraining loss {loss.item():.3f}")


def fit(model, desk, steps, lr, rng):
    model.train()
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(params, lr=lr)
    warmup = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: min(1.0, (i + 1) / 20) * (1 - i / (steps + 1)))
    for step in range(steps):
        ids, label = tickets(32, desk, rng)
        loss = F.cross_entropy(model(ids), label)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(params, 1.0)
        optimizer.step()
        warmup.step()
        if (step + 1) % 40 == 0:
            print(f"{desk} desk, step {step + 1}: {loss.item():.3f}")


@torch.no_grad()
def accuracy(model, desk):
    model.eval()
    ids, label = tickets(1000, desk, torch.Generator().manual_seed(4321))
    return (model(ids).argmax(-1) == label).float().mean().item()


def adapter_weights(model):
    return {n: p.detach().clone() for n, p in model.encoder.named_parameters() if "lora_" in n}


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=6e-3)
    ap.add_argument("--steps", type=int, default=130, help="steps of each stage")
    args = ap.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rng = torch.Generator().manual_seed(args.seed + 50)

    base = new_base()
    pretrain(base, args.steps // 3, rng)
    base_state = copy.deepcopy(base.state_dict())

    lora = LoraConfig(r=8, lora_alpha=16, lora_dropout=0.05, target_modules=["query", "key", "value", "dense"])
    first = Router(get_peft_model(base, lora))
    fit(first, "first", args.steps, args.lr, rng)
    print(f"first desk: accuracy {accuracy(first, 'first'):.3f}")

    with tempfile.TemporaryDirectory() as folder:
        first.encoder.save_pretrained(os.path.join(folder, "adapter"))
        torch.save(first.head.state_dict(), os.path.join(folder, "head.pt"))

        encoder = PeftModel.from_pretrained(new_base(base_state), os.path.join(folder, "adapter"), is_trainable=True)
        second = Router(encoder)
        second.head.load_state_dict(torch.load(os.path.join(folder, "head.pt")))
    before = adapter_weights(second)
    fit(second, "second", args.steps, args.lr, rng)
    after = adapter_weights(second)
    moved = sum((after[n] - before[n]).norm() ** 2 for n in after) ** 0.5
    print(f"EVIDENCE second desk accuracy {accuracy(second, 'second'):.3f}, adapter moved by {moved:.3f}")


if __name__ == "__main__":
    main()
