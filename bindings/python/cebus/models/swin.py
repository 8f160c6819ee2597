"""Swin Transformer (Liu et al. 2021): attention in shifted windows of images."""
import math

from .. import _core, cat, nn


class WindowAttention(nn.Module):
    """Attention within windows of side x side, with learned biases for relative positions."""

    def __init__(self, width, side, heads):
        super().__init__()
        self.side, self.heads = side, heads
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.biases = nn.Parameter(nn.init.trunc_normal_(
            _core.empty((2 * side - 1) ** 2, heads), std=0.02))
        rows, columns = [[i // side for i in range(side * side)],
                         [i % side for i in range(side * side)]]
        self.places = [(rows[i] - rows[j] + side - 1) * (2 * side - 1) + columns[i] - columns[j]
                       + side - 1 for i in range(side * side) for j in range(side * side)]

    def forward(self, x, mask):
        count, n, width = x.shape
        parts = self.qkv(x).reshape(count, n, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        index = _core.tensor(self.places, device=x.device)
        bias = self.biases.index_select(0, index).reshape(n, n, self.heads).permute(2, 0, 1)
        if mask is not None:  # [windows, n, n], for each image of the batch
            windows = mask.size(0)
            bias = (bias.unsqueeze(0) + mask.unsqueeze(1)).repeat(count // windows, 1, 1, 1)
        x = nn.functional.scaled_dot_product_attention(q, k, v, bias)
        return self.out(x.transpose(1, 2).reshape(count, n, width))


class SwinBlock(nn.Module):
    """Windows, shifted or not; then two linear layers."""

    def __init__(self, width, heads, side, shift):
        super().__init__()
        self.side, self.shift = side, shift
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = WindowAttention(width, side, heads)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(),
                                  nn.Linear(4 * width, width))

    def _mask(self, height, width, device):
        """-inf between pixels that only the shift has made neighbours: [windows, n, n]."""
        def zone(i, length):
            return 0 if i < length - self.side else 1 if i < length - self.shift else 2
        zones = _core.tensor([[3.0 * zone(i, height) + zone(j, width) for j in range(width)]
                              for i in range(height)], device=device)
        zones = zones.reshape(height // self.side, self.side, width // self.side, self.side)
        zones = zones.permute(0, 2, 1, 3).reshape(-1, self.side * self.side)
        return _core.where(zones.unsqueeze(1) == zones.unsqueeze(2), 0.0, -math.inf)

    def forward(self, x):
        n, height, width, channels = x.shape
        side, shift = self.side, self.shift if min(height, width) > self.side else 0
        y = self.norm1(x)
        if shift:
            y = y.roll((-shift, -shift), (1, 2))
        y = y.reshape(n, height // side, side, width // side, side, channels)
        y = y.permute(0, 1, 3, 2, 4, 5).reshape(-1, side * side, channels)
        y = self.attention(y, self._mask(height, width, x.device) if shift else None)
        y = y.reshape(n, height // side, width // side, side, side, channels)
        y = y.permute(0, 1, 3, 2, 4, 5).reshape(n, height, width, channels)
        if shift:
            y = y.roll((shift, shift), (1, 2))
        x = x + y
        return x + self.feed(self.norm2(x))


class Merge(nn.Module):
    """Four neighbouring pixels as one of twice the channels."""

    def __init__(self, width):
        super().__init__()
        self.norm, self.reduce = nn.LayerNorm(4 * width), nn.Linear(4 * width, 2 * width,
                                                                    bias=False)

    def forward(self, x):
        corners = [x[:, i::2, j::2] for j in (0, 1) for i in (0, 1)]
        return self.reduce(self.norm(cat(corners, -1)))


class Swin(nn.Module):
    """Swin-T by default: images [N, 3, 224, 224]."""

    def __init__(self, width=96, depths=(2, 2, 6, 2), heads=(3, 6, 12, 24), side=7, classes=1000):
        super().__init__()
        self.patches, self.norm = nn.Conv2d(3, width, 4, 4), nn.LayerNorm(width)
        layers = []
        for i, (depth, count) in enumerate(zip(depths, heads)):
            if i:
                layers.append(Merge(width))
                width *= 2
            layers += [SwinBlock(width, count, side, side // 2 if j % 2 else 0)
                       for j in range(depth)]
        self.layers, self.last = nn.Sequential(*layers), nn.LayerNorm(width)
        self.head = nn.Linear(width, classes)

    def forward(self, x):
        x = self.norm(self.patches(x).permute(0, 2, 3, 1))
        return self.head(self.last(self.layers(x)).mean((1, 2)))
