"""U-Net (Ronneberger, Fischer and Brox 2015) with padded convolutions and batch norm, bilinear
upsampling in place of transposed convolutions, as DTR and Coop ran it."""
from .. import cat, nn


def double(inputs, channels):
    """Two times convolution, batch norm, ReLU."""
    return nn.Sequential(
        nn.Conv2d(inputs, channels, 3, padding=1, bias=False),
        nn.BatchNorm2d(channels), nn.ReLU(),
        nn.Conv2d(channels, channels, 3, padding=1, bias=False),
        nn.BatchNorm2d(channels), nn.ReLU())


class UNet(nn.Module):
    """[N, inputs, H, W] to [N, classes, H, W]."""

    def __init__(self, inputs=3, classes=1, width=64, depth=4):
        super().__init__()
        sizes = [width << i for i in range(depth)] + [width << (depth - 1)]
        self.first = double(inputs, width)
        self.down = nn.ModuleList(double(a, b) for a, b in zip(sizes, sizes[1:]))
        self.up = nn.ModuleList()
        channels = sizes[-1]
        for i in reversed(range(depth)):
            after = sizes[i] // 2 if i else sizes[0]
            self.up.append(double(channels + sizes[i], after))
            channels = after
        self.last = nn.Conv2d(channels, classes, 1)

    def forward(self, x):
        skips, x = [], self.first(x)
        for block in self.down:
            skips.append(x)
            x = block(nn.functional.max_pool2d(x, 2))
        for block, skip in zip(self.up, reversed(skips)):
            x = nn.functional.interpolate(x, size=tuple(skip.shape[2:]), mode="bilinear",
                                          align_corners=True)
            x = block(cat([skip, x], 1))
        return self.last(x)
