"""Networks whose blocks are several branches side by side: InceptionV3, InceptionV4, NASNet-A."""
from .. import cat, nn


class Unit(nn.Module):
    """Convolution, batch norm, ReLU; `side` is a number or (height, width)."""

    def __init__(self, inputs, channels, side, stride=1, same=True):
        super().__init__()
        side = side if isinstance(side, tuple) else (side, side)
        padding = tuple(n // 2 for n in side) if same else 0
        self.conv = nn.Conv2d(inputs, channels, side, stride, padding, bias=False)
        self.bn = nn.BatchNorm2d(channels, eps=1e-3)

    def forward(self, x):
        return self.bn(self.conv(x)).relu()


def chain(inputs, *units):
    """Units given as (channels, side), (channels, side, stride) without padding."""
    layers = []
    for channels, side, *stride in units:
        layers.append(Unit(inputs, channels, side, *(stride or (1,)), same=not stride))
        inputs = channels
    out = nn.Sequential(*layers)
    out.channels = inputs
    return out


class Split(nn.Module):
    """Branches side by side, their channels joined."""

    def __init__(self, *branches):
        super().__init__()
        self.branches = nn.ModuleList(branches)
        self.channels = sum(branch.channels for branch in branches)

    def forward(self, x):
        return cat([branch(x) for branch in self.branches], 1)


def through(inputs, units, last):
    """A chain with a split (a function of its channels) behind it."""
    first = chain(inputs, *units)
    rest = last(first.channels)
    out = nn.Sequential(first, rest)
    out.channels = rest.channels
    return out


def pooled(inputs, channels):
    out = nn.Sequential(nn.AvgPool2d(3, 1, 1), Unit(inputs, channels, 1))
    out.channels = channels
    return out


def largest(inputs):
    out = nn.MaxPool2d(3, 2)
    out.channels = inputs
    return out


def forked(channels):
    """The two factors of 3 x 3 side by side."""
    return lambda inputs: Split(chain(inputs, (channels, (1, 3))),
                                chain(inputs, (channels, (3, 1))))


class Inception(nn.Module):
    """Blocks one after the other, pooling, dropout, a linear layer. Images [N, 3, 299, 299]."""

    def __init__(self, blocks, channels, classes, dropout=0.2):
        super().__init__()
        self.features = nn.Sequential(*blocks)
        self.dropout, self.fc = nn.Dropout(dropout), nn.Linear(channels, classes)

    def forward(self, x):
        x = nn.functional.adaptive_avg_pool2d(self.features(x), 1).flatten(1)
        return self.fc(self.dropout(x))


def inceptionv3(classes=1000, dropout=0.2):
    """Szegedy et al. 2016, table 1 and figures 5 to 7, without the auxiliary classifier."""
    blocks = [chain(3, (32, 3, 2), (32, 3, 1), (64, 3)), nn.MaxPool2d(3, 2),
              chain(64, (80, 1), (192, 3, 1)), nn.MaxPool2d(3, 2)]
    n = 192

    def add(*branches):
        nonlocal n
        blocks.append(Split(*branches))
        n = blocks[-1].channels
    for pool in (32, 64, 64):
        add(chain(n, (64, 1)), chain(n, (48, 1), (64, 5)), chain(n, (64, 1), (96, 3), (96, 3)),
            pooled(n, pool))
    add(chain(n, (384, 3, 2)), chain(n, (64, 1), (96, 3), (96, 3, 2)), largest(n))
    for c in (128, 160, 160, 192):
        add(chain(n, (192, 1)), chain(n, (c, 1), (c, (1, 7)), (192, (7, 1))),
            chain(n, (c, 1), (c, (7, 1)), (c, (1, 7)), (c, (7, 1)), (192, (1, 7))),
            pooled(n, 192))
    add(chain(n, (192, 1), (320, 3, 2)),
        chain(n, (192, 1), (192, (1, 7)), (192, (7, 1)), (192, 3, 2)), largest(n))
    for _ in range(2):
        add(chain(n, (320, 1)), through(n, [(384, 1)], forked(384)),
            through(n, [(448, 1), (384, 3)], forked(384)), pooled(n, 192))
    return Inception(blocks, n, classes, dropout)


def inceptionv4(classes=1000, dropout=0.2):
    """Szegedy et al. 2017, figures 3 to 9."""
    blocks = [chain(3, (32, 3, 2), (32, 3, 1), (64, 3))]
    n = 64

    def add(*branches):
        nonlocal n
        blocks.append(Split(*branches))
        n = blocks[-1].channels
    add(chain(n, (96, 3, 2)), largest(n))
    add(chain(n, (64, 1), (96, 3, 1)), chain(n, (64, 1), (64, (1, 7)), (64, (7, 1)), (96, 3, 1)))
    add(chain(n, (192, 3, 2)), largest(n))
    for _ in range(4):
        add(chain(n, (96, 1)), chain(n, (64, 1), (96, 3)), chain(n, (64, 1), (96, 3), (96, 3)),
            pooled(n, 96))
    add(chain(n, (384, 3, 2)), chain(n, (192, 1), (224, 3), (256, 3, 2)), largest(n))
    for _ in range(7):
        add(chain(n, (384, 1)), chain(n, (192, 1), (224, (1, 7)), (256, (7, 1))),
            chain(n, (192, 1), (192, (1, 7)), (224, (7, 1)), (224, (1, 7)), (256, (7, 1))),
            pooled(n, 128))
    add(chain(n, (192, 1), (192, 3, 2)),
        chain(n, (256, 1), (256, (1, 7)), (320, (7, 1)), (320, 3, 2)), largest(n))
    for _ in range(3):
        add(chain(n, (256, 1)), through(n, [(384, 1)], forked(256)),
            through(n, [(384, 1), (448, (1, 3)), (512, (3, 1))], forked(256)), pooled(n, 256))
    return Inception(blocks, n, classes, dropout)


# --- NASNet-A (Zoph et al. 2018, figure 4) ----------------------------------------------------

class Squeeze(nn.Sequential):
    """ReLU, 1 x 1, batch norm."""

    def __init__(self, inputs, filters):
        super().__init__(nn.ReLU(), nn.Conv2d(inputs, filters, 1, bias=False),
                         nn.BatchNorm2d(filters))


class Separable(nn.Sequential):
    """Twice: ReLU, depthwise, 1 x 1, batch norm."""

    def __init__(self, inputs, filters, side, stride=1):
        layers = []
        for channels, step in ((inputs, stride), (filters, 1)):
            layers += [nn.ReLU(), nn.Conv2d(channels, channels, side, step, side // 2,
                                            groups=channels, bias=False),
                       nn.Conv2d(channels, filters, 1, bias=False), nn.BatchNorm2d(filters)]
        super().__init__(*layers)


class Halve(nn.Module):
    """Half the pixels each way: two subsamples one pixel apart, half the filters of each."""

    def __init__(self, inputs, filters):
        super().__init__()
        self.first = nn.Conv2d(inputs, filters // 2, 1, bias=False)
        self.second = nn.Conv2d(inputs, filters - filters // 2, 1, bias=False)
        self.norm = nn.BatchNorm2d(filters)

    def forward(self, x):
        x = x.relu()
        shifted = nn.functional.pad(x, (-1, 1, -1, 1))
        return self.norm(cat([self.first(x[:, :, ::2, ::2]),
                              self.second(shifted[:, :, ::2, ::2])], 1))


class Cell(nn.Module):
    """Reads the cell before and the one before that (`p`), brought to its size and filters."""

    def __init__(self, before, inputs, filters, halve, as_is=False):
        super().__init__()
        self.adjust = None
        if not as_is and halve:
            self.adjust = Halve(before, filters)
        elif not as_is and before != filters:
            self.adjust = Squeeze(before, filters)
        self.squeeze = Squeeze(inputs, filters)
        channels = before if as_is else filters
        self.steps = nn.ModuleList(
            Separable(filters if from_h else channels, filters, side, stride)
            for from_h, side, stride in self.plan)

    def forward(self, p, x):
        p = p if self.adjust is None else self.adjust(p)
        return self.mix(self.squeeze(x), p, *self.steps)


def average(x, stride=1):
    return nn.functional.avg_pool2d(x, 3, stride, 1, count_include_pad=False)


class Normal(Cell):
    plan = ((True, 5, 1), (False, 3, 1), (False, 5, 1), (False, 3, 1), (True, 3, 1))

    def mix(self, h, p, a, b, c, d, e):
        return cat([p, a(h) + b(p), c(p) + d(p), average(h) + p, average(p) + average(p),
                    e(h) + h], 1)


class Reduction(Cell):
    plan = ((True, 5, 2), (False, 7, 2), (False, 7, 2), (False, 5, 2), (True, 3, 1))

    def mix(self, h, p, a, b, c, d, e):
        first = a(h) + b(p)
        top = nn.functional.max_pool2d(h, 3, 2, 1)
        second = top + c(p)
        return cat([second, average(h, 2) + d(p), average(first) + second, e(first) + top], 1)


class NASNet(nn.Module):
    """A convolution, two reductions, three groups of `depth` normal cells with a reduction between
    them. (6 @ 4032): width 168, depth 6; NASNet-25 of SwapAdvisor: depth 25."""

    def __init__(self, width=168, depth=6, classes=1000):
        super().__init__()
        first = (4 * width + 6) // 7
        self.stem = nn.Sequential(nn.Conv2d(3, first, 3, 2, bias=False), nn.BatchNorm2d(first))
        self.first = StemCell(first, width // 4)
        self.second = Reduction(first, width, width // 2, True)
        cells, before, channels, halve = [], width, 2 * width, True
        for group in range(3):
            filters = width << group
            if group:
                cells.append(Reduction(before, channels, filters, halve))
                channels, halve = 4 * filters, True
            for _ in range(depth):
                cells.append(Normal(before, channels, filters, halve))
                before, channels, halve = channels, 6 * filters, False
            halve = False
        self.cells, self.fc = nn.ModuleList(cells), nn.Linear(channels, classes)

    def forward(self, x):
        stem = self.stem(x)
        p = self.first(stem, stem)
        x = self.second(stem, p)
        for cell in self.cells:
            reduces = isinstance(cell, Reduction)
            out = cell(p, x)
            p, x = (p if reduces else x), out
        return self.fc(nn.functional.adaptive_avg_pool2d(x.relu(), 1).flatten(1))


class StemCell(Reduction):
    """The first reduction: there is no cell before, and the image is taken as it is."""

    def __init__(self, inputs, filters):
        super().__init__(inputs, inputs, filters, False, as_is=True)
