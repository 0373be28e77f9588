"""The GPT of the model zoo in PyTorch eager: same shapes, same optimizer. Runs a step for each line of its input and
prints a JSON line with the time that it took. With world > 1 it is one rank of DistributedDataParallel over Gloo."""

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
    options = dict(pair.split("=", 1) for pair in sys.argv[1:])
    vocab, seq, hidden, heads, layers, batch, threads, world = (
        int(options[k]) for k in ("vocab", "seq", "hidden", "heads", "layers", "batch", "threads", "world"))
    sdpa, fused = "sdpa" in options["variant"], "fused" in options["variant"]
    torch.manual_seed(0)
    torch.set_num_threads(threads)
    model = Gpt(vocab, seq, hidden, heads, layers, sdpa)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, fused=fused)
    if world > 1:
        torch.distributed.init_process_group(
            "gloo", init_method="file://" + options["store"], rank=int(options["rank"]), world_size=world)
        model = torch.nn.parallel.DistributedDataParallel(model)
    tokens = torch.randint(vocab, (batch // world, seq))
    labels = torch.randint(vocab, (batch // world, seq))
    print(json.dumps({"version": torch.__version__}), flush=True)
    for _ in sys.stdin:
        wall, cpu = time.perf_counter(), time.process_time()
        optimizer.zero_grad()
        loss = F.cross_entropy(model(tokens).view(-1, vocab), labels.view(-1))
        loss.backward()
        optimizer.step()
        value = loss.item()
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        print(json.dumps({"wallMillis": wall * 1e3, "cpuMillis": cpu * 1e3, "loss": value}), flush=True)


main()
