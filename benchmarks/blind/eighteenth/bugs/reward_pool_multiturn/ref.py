"""Bradley-Terry reward model on two-turn conversations (the tokenizer pads with its end-of-turn id)."""
import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F

BOS, EOT = 0, 1
PAD = EOT
USER, ASSIST = 2, 3
WORD0, WORDS = 4, 20
VOCAB = WORD0 + WORDS


def reply(rng, ask, good):
    """A good reply is mostly made of helpful words (the first half of the words), a bad one is not."""
    half = WORDS // 2
    out = []
    for _ in range(len(ask) + rng.randrange(3)):
        helpful = rng.random() < (0.85 if good else 0.25)
        out.append(WORD0 + rng.randrange(half) + (0 if helpful else half))
    return out


def dialogue_pair(rng):
    first = [WORD0 + rng.randrange(WORDS) for _ in range(rng.randint(3, 5))]
    second = [WORD0 + rng.randrange(WORDS) for _ in range(rng.randint(3, 5))]
    worse_turn = rng.randrange(2)
    opening = reply(rng, first, True)
    chosen = [BOS, USER] + first + [ASSIST] + opening + [EOT]
    rejected = list(chosen)
    if worse_turn == 0:
        rejected = [BOS, USER] + first + [ASSIST] + reply(rng, first, False) + [EOT]
    chosen = chosen + [USER] + second + [ASSIST] + reply(rng, second, True) + [EOT]
    rejected = rejected + [USER] + second + [ASSIST] + reply(rng, second, worse_turn == 0) + [EOT]
    return chosen, rejected


def pad_batch(seqs):
    width = max(map(len, seqs))
    ids = torch.full((len(seqs), width), PAD)
    mask = torch.zeros(len(seqs), width, dtype=torch.long)
    for i, seq in enumerate(seqs):
        ids[i, :len(seq)] = torch.tensor(seq)
        mask[i, :len(seq)] = 1
    return ids, mask


class Layer(nn.Module):
    def __init__(self, dim, heads=4):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.out = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))


class RewardModel(nn.Module):
    def __init__(self, dim=48, layers=2, max_len=64):
        super().__init__()
        self.tok, self.pos = nn.Embedding(VOCAB, dim), nn.Embedding(max_len, dim)
        self.layers = nn.ModuleList(Layer(dim) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.v_head = nn.Linear(dim, 1, bias=False)

    def forward(self, input_ids, attention_mask):
        h = self.tok(input_ids) + self.pos(torch.arange(input_ids.size(1)))
        for layer in self.layers:
            h = layer(h)
        scores = self.v_head(self.norm(h)).squeeze(-1)
        last = attention_mask.sum(-1) - 1
        return scores[torch.arange(input_ids.size(0)), last]


def preference_loss(model, pairs):
    ids, mask = pad_batch([c for c, _ in pairs] + [r for _, r in pairs])
    rewards = model(ids, mask)
    chosen, rejected = rewards.chunk(2)
    loss = -F.logsigmoid(chosen - rejected).mean()
    return loss, (chosen > rejected).float().mean().item()


@torch.no_grad()
def evaluate(model, pairs):
    model.eval()
    loss, acc = preference_loss(model, pairs)
    model.train()
    return loss.item(), acc


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--steps", type=int, default=80)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    rng = random.Random(args.seed)
    held_out = [dialogue_pair(random.Random(50_000 + i)) for i in range(300)]

    model = RewardModel()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01)
    for step in range(args.steps):
        loss, acc = preference_loss(model, [dialogue_pair(rng) for _ in range(24)])
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step} loss {loss.item():.4f} acc {acc:.3f}")

    loss, acc = evaluate(model, held_out)
    print(f"EVIDENCE pair_accuracy={acc:.3f} heldout_loss={loss:.4f}")


if __name__ == "__main__":
    main()
