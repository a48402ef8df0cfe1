"""ORPO from scratch: no reference model, one loss made of a supervised part and an odds-ratio part."""
import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F

PAD, BOS, FIRST = 0, 1, 2
WORDS, PROMPT, ANSWER = 12, 3, 5
VOCAB = FIRST + WORDS


def sample_preferences(count, gen):
    """Chosen answers repeat the prompt's words in turn; rejected ones repeat only its last word."""
    prompt = torch.randint(FIRST, VOCAB, (count, PROMPT), generator=gen)
    bos = torch.full((count, 1), BOS)
    chosen = prompt[:, torch.arange(ANSWER) % PROMPT]
    rejected = prompt[:, -1:].expand(-1, ANSWER).clone()
    swap = torch.rand(count, ANSWER, generator=gen) < 0.25
    rejected[swap] = torch.randint(FIRST, VOCAB, (int(swap.sum()),), generator=gen)
    return torch.cat([bos, prompt, chosen], 1), torch.cat([bos, prompt, rejected], 1)


class Policy(nn.Module):
    def __init__(self, width=64):
        super().__init__()
        self.embed = nn.Embedding(VOCAB, width)
        self.place = nn.Parameter(torch.randn(1 + PROMPT + ANSWER, width) * 0.2)
        layer = nn.TransformerEncoderLayer(width, 4, 2 * width, dropout=0.0, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.lm_head = nn.Linear(width, VOCAB)

    def forward(self, ids):
        n = ids.shape[1]
        causal = nn.Transformer.generate_square_subsequent_mask(n)
        return self.lm_head(self.body(self.embed(ids) + self.place[:n], mask=causal, is_causal=True))


def answer_scores(policy, ids):
    """Mean log-probability per token of the answer."""
    logps = policy(ids[:, :-1]).log_softmax(-1).gather(2, ids[:, 1:, None]).squeeze(2)
    return logps[:, PROMPT:].mean(dim=1)


def orpo_loss(chosen_score, rejected_score, beta):
    log_odds = (chosen_score - rejected_score) - (
        torch.log1p(-torch.exp(chosen_score)) - torch.log1p(-torch.exp(rejected_score)))
    ratio_loss = -F.logsigmoid(log_odds)
    sft_loss = -chosen_score
    loss = (sft_loss + beta * ratio_loss).mean()
    return loss, {"log_odds": log_odds.mean().item(), "win": (log_odds > 0).float().mean().item()}


@torch.no_grad()
def greedy_match(policy, seed):
    """Answers are written greedily after new prompts and compared with the wanted ones."""
    chosen, _ = sample_preferences(128, torch.Generator().manual_seed(seed))
    ids = chosen[:, :1 + PROMPT]
    for _ in range(ANSWER):
        ids = torch.cat([ids, policy(ids)[:, -1].argmax(-1, keepdim=True)], dim=1)
    return (ids[:, 1 + PROMPT:] == chosen[:, 1 + PROMPT:]).float().mean().item(), answer_scores(policy, chosen).mean().item()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--steps", type=int, default=90)
    parser.add_argument("--beta", type=float, default=0.1)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    gen = torch.Generator().manual_seed(args.seed + 1)
    policy = Policy()
    optimizer = torch.optim.AdamW(policy.parameters(), lr=args.lr, weight_decay=0.0)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, 0.1, 1.0, total_iters=10)
    for step in range(args.steps):
        chosen, rejected = sample_preferences(48, gen)
        loss, metrics = orpo_loss(answer_scores(policy, chosen), answer_scores(policy, rejected), args.beta)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(policy.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        if step % 30 == 0:
            print(f"step {step:3d} loss {loss.item():.4f} log_odds {metrics['log_odds']:.3f} win {metrics['win']:.2f}")
    match, logp = greedy_match(policy, 31337)
    print(f"EVIDENCE greedy_match={match:.4f} chosen_logp_per_token={logp:.4f}")
