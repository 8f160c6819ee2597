"""torch_step: what one training step of a published network takes in PyTorch's eager mode, with
all activations, with checkpoints (torch.utils.checkpoint, one a block) and with activations in
page-locked host memory (save_on_cpu). The networks, batches and optimizers are those of gpu_step's
presets; f32 is f32, as on gpu_step's device, unless --tf32 is given, as cuda:0,tf32=on is there.
What ends in -bf16 runs under autocast, with scaled losses.
One JSON object a line.

usage: torch_step.py [--tf32] PRESET[-bf16] [MODE...]   MODE: none, checkpoint, save_on_cpu
       torch_step.py link                        what copies to page-locked memory and back reach

ms_per_step is wall time, the median of STEPS after WARM, the device idle at both ends.
"""

import contextlib
import json
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

WARM, STEPS = 3, 5


class Bottleneck(nn.Module):
    """He et al., CVPR 2016, table 1; the 3 x 3 convolution has the stride."""

    def __init__(self, channels, width, stride):
        super().__init__()

        def conv(a, b, kernel, stride=1):
            return nn.Conv2d(a, b, kernel, stride, kernel // 2, bias=False)

        self.narrow, self.norm1 = conv(channels, width, 1), nn.BatchNorm2d(width)
        self.middle, self.norm2 = conv(width, width, 3, stride), nn.BatchNorm2d(width)
        self.widen, self.norm3 = conv(width, 4 * width, 1), nn.BatchNorm2d(4 * width)
        self.skip = nn.Identity()
        if stride != 1 or channels != 4 * width:
            self.skip = nn.Sequential(
                conv(channels, 4 * width, 1, stride), nn.BatchNorm2d(4 * width)
            )

    def forward(self, x):
        y = F.relu(self.norm1(self.narrow(x)))
        y = F.relu(self.norm2(self.middle(y)))
        return F.relu(self.norm3(self.widen(y)) + self.skip(x))


class ResNet50(nn.Module):
    def __init__(self, batch):
        super().__init__()
        self.shape = (batch, 3, 224, 224)
        self.stem, self.norm = nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64)
        blocks, channels = [], 64
        for stage, n in enumerate((3, 4, 6, 3)):
            for i in range(n):
                width = 64 << stage
                blocks.append(Bottleneck(channels, width, 2 if stage > 0 and i == 0 else 1))
                channels = 4 * width
        self.blocks = nn.ModuleList(blocks)
        self.head = nn.Linear(channels, 1000)

    def draw(self):
        x = torch.rand(self.shape, device="cuda") * 2 - 1
        return x, torch.randint(1000, self.shape[:1], device="cuda")

    def loss(self, batch, run):
        x, target = batch
        x = F.max_pool2d(F.relu(self.norm(self.stem(x))), 3, 2, 1)
        for block in self.blocks:
            x = run(block, x)
        return F.cross_entropy(self.head(x.mean((2, 3))), target)

    def optimizer(self):
        return torch.optim.SGD(self.parameters(), 0.05, momentum=0.9, weight_decay=1e-4)


class Attention(nn.Module):
    def __init__(self, width, heads, causal, fused):
        super().__init__()
        self.heads, self.causal = heads, causal
        parts = (3 * width,) if fused else (width,) * 3
        self.inputs = nn.ModuleList(nn.Linear(width, part) for part in parts)
        self.output = nn.Linear(width, width)

    def forward(self, x):
        b, t, w = x.shape
        parts = [part(x) for part in self.inputs]
        if len(parts) == 1:
            parts = parts[0].split(w, 2)
        q, k, v = (part.view(b, t, self.heads, w // self.heads).transpose(1, 2) for part in parts)
        x = F.scaled_dot_product_attention(q, k, v, dropout_p=0.1, is_causal=self.causal)
        return self.output(x.transpose(1, 2).reshape(b, t, w))


class PreNorm(nn.Module):
    """A block of GPT-2 (Radford et al. 2019, section 2.3)."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads, causal=True, fused=True)
        self.wide, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + F.dropout(self.attention(self.norm1(x)), 0.1)
        return x + F.dropout(self.narrow(F.gelu(self.wide(self.norm2(x)))), 0.1)


class PostNorm(PreNorm):
    """A block of BERT (Devlin et al., NAACL 2019, section 3)."""

    def __init__(self, width, heads):
        super().__init__(width, heads)
        self.attention = Attention(width, heads, causal=False, fused=False)

    def forward(self, x):
        x = self.norm1(F.dropout(self.attention(x), 0.1) + x)
        return self.norm2(F.dropout(self.narrow(F.gelu(self.wide(x))), 0.1) + x)


class GPT2(nn.Module):
    def __init__(self, batch, length, width=768, heads=12, symbols=50257):
        super().__init__()
        self.shape, self.symbols = (batch, length), symbols
        self.table, self.places = nn.Embedding(symbols, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(PreNorm(width, heads) for _ in range(12))
        self.norm = nn.LayerNorm(width)

    def draw(self):
        tokens = torch.randint(self.symbols, self.shape, device="cuda")
        return tokens, torch.randint(self.symbols, (tokens.numel(),), device="cuda")

    def loss(self, batch, run):
        tokens, target = batch
        x = F.dropout(self.table(tokens) + self.places.weight, 0.1)
        for block in self.blocks:
            x = run(block, x)
        return F.cross_entropy(F.linear(self.norm(x).flatten(0, 1), self.table.weight), target)

    def optimizer(self):
        return torch.optim.Adam(self.parameters(), 2e-3)


class Bert(nn.Module):
    def __init__(self, batch, length):
        super().__init__()
        self.shape, self.masked = (batch, length), batch * -(-15 * length // 100)
        self.table, self.segments = nn.Embedding(30522, 768), nn.Embedding(2, 768)
        self.places = nn.Embedding(512, 768)
        self.enter = nn.LayerNorm(768)
        self.blocks = nn.ModuleList(PostNorm(768, 12) for _ in range(12))
        self.mix, self.leave = nn.Linear(768, 768), nn.LayerNorm(768)
        self.bias = nn.Parameter(torch.zeros(30522))
        self.pool, self.follows = nn.Linear(768, 768), nn.Linear(768, 2)

    def draw(self):
        def labels(bound, *shape):
            return torch.randint(bound, shape, device="cuda")

        rows = self.shape[0] * self.shape[1]
        return (
            labels(30522, *self.shape),
            labels(2, *self.shape),
            labels(rows, self.masked),
            labels(30522, self.masked),
            labels(2, self.shape[0]),
        )

    def loss(self, batch, run):
        tokens, segments, which, symbols, next_sentence = batch
        x = self.table(tokens) + self.segments(segments)
        x = F.dropout(self.enter(x + self.places.weight[: self.shape[1]]), 0.1)
        for block in self.blocks:
            x = run(block, x)
        chosen = self.leave(F.gelu(self.mix(x.flatten(0, 1).index_select(0, which))))
        loss = F.cross_entropy(F.linear(chosen, self.table.weight, self.bias), symbols)
        first = self.follows(torch.tanh(self.pool(x[:, 0])))
        return loss + F.cross_entropy(first, next_sentence)

    def optimizer(self):
        return torch.optim.AdamW(self.parameters(), 1e-4, weight_decay=0.01)


PRESETS = {
    "speed-resnet50": lambda: ResNet50(128),
    "speed-bert-base": lambda: Bert(32, 512),
    "gpt2-small": lambda: GPT2(4, 1024),
    "speed-host": lambda: GPT2(1, 32, 64, 2, 512),
}


def plainly(block, x):
    return block(x)


def checkpointed(block, x):
    return checkpoint(block, x, use_reentrant=False)


def step(model, optimizer, scaler, mode):
    run = checkpointed if mode == "checkpoint" else plainly
    batch = model.draw()
    keep = contextlib.nullcontext()
    if mode == "save_on_cpu":
        keep = torch.autograd.graph.save_on_cpu(pin_memory=True)
    with keep, torch.autocast("cuda", torch.bfloat16, enabled=scaler.is_enabled()):
        loss = model.loss(batch, run)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()


def measure(preset, mode):
    torch.manual_seed(1)
    model = PRESETS[preset.removesuffix("-bf16")]().cuda()
    optimizer = model.optimizer()
    scaler = torch.amp.GradScaler("cuda", enabled=preset.endswith("-bf16"))
    times = []
    for i in range(WARM + STEPS):
        if i == WARM:
            torch.cuda.reset_peak_memory_stats()
        torch.cuda.synchronize()
        start = time.perf_counter()
        step(model, optimizer, scaler, mode)
        torch.cuda.synchronize()
        times.append((time.perf_counter() - start) * 1e3)
    return {
        "model": preset,
        "torch": torch.__version__,
        "mode": mode,
        "ms_per_step": round(statistics.median(times[WARM:]), 3),
        "peak_bytes": torch.cuda.max_memory_allocated(),
        "reserved_bytes": torch.cuda.max_memory_reserved(),
    }


def link():
    """Copies of 64 MiB, one way alone, and both ways at once on streams of their own."""
    size, n = 64 << 20, 32
    ends = [
        (torch.empty(size, dtype=torch.uint8, device="cuda"),
         torch.empty(size, dtype=torch.uint8, pin_memory=True))
        for _ in range(2)
    ]
    streams = [torch.cuda.Stream() for _ in range(2)]

    def copy(ways):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(n):
            for way in ways:
                device, host = ends[way]
                to, source = (host, device) if way == 0 else (device, host)
                with torch.cuda.stream(streams[way]):
                    to.copy_(source, non_blocking=True)
        torch.cuda.synchronize()
        return round(n * size / (time.perf_counter() - start) * 1e-9, 2)

    copy([0, 1])
    return {"link": "torch", "out_gb_s": copy([0]), "in_gb_s": copy([1]),
            "each_of_both_gb_s": copy([0, 1])}


def main(arguments):
    tf32 = arguments[:1] == ["--tf32"]
    arguments = arguments[tf32:]
    if not arguments or arguments[0].removesuffix("-bf16") not in [*PRESETS, "link"]:
        presets = ", ".join([*PRESETS, "link"])
        sys.exit(f"usage: torch_step.py [--tf32] PRESET[-bf16] [MODE...]; PRESET: {presets}")
    if not torch.cuda.is_available():
        sys.exit("torch_step.py: this PyTorch sees no GPU")
    if arguments[0] == "link":
        print(json.dumps(link()))
        return
    torch.backends.cudnn.allow_tf32 = tf32
    torch.backends.cuda.matmul.allow_tf32 = tf32
    for mode in arguments[1:] or ("none", "checkpoint", "save_on_cpu"):
        try:
            result = measure(arguments[0], mode)
        except torch.cuda.OutOfMemoryError:
            result = {"model": arguments[0], "mode": mode, "status": "out of memory"}
        result["tf32"] = tf32
        print(json.dumps(result), flush=True)
        torch.cuda.empty_cache()


if __name__ == "__main__":
    main(sys.argv[1:])
