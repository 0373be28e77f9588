"""The GPT of the model zoo in PyTorch eager: same shapes, same optimizer. Prints one JSON line per variant."""

import json
import sys
import time

import torch
import torch.nn.functional as F


class Block(torch.nn.Module):
    def __init__(self, hidden, heads, sdpa):
        super().__init__()
        self.heads, self.sdpa = heads, sdpa
        self.norm1, self.norm2 = torch.nn.LayerNorm(hidden), torch.nn.LayerNorm(hidden)
        self.q, self.k, self.v, self.out = (torch.nn.Linear(hidden, hidden, bias=False) for _ in range(4))
        self.up = torch.nn.Linear(hidden, 4 * hidden, bias=False)
        self.down = torch.nn.Linear(4 * hidden, hidden, bias=False)

    def forward(self, x, mask):
        b, s, h = x.shape
        n = self.norm1(x)
        q, k, v = (f(n).view(b, s, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v))
        if self.sdpa:
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            scores = (q @ k.transpose(-2, -1)) * (q.shape[-1] ** -0.5) + mask
            y = torch.softmax(scores, dim=-1) @ v
        x = x + self.out(y.transpose(1, 2).reshape(b, s, h))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class Gpt(torch.nn.Module):
    def __init__(self, vocab, seq, hidden, heads, layers, sdpa):
        super().__init__()
        self.token = torch.nn.Embedding(vocab, hidden)
        self.position = torch.nn.Parameter(torch.randn(seq, hidden) * 0.02)
        self.blocks = torch.nn.ModuleList(Block(hidden, heads, sdpa) for _ in range(layers))
        self.norm = torch.nn.LayerNorm(hidden)
        self.head = torch.nn.Linear(hidden, vocab, bias=False)
        self.register_buffer("mask", torch.full((seq, seq), -30000.0).triu(1))

    def forward(self, tokens):
        x = self.token(tokens) + self.position
        for block in self.blocks:
            x = block(x, self.mask)
        return self.head(self.norm(x))


def main():
    vocab, seq, hidden, heads, layers, batch, threads, steps = (int(a) for a in sys.argv[1:9])
    torch.manual_seed(0)
    torch.set_num_threads(threads)
    for name, sdpa, fused in (("explicit", False, False), ("sdpa", True, False), ("sdpa+fused_adam", True, True)):
        model = Gpt(vocab, seq, hidden, heads, layers, sdpa)
        optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=fused)
        tokens = torch.randint(vocab, (batch, seq))
        labels = torch.randint(vocab, (batch, seq))
        wall, cpu = [], []
        for _ in range(steps + 2):
            t, c = time.perf_counter(), time.process_time()
            optimizer.zero_grad()
            loss = F.cross_entropy(model(tokens).view(-1, vocab), labels.view(-1))
            loss.backward()
            optimizer.step()
            wall.append(time.perf_counter() - t)
            cpu.append(time.process_time() - c)
        wall, cpu = sorted(wall[2:]), sorted(cpu[2:])
        print(json.dumps({"variant": name, "version": torch.__version__, "loss": loss.item(),
                          "bestMillis": wall[0] * 1e3, "medianMillis": wall[len(wall) // 2] * 1e3,
                          "cpuMillis": cpu[0] * 1e3}), flush=True)


main()
