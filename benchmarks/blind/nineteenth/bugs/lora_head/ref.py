"""LoRA by hand: pretrain on a base language, then adapt to a dialect with new words."""
import argparse
import math

import torch
import torch.nn as nn
import torch.nn.functional as F

BASE_WORDS = 24
NEW_WORDS = 12
CONTEXT = 24


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.q_proj = nn.Linear(dim, dim)
        self.k_proj = nn.Linear(dim, dim)
        self.v_proj = nn.Linear(dim, dim)
        self.o_proj = nn.Linear(dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        split = lambda z: z.view(b, t, self.heads, d // self.heads).transpose(1, 2)
        y = F.scaled_dot_product_attention(split(self.q_proj(x)), split(self.k_proj(x)), split(self.v_proj(x)),
                                           is_causal=True)
        return self.o_proj(y.transpose(1, 2).reshape(b, t, d))


class DecoderLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = Attention(dim, heads)
        self.up_proj = nn.Linear(dim, 3 * dim)
        self.down_proj = nn.Linear(3 * dim, dim)

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.down_proj(F.gelu(self.up_proj(self.ln2(x))))


class WordLM(nn.Module):
    def __init__(self, vocab, dim=64, depth=2, heads=4):
        super().__init__()
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.layers = nn.ModuleList(DecoderLayer(dim, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(dim)
        self.lm_head = nn.Linear(dim, vocab, bias=False)

    def forward(self, ids):
        x = self.embed_tokens(ids)
        for layer in self.layers:
            x = layer(x)
        return self.lm_head(self.norm(x))

    def resize_vocab(self, vocab):
        old_embed, old_head = self.embed_tokens, self.lm_head
        dim = old_embed.embedding_dim
        self.embed_tokens = nn.Embedding(vocab, dim)
        self.lm_head = nn.Linear(dim, vocab, bias=False)
        with torch.no_grad():
            self.embed_tokens.weight[: old_embed.num_embeddings] = old_embed.weight
            self.lm_head.weight[: old_head.out_features] = old_head.weight


class LoRALinear(nn.Module):
    def __init__(self, base, rank, alpha):
        super().__init__()
        self.base = base
        self.lora_A = nn.Parameter(torch.empty(rank, base.in_features))
        self.lora_B = nn.Parameter(torch.zeros(base.out_features, rank))
        nn.init.kaiming_uniform_(self.lora_A, a=math.sqrt(5))
        self.scaling = alpha / rank

    def forward(self, x):
        return self.base(x) + F.linear(F.linear(x, self.lora_A), self.lora_B) * self.scaling


def freeze_base(model):
    for name, param in model.named_parameters():
        param.requires_grad_("lora_" in name)


def unfreeze_modules(model, names):
    for name, module in model.named_modules():
        if name in names:
            module.requires_grad_(True)


def get_lora_model(model, rank, alpha, targets, modules_to_save):
    for parent in list(model.modules()):
        for child_name, child in list(parent.named_children()):
            if child_name in targets and isinstance(child, nn.Linear):
                setattr(parent, child_name, LoRALinear(child, rank, alpha))
    freeze_base(model)
    unfreeze_modules(model, modules_to_save)
    return model


def transition_table(vocab, seed):
    gen = torch.Generator().manual_seed(seed)
    table = torch.rand(vocab, vocab, generator=gen).pow(12)
    return table / table.sum(1, keepdim=True)


def sample_batch(table, size, gen):
    ids = torch.randint(0, table.size(0), (size, 1), generator=gen)
    for _ in range(CONTEXT):
        nxt = torch.multinomial(table[ids[:, -1]], 1, generator=gen)
        ids = torch.cat([ids, nxt], 1)
    return ids


def next_word_loss(model, ids):
    return F.cross_entropy(model(ids[:, :-1]).transpose(1, 2), ids[:, 1:])


def run(model, table, steps, lr, size, gen, tag):
    params = [p for p in model.parameters() if p.requires_grad]
    optimizer = torch.optim.AdamW(params, lr=lr, weight_decay=0.0)
    for step in range(steps):
        loss = next_word_loss(model, sample_batch(table, size, gen))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 25 == 0:
            print(f"{tag} step {step} loss {loss.item():.4f}")


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--lr", type=float, default=4e-3)
    p.add_argument("--steps", type=int, default=90)
    p.add_argument("--rank", type=int, default=4)
    args = p.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed)

    model = WordLM(BASE_WORDS)
    run(model, transition_table(BASE_WORDS, 11), 60, 3e-3, 24, gen, "pretrain")
    vocab = BASE_WORDS + NEW_WORDS
    model.resize_vocab(vocab)
    model = get_lora_model(model, args.rank, 2 * args.rank, {"q_proj", "v_proj", "up_proj", "down_proj"},
                           modules_to_save=["embed_tokens", "lm_head"])
    dialect = transition_table(vocab, 12)
    run(model, dialect, args.steps, args.lr, 24, gen, "adapt")
    with torch.no_grad():
        val = next_word_loss(model, sample_batch(dialect, 200, gen)).item()
    print(f"EVIDENCE dialect_val_loss={val:.4f} ppl={math.exp(val):.3f}")


if __name__ == "__main__":
    main()
