"""Networks over images that repeat plain blocks: LeNet, VGG, ResNet, DenseNet."""
from .. import cat, nn


class MLP(nn.Module):
    """Linear layers with ReLU."""

    def __init__(self, sizes=(784, 512, 512, 10)):
        super().__init__()
        layers = [nn.Flatten()]
        for i, (a, b) in enumerate(zip(sizes, sizes[1:])):
            layers += [nn.Linear(a, b)] + ([nn.ReLU()] if i + 2 < len(sizes) else [])
        self.layers = nn.Sequential(*layers)

    def forward(self, x):
        return self.layers(x)


class LeNet(nn.Module):
    """LeNet-5 (LeCun et al. 1998) with ReLU and max pooling; images [N, 1, 28, 28]."""

    def __init__(self, classes=10):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten())
        self.classifier = nn.Sequential(nn.Linear(400, 120), nn.ReLU(), nn.Linear(120, 84),
                                        nn.ReLU(), nn.Linear(84, classes))

    def forward(self, x):
        return self.classifier(self.features(x))


class VGG(nn.Module):
    """Configuration D of Simonyan and Zisserman 2015: thirteen convolutions, three linear."""

    STAGES = ((1, 2), (2, 2), (4, 3), (8, 3), (8, 3))

    def __init__(self, classes=1000, width=64, hidden=4096, dropout=0.5):
        super().__init__()
        layers, channels = [], 3
        for factor, count in self.STAGES:
            for _ in range(count):
                layers += [nn.Conv2d(channels, factor * width, 3, padding=1), nn.ReLU()]
                channels = factor * width
            layers.append(nn.MaxPool2d(2))
        self.features = nn.Sequential(*layers)
        self.avgpool = nn.AdaptiveAvgPool2d((7, 7))
        self.classifier = nn.Sequential(
            nn.Linear(channels * 49, hidden), nn.ReLU(), nn.Dropout(dropout),
            nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(dropout), nn.Linear(hidden, classes))

    def forward(self, x):
        return self.classifier(self.avgpool(self.features(x)).flatten(1))


# --- residual networks (He et al. 2016) -------------------------------------------------------

def _shortcut(inputs, outputs, stride):
    if stride == 1 and inputs == outputs:
        return None
    return nn.Sequential(nn.Conv2d(inputs, outputs, 1, stride, bias=False),
                         nn.BatchNorm2d(outputs))


class BasicBlock(nn.Module):
    """Two 3 x 3 convolutions."""

    expansion = 1

    def __init__(self, inputs, width, stride=1, factor=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, width, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(width)
        self.downsample = _shortcut(inputs, width, stride)

    def forward(self, x):
        out = self.bn2(self.conv2(self.bn1(self.conv1(x)).relu()))
        return (out + (x if self.downsample is None else self.downsample(x))).relu()


class Bottleneck(nn.Module):
    """1 x 1, 3 x 3 and 1 x 1; `factor` widens the middle (Zagoruyko and Komodakis 2016)."""

    expansion = 4

    def __init__(self, inputs, width, stride=1, factor=1):
        super().__init__()
        middle, outputs = width * factor, 4 * width
        self.conv1 = nn.Conv2d(inputs, middle, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(middle)
        self.conv2 = nn.Conv2d(middle, middle, 3, stride, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(middle)
        self.conv3 = nn.Conv2d(middle, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.downsample = _shortcut(inputs, outputs, stride)

    def forward(self, x):
        out = self.bn1(self.conv1(x)).relu()
        out = self.bn3(self.conv3(self.bn2(self.conv2(out)).relu()))
        return (out + (x if self.downsample is None else self.downsample(x))).relu()


class ResNet(nn.Module):
    """Table 1 of the paper; images [N, 3, H, W]."""

    def __init__(self, block, depths, classes=1000, width=64, factor=1):
        super().__init__()
        self.conv1 = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.maxpool = nn.MaxPool2d(3, 2, 1)
        channels = width
        for i, depth in enumerate(depths):
            blocks = []
            for j in range(depth):
                blocks.append(block(channels, width << i, 2 if i and not j else 1, factor))
                channels = (width << i) * block.expansion
            self.add_module(f"layer{i + 1}", nn.Sequential(*blocks))
        self.stages = len(depths)
        self.fc = nn.Linear(channels, classes)

    def forward(self, x):
        x = self.maxpool(self.bn1(self.conv1(x)).relu())
        for i in range(self.stages):
            x = getattr(self, f"layer{i + 1}")(x)
        return self.fc(nn.functional.adaptive_avg_pool2d(x, 1).flatten(1))


def resnet18(**options):
    return ResNet(BasicBlock, (2, 2, 2, 2), **options)


def resnet50(**options):
    return ResNet(Bottleneck, (3, 4, 6, 3), **options)


def resnet152(**options):
    return ResNet(Bottleneck, (3, 8, 36, 3), **options)


def wide_resnet152(factor=10, **options):
    """ResNet-152 whose 3 x 3 convolutions are `factor` times as wide."""
    return resnet152(factor=factor, **options)


# --- DenseNet (Huang et al. 2017) -------------------------------------------------------------

class DenseLayer(nn.Module):
    """Adds `growth` channels to those it reads."""

    def __init__(self, inputs, growth):
        super().__init__()
        self.norm1, self.conv1 = nn.BatchNorm2d(inputs), nn.Conv2d(inputs, 4 * growth, 1,
                                                                   bias=False)
        self.norm2 = nn.BatchNorm2d(4 * growth)
        self.conv2 = nn.Conv2d(4 * growth, growth, 3, padding=1, bias=False)

    def forward(self, x):
        new = self.conv1(self.norm1(x).relu())
        return cat([x, self.conv2(self.norm2(new).relu())], 1)


class DenseNet(nn.Module):
    """DenseNet-121 by default."""

    def __init__(self, depths=(6, 12, 24, 16), growth=32, classes=1000):
        super().__init__()
        channels = 2 * growth
        layers = [nn.Conv2d(3, channels, 7, 2, 3, bias=False), nn.BatchNorm2d(channels), nn.ReLU(),
                  nn.MaxPool2d(3, 2, 1)]
        for i, depth in enumerate(depths):
            if i:
                layers += [nn.BatchNorm2d(channels), nn.ReLU(),
                           nn.Conv2d(channels, channels // 2, 1, bias=False), nn.AvgPool2d(2)]
                channels //= 2
            for _ in range(depth):
                layers.append(DenseLayer(channels, growth))
                channels += growth
        layers += [nn.BatchNorm2d(channels), nn.ReLU()]
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(channels, classes)

    def forward(self, x):
        x = nn.functional.adaptive_avg_pool2d(self.features(x), 1)
        return self.classifier(x.flatten(1))
