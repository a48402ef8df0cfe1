"""Multi-turn policy optimisation: the agent asks a lookup tool, reads its reply and answers."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

KEYS, VALUES, FILLER = 6, 8, 24
# token layout: keys | values | filler | query | ask marker | reply marker
K0, V0, F0 = 0, KEYS, KEYS + VALUES
ASK = KEYS + VALUES + FILLER
REPLY = ASK + 1
VOCAB = ASK + 2
REPLY_LEN = 8


class AgentLM(nn.Module):
    def __init__(self, dim=64):
        super().__init__()
        self.emb = nn.Embedding(VOCAB, dim)
        self.rnn = nn.GRU(dim, dim, batch_first=True)
        self.out = nn.Linear(dim, VOCAB)

    def forward(self, tokens, h=None):
        y, h = self.rnn(self.emb(tokens), h)
        return self.out(y), h


class LookupTool:
    """Replies with noisy text: filler words and one (key, value) fact, the value repeated at the end."""

    def __init__(self, gen):
        self.gen = gen

    def __call__(self, asked_key, table):
        n = len(asked_key)
        text = torch.randint(F0, F0 + FILLER, (n, REPLY_LEN), generator=self.gen)
        text[:, 0] = REPLY
        known = asked_key < KEYS
        fact = table.gather(1, asked_key.clamp(max=KEYS - 1)[:, None]).squeeze(1) + V0
        text[:, -1] = torch.where(known, fact, text[:, -1])
        return text


def sample(logits):
    return torch.distributions.Categorical(logits=logits).sample()


@torch.no_grad()
def rollout(model, tool, n, gen, greedy=False):
    pick = (lambda l: l.argmax(-1)) if greedy else sample
    key = torch.randint(0, KEYS, (n,), generator=gen)
    table = torch.randint(0, VALUES, (n, KEYS), generator=gen)
    prompt = torch.stack([key + K0, torch.full_like(key, ASK)], 1)
    logits, h = model(prompt)
    call = pick(logits[:, -1])
    reply = tool(call, table)
    _, h = model(call[:, None], h)
    logits, h = model(reply, h)
    answer = pick(logits[:, -1])

    tokens = torch.cat([prompt, call[:, None], reply, answer[:, None]], 1)
    completion_mask = torch.ones(n, tokens.shape[1])
    completion_mask[:, : prompt.shape[1]] = 0
    tool_mask = torch.ones(n, tokens.shape[1])
    tool_mask[:, prompt.shape[1] + 1 : -1] = 0

    want = table.gather(1, key[:, None]).squeeze(1) + V0
    reward = (answer == want).float() + 0.2 * (call == key).float() \
        + 0.2 * ((answer >= V0) & (answer < F0)).float()
    return tokens, completion_mask, tool_mask, reward, (answer == want).float()


def token_logps(model, tokens):
    logits, _ = model(tokens[:, :-1])
    lp = F.log_softmax(logits, -1)
    return lp.gather(2, tokens[:, 1:, None]).squeeze(2)


def policy_loss(model, tokens, mask, old, adv, clip=0.2):
    logps = token_logps(model, tokens)
    ratio = torch.exp(logps - old)
    adv = adv[:, None]
    per_token = -torch.min(ratio * adv, ratio.clamp(1 - clip, 1 + clip) * adv)
    return (per_token * mask).sum() / mask.sum()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--seed", type=int, default=0)
    ap.add_argument("--lr", type=float, default=4e-3)
    ap.add_argument("--steps", type=int, default=100)
    ap.add_argument("--batch", type=int, default=224)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 5)
    model = AgentLM()
    tool = LookupTool(gen)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)

    for step in range(args.steps):
        tokens, completion_mask, tool_mask, reward, solved = rollout(model, tool, args.batch, gen)
        adv = (reward - reward.mean()) / (reward.std() + 1e-4)
        loss_mask = (completion_mask * tool_mask)[:, 1:]
        with torch.no_grad():
            old = token_logps(model, tokens)
        for _ in range(3):
            loss = policy_loss(model, tokens, loss_mask, old, adv)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
        if step % 20 == 0 or step == args.steps - 1:
            print(f"step {step:4d} loss {loss.item():+.4f} reward {reward.mean().item():.3f} "
                  f"solved {solved.mean().item():.3f}")

    test_gen = torch.Generator().manual_seed(77)
    *_, reward, solved = rollout(model, LookupTool(test_gen), 2000, test_gen, greedy=True)
    print(f"EVIDENCE solved={solved.mean().item():.4f} reward={reward.mean().item():.4f}")


if __name__ == "__main__":
    main()
