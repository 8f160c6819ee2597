"""Super-resolution, an encoder and decoder with unpooling, volumes, and labels without places."""
import cebus as torch
import cebus.nn as nn
import cebus.nn.functional as F
import cebus.nn.init as init
from cebus import optim

torch.manual_seed(5)


class SuperResolutionNet(nn.Module):
    def __init__(self, upscale_factor, inplace=False):
        super(SuperResolutionNet, self).__init__()
        self.relu = nn.ReLU(inplace=inplace)
        self.conv1 = nn.Conv2d(1, 16, (5, 5), (1, 1), (2, 2))
        self.conv2 = nn.Conv2d(16, 8, (3, 3), (1, 1), (1, 1))
        self.conv3 = nn.Conv2d(8, upscale_factor ** 2, (3, 3), (1, 1), (1, 1))
        self.pixel_shuffle = nn.PixelShuffle(upscale_factor)
        self._initialize_weights()

    def forward(self, x):
        x = self.relu(self.conv1(x))
        x = self.relu(self.conv2(x))
        return self.pixel_shuffle(self.conv3(x))

    def _initialize_weights(self):
        init.orthogonal_(self.conv1.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv2.weight, init.calculate_gain("relu"))
        init.orthogonal_(self.conv3.weight)


grid = torch.linspace(0, 6.28, 32)
images = torch.stack([torch.outer(torch.sin(grid * k), torch.cos(grid * k)) for k in (1, 2, 3, 4)])
images = images.unsqueeze(1)
small = F.interpolate(images, scale_factor=0.5, mode="bicubic", align_corners=False)
model = SuperResolutionNet(upscale_factor=2)
criterion = nn.MSELoss()
optimizer = optim.Adam(model.parameters(), lr=5e-3)
losses = []
for epoch in range(30):
    optimizer.zero_grad()
    loss = criterion(model(small), images)
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
psnr = 10 * torch.log10(1 / torch.tensor(losses[-1]))
print("PSNR", psnr.item())
assert losses[-1] < 0.5 * losses[0]


class SegNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.pool = nn.MaxPool2d(2, stride=2, return_indices=True)
        self.unpool = nn.MaxUnpool2d(2, stride=2)
        self.down = nn.Sequential(nn.Conv2d(1, 8, 3, padding=1), nn.InstanceNorm2d(8), nn.ELU())
        self.up = nn.Sequential(nn.ReflectionPad2d(1), nn.utils.weight_norm(nn.Conv2d(8, 2, 3)))

    def forward(self, x):
        x = self.down(x)
        size = x.size()
        x, indices = self.pool(x)
        return self.up(self.unpool(x, indices, output_size=size))


model = SegNet()
labels = (images > 0).long().squeeze(1)
optimizer = optim.NAdam(model.parameters(), lr=1e-2)
weights = torch.tensor([0.4, 0.6])
losses = []
for _ in range(20):
    loss = F.cross_entropy(model(images), labels, weight=weights)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    losses.append(loss.item())
print("segmentation", losses[0], losses[-1])
assert losses[-1] < 0.7 * losses[0]

net3d = nn.Sequential(
    nn.Conv3d(1, 4, kernel_size=3, stride=(1, 2, 2), padding=1, bias=False), nn.BatchNorm3d(4),
    nn.ReLU(inplace=True), nn.MaxPool3d(kernel_size=2), nn.Dropout3d(0.1),
    nn.AdaptiveAvgPool3d((1, 1, 1)), nn.Flatten(), nn.LazyLinear(2))
clips = torch.randn(8, 1, 4, 12, 12)
clips[::2] += 1.5
target = torch.arange(8) % 2
optimizer = optim.RAdam(net3d.parameters(), lr=0.05)
for _ in range(15):
    loss = nn.CrossEntropyLoss()(net3d(clips), target)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("clips", loss.item(), net3d)
assert loss.item() < 0.6 and isinstance(net3d[-1], nn.Linear)


class Speech(nn.Module):
    def __init__(self, n_class=5):
        super().__init__()
        self.conv = nn.Conv1d(3, 16, 3, padding="same")
        self.lstm = nn.LSTM(16, 16, bidirectional=True, batch_first=True)
        self.fc = nn.Linear(32, n_class)

    def forward(self, x):
        x = F.hardtanh(self.conv(x), 0, 20).transpose(1, 2)
        x, _ = self.lstm(x)
        return F.log_softmax(self.fc(x), dim=2).transpose(0, 1)


texts = torch.randint(1, 5, (6, 4))
sounds = F.one_hot(texts, 5)[:, :, 1:4].float().repeat_interleave(3, 1).transpose(1, 2)
model, ctc = Speech(), nn.CTCLoss(blank=0, zero_infinity=True)
optimizer = optim.Adamax(model.parameters(), lr=0.02)
lengths = torch.full((6,), 12, dtype=torch.long)
losses = []
for _ in range(40):
    out = model(sounds)
    loss = ctc(out, texts, lengths, torch.full((6,), 4, dtype=torch.long))
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    losses.append(loss.item())
print("speech", losses[0], losses[-1])
assert losses[-1] < 0.3 * losses[0]

theta = nn.Parameter(torch.tensor([[[1., 0., 0.3], [0., 1., -0.2]]]))
optimizer, picture = optim.Rprop([theta], lr=0.02), images[:1]
for _ in range(25):
    where_to = F.affine_grid(theta, list(picture.size()), align_corners=False)
    loss = F.mse_loss(F.grid_sample(picture, where_to, align_corners=False), picture)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("registration", loss.item(), theta.data)
assert loss.item() < 0.05
disc = nn.utils.spectral_norm(nn.Linear(8, 8))
for _ in range(30):
    disc(torch.randn(2, 8))
assert abs(torch.linalg.matrix_norm(disc.weight, 2).item() - 1) < 0.02
