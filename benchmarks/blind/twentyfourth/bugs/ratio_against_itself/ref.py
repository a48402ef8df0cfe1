"""GRPO with a KL term and several passes over each batch of completions."""
import argparse
import copy

import torch
import torch.nn as nn

PROMPTS, VOCAB, LENGTH, GENERATIONS = 10, 12, 5, 8


class CompletionModel(nn.Module):
    def __init__(self, dim=40):
        super().__init__()
        self.prompt, self.token = nn.Embedding(PROMPTS, dim), nn.Embedding(VOCAB + 1, dim)
        self.rnn, self.lm_head = nn.GRU(dim, dim, batch_first=True), nn.Linear(dim, VOCAB)

    def forward(self, prompts, completions):
        start = torch.full((len(completions), 1), VOCAB)
        hidden, _ = self.rnn(self.token(torch.cat([start, completions], 1)), self.prompt(prompts)[None])
        return self.lm_head(hidden)

    def per_token_logps(self, prompts, completions):
        logits = self(prompts, completions)[:, :-1]
        return logits.log_softmax(-1).gather(2, completions[:, :, None]).squeeze(2)


@torch.no_grad()
def generate(model, prompts):
    ids = torch.zeros(len(prompts), 0, dtype=torch.long)
    for _ in range(LENGTH):
        ids = torch.cat([ids, torch.multinomial(model(prompts, ids)[:, -1].softmax(-1), 1)], 1)
    # token 0 ends a completion; what follows it is masked
    ended = (ids == 0).long().cumsum(1)
    return ids, ((ended == 0) | ((ended == 1) & (ids == 0))).float()


def reward_fn(prompts, ids, mask):
    wanted = (ids % 5 == prompts[:, None] % 5).float()
    return (wanted * mask).sum(1) / LENGTH


class GRPOTrainer:
    def __init__(self, model, args):
        self.model, self.args = model, args
        self.ref_model = copy.deepcopy(model).requires_grad_(False)
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.0)

    def prepare(self):
        prompts = torch.randperm(PROMPTS)[:6].repeat_interleave(GENERATIONS)
        ids, mask = generate(self.model, prompts)
        rewards = reward_fn(prompts, ids, mask)
        grouped = rewards.view(-1, GENERATIONS)
        advantages = ((grouped - grouped.mean(1, keepdim=True)) / (grouped.std(1, keepdim=True) + 1e-4)).flatten()
        with torch.no_grad():
            old = self.model.per_token_logps(prompts, ids)
            ref = self.ref_model.per_token_logps(prompts, ids)
        return {"prompts": prompts, "ids": ids, "mask": mask, "advantages": advantages, "old_per_token_logps": old,
                "ref_per_token_logps": ref, "reward": rewards.mean().item()}

    def compute_loss(self, batch):
        logps = self.model.per_token_logps(batch["prompts"], batch["ids"])
        mask, advantages = batch["mask"], batch["advantages"][:, None]
        gap = batch["ref_per_token_logps"] - logps
        kl = gap.exp() - gap - 1
        coef_1 = torch.exp(logps - batch["old_per_token_logps"])
        coef_2 = coef_1.clamp(1 - self.args.epsilon, 1 + self.args.epsilon)
        per_token_loss = -torch.min(coef_1 * advantages, coef_2 * advantages) + self.args.beta * kl
        clipped = ((coef_1 != coef_2).float() * mask).sum() / mask.sum()
        return ((per_token_loss * mask).sum(1) / mask.sum(1)).mean(), clipped.item()

    def train(self):
        rewards, clip_ratios, moved = [], [], []
        for step in range(self.args.steps):
            batch = self.prepare()
            for _ in range(self.args.num_iterations):
                loss, clipped = self.compute_loss(batch)
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
            with torch.no_grad():
                new = self.model.per_token_logps(batch["prompts"], batch["ids"])
                moved.append(((new - batch["old_per_token_logps"]).abs() * batch["mask"]).sum().item() / batch["mask"].sum().item())
            rewards.append(batch["reward"])
            clip_ratios.append(clipped)
            if step % 6 == 0:
                print(f"step {step} reward {rewards[-1]:.3f} loss {loss.item():.4f} clip_ratio {clipped:.3f}")
        return rewards, clip_ratios, moved


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--lr", type=float, default=6e-3)
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--num-iterations", type=int, default=5)
    parser.add_argument("--epsilon", type=float, default=0.1)
    parser.add_argument("--beta", type=float, default=0.01)
    args = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    rewards, clip_ratios, moved = GRPOTrainer(CompletionModel(), args).train()
    print(f"EVIDENCE clip_ratio={sum(clip_ratios) / len(clip_ratios):.4f} logp_moved_per_batch={sum(moved) / len(moved):.4f} "
          f"reward={sum(rewards[-4:]) / len(rewards[-4:]):.4f}")
