"""A variational autoencoder and a small GAN: two optimizers, labels, detach, transposed convs."""
import cebus as torch
import cebus.nn as nn
import cebus.nn.functional as F

torch.manual_seed(999)
real = torch.sigmoid(torch.randn(64, 1, 16, 16) + torch.linspace(-2, 2, 16).view(1, 1, 16, 1))


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(256, 64)
        self.fc21, self.fc22 = nn.Linear(64, 8), nn.Linear(64, 8)
        self.fc3, self.fc4 = nn.Linear(8, 64), nn.Linear(64, 256)

    def encode(self, x):
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        eps = torch.randn_like(std)
        return mu + eps * std

    def forward(self, x):
        mu, logvar = self.encode(x.view(-1, 256))
        z = self.reparameterize(mu, logvar)
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z)))), mu, logvar


vae = VAE()
optimizer = torch.optim.Adam(vae.parameters(), lr=1e-3)
history = []
for _ in range(30):
    optimizer.zero_grad()
    recon, mu, logvar = vae(real)
    bce = F.binary_cross_entropy(recon, real.view(-1, 256), reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
    loss = bce + kld
    loss.backward()
    optimizer.step()
    history.append(loss.item() / len(real))
print(history[0], history[-1])
assert history[-1] < history[0]


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find("Conv") != -1:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif classname.find("BatchNorm") != -1:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


netG = nn.Sequential(
    nn.ConvTranspose2d(16, 16, 4, 1, 0, bias=False), nn.BatchNorm2d(16), nn.ReLU(True),
    nn.ConvTranspose2d(16, 8, 4, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(True),
    nn.ConvTranspose2d(8, 1, 4, 2, 1, bias=False), nn.Tanh())
netD = nn.Sequential(
    nn.Conv2d(1, 8, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(8, 16, 4, 2, 1, bias=False), nn.BatchNorm2d(16), nn.LeakyReLU(0.2, inplace=True),
    nn.Conv2d(16, 1, 4, 1, 0, bias=False), nn.Sigmoid())
netG.apply(weights_init)
netD.apply(weights_init)
criterion = nn.BCELoss()
fixed_noise = torch.randn(8, 16, 1, 1)
optimizerD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizerG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999))
for i in range(5):
    netD.zero_grad()
    b_size = real.size(0)
    label = torch.full((b_size,), 1., dtype=torch.float)
    output = netD(real * 2 - 1).view(-1)
    errD_real = criterion(output, label)
    errD_real.backward()
    D_x = output.mean().item()
    noise = torch.randn(b_size, 16, 1, 1)
    fake = netG(noise)
    label.fill_(0.)
    output = netD(fake.detach()).view(-1)
    errD_fake = criterion(output, label)
    errD_fake.backward()
    errD = errD_real + errD_fake
    optimizerD.step()
    netG.zero_grad()
    label.fill_(1.)
    errG = criterion(netD(fake).view(-1), label)
    errG.backward()
    optimizerG.step()
    print(f"[{i}] Loss_D: {errD.item():.4f} Loss_G: {errG.item():.4f} D(x): {D_x:.4f}")
with torch.no_grad():
    fake = netG(fixed_noise).detach().cpu()
assert fake.shape == (8, 1, 16, 16) and bool(torch.isfinite(fake).all())
