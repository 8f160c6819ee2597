"""The basic example of digits, fine-tuning with groups of parameters, and a vision transformer."""
from __future__ import print_function

import argparse
import copy
import os
import tempfile

import cebus as torch
import cebus.backends.cudnn as cudnn
import cebus.nn as nn
import cebus.nn.functional as F
import cebus.optim as optim
from cebus.optim import lr_scheduler
from cebus.optim.lr_scheduler import StepLR
from cebus.utils.data import DataLoader, Dataset, Subset, random_split

cudnn.benchmark = True


class Stripes(Dataset):
    """Pictures of stripes, by direction."""

    def __init__(self, n, size=28, channels=1, transform=None):
        self.targets = torch.arange(n) % 4
        angle = self.targets.float() * (torch.pi / 4)
        y, x = torch.meshgrid(torch.arange(size).float(), torch.arange(size).float(), indexing="ij")
        wave = torch.cos(angle)[:, None, None] * x + torch.sin(angle)[:, None, None] * y
        self.data = (torch.sin(wave * 0.9) + 0.2 * torch.randn(n, size, size)).unsqueeze(1)
        self.data = self.data.repeat(1, channels, 1, 1)
        self.transform = transform

    def __len__(self):
        return len(self.data)

    def __getitem__(self, idx):
        if torch.is_tensor(idx):
            idx = idx.tolist()
        image, label = self.data[idx], int(self.targets[idx])
        return self.transform(image) if self.transform else image, label


class Net(nn.Module):
    def __init__(self):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(1, 8, 3, 1)
        self.conv2 = nn.Conv2d(8, 16, 3, 1)
        self.dropout1 = nn.Dropout(0.25)
        self.dropout2 = nn.Dropout(0.5)
        self.fc1 = nn.Linear(2304, 32)
        self.fc2 = nn.Linear(32, 4)

    def forward(self, x):
        x = self.conv1(x)
        x = F.relu(x)
        x = self.conv2(x)
        x = F.relu(x)
        x = F.max_pool2d(x, 2)
        x = self.dropout1(x)
        x = torch.flatten(x, 1)
        x = self.fc1(x)
        x = F.relu(x)
        x = self.dropout2(x)
        x = self.fc2(x)
        return F.log_softmax(x, dim=1)


def train(args, model, device, train_loader, optimizer, epoch):
    model.train()
    for batch_idx, (data, target) in enumerate(train_loader):
        data, target = data.to(device), target.to(device)
        optimizer.zero_grad()
        output = model(data)
        loss = F.nll_loss(output, target)
        loss.backward()
        optimizer.step()
        if batch_idx % args.log_interval == 0:
            print("Train Epoch: {} [{}/{} ({:.0f}%)]\tLoss: {:.6f}".format(
                epoch, batch_idx * len(data), len(train_loader.dataset),
                100. * batch_idx / len(train_loader), loss.item()))


def test(model, device, test_loader):
    model.eval()
    test_loss = 0
    correct = 0
    with torch.no_grad():
        for data, target in test_loader:
            data, target = data.to(device), target.to(device)
            output = model(data)
            test_loss += F.nll_loss(output, target, reduction="sum").item()
            pred = output.argmax(dim=1, keepdim=True)
            correct += pred.eq(target.view_as(pred)).sum().item()
    test_loss /= len(test_loader.dataset)
    print("\nTest set: Average loss: {:.4f}, Accuracy: {}/{} ({:.0f}%)\n".format(
        test_loss, correct, len(test_loader.dataset), 100. * correct / len(test_loader.dataset)))
    return correct / len(test_loader.dataset)


def main():
    parser = argparse.ArgumentParser(description="basic example")
    parser.add_argument("--gamma", type=float, default=0.7, metavar="M")
    parser.add_argument("--no-mps", action="store_true", default=False)
    parser.add_argument("--log-interval", type=int, default=4, metavar="N")
    parser.add_argument("--save-model", action="store_true", default=True)
    args = parser.parse_args([])
    use_cuda = torch.cuda.is_available()
    use_mps = not args.no_mps and torch.backends.mps.is_available()
    torch.manual_seed(1)
    device = torch.device("cuda" if use_cuda else "mps" if use_mps else "cpu")
    whole = Stripes(160)
    parts = random_split(whole, [128, 32], generator=torch.Generator().manual_seed(42))
    train_loader = DataLoader(parts[0], batch_size=32, shuffle=True)
    test_loader = DataLoader(parts[1], batch_size=32)
    model = Net().to(device)
    optimizer = optim.Adadelta(model.parameters(), lr=1.0)
    scheduler = StepLR(optimizer, step_size=1, gamma=args.gamma)
    for epoch in range(1, 4):
        train(args, model, device, train_loader, optimizer, epoch)
        accuracy = test(model, device, test_loader)
        scheduler.step()
    assert accuracy > 0.8
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "mnist_cnn.pt")
        torch.save({"epoch": epoch, "model_state_dict": model.state_dict(),
                    "optimizer_state_dict": optimizer.state_dict(),
                    "scheduler": scheduler.state_dict(), "loss": 0.5}, path)
        checkpoint = torch.load(path, map_location=device)
        fresh = Net()
        fresh.load_state_dict(checkpoint["model_state_dict"])
        optimizer.load_state_dict(checkpoint["optimizer_state_dict"])
        scheduler.load_state_dict(checkpoint["scheduler"])
        assert test(fresh, device, test_loader) == accuracy


def train_model(model, dataloaders, criterion, optimizer, scheduler, num_epochs=2):
    best_model_wts = copy.deepcopy(model.state_dict())
    best_acc = 0.0
    for epoch in range(num_epochs):
        for phase in ["train", "val"]:
            if phase == "train":
                model.train()
            else:
                model.eval()
            running_loss, running_corrects, n = 0.0, 0, 0
            for inputs, labels in dataloaders[phase]:
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == "train"):
                    outputs = model(inputs)
                    _, preds = torch.max(outputs, 1)
                    loss = criterion(outputs, labels)
                    if phase == "train":
                        loss.backward()
                        optimizer.step()
                running_loss += loss.item() * inputs.size(0)
                running_corrects += torch.sum(preds == labels.data)
                n += inputs.size(0)
            if phase == "train":
                scheduler.step()
            epoch_acc = running_corrects.double() / n
            print(f"{phase} Loss: {running_loss / n:.4f} Acc: {epoch_acc:.4f}")
            if phase == "val" and epoch_acc > best_acc:
                best_acc = epoch_acc
                best_model_wts = copy.deepcopy(model.state_dict())
    model.load_state_dict(best_model_wts)
    return model


def finetune():
    torch.manual_seed(0)
    data = Stripes(48, 32, 3)
    loaders = {"train": DataLoader(Subset(data, range(32)), batch_size=8, shuffle=True,
                                   num_workers=2, drop_last=True),
               "val": DataLoader(Subset(data, range(32, 48)), batch_size=8)}
    model_ft = torch.models.create("resnet18")
    for param in model_ft.parameters():
        param.requires_grad = False
    last = [name for name, module in model_ft.named_modules() if isinstance(module, nn.Linear)][-1]
    num_ftrs = getattr(model_ft, last).in_features
    setattr(model_ft, last, nn.Linear(num_ftrs, 4))
    head = getattr(model_ft, last)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
    optimizer_ft = optim.SGD([
        {"params": [p for n, p in model_ft.named_parameters() if "norm" in n or "bn" in n],
         "weight_decay": 0.0},
        {"params": head.parameters(), "lr": 1e-2}], lr=1e-3, momentum=0.9, weight_decay=1e-4)
    exp_lr_scheduler = lr_scheduler.MultiStepLR(optimizer_ft, milestones=[1, 2], gamma=0.1)
    before = head.weight.detach().clone()
    model_ft = train_model(model_ft, loaders, criterion, optimizer_ft, exp_lr_scheduler)
    assert not torch.equal(before, getattr(model_ft, last).weight)
    trainable = sum(p.numel() for p in model_ft.parameters() if p.requires_grad)
    assert trainable == 4 * num_ftrs + 4


class Attention(nn.Module):
    def __init__(self, dim, heads=4, dim_head=8, dropout=0.):
        super().__init__()
        inner_dim = dim_head * heads
        self.heads, self.scale = heads, dim_head ** -0.5
        self.norm = nn.LayerNorm(dim)
        self.attend = nn.Softmax(dim=-1)
        self.dropout = nn.Dropout(dropout)
        self.to_qkv = nn.Linear(dim, inner_dim * 3, bias=False)
        self.to_out = nn.Sequential(nn.Linear(inner_dim, dim), nn.Dropout(dropout))

    def forward(self, x):
        x = self.norm(x)
        b, n, _ = x.shape
        qkv = self.to_qkv(x).chunk(3, dim=-1)
        q, k, v = map(lambda t: t.reshape(b, n, self.heads, -1).transpose(1, 2), qkv)
        dots = torch.einsum("bhid,bhjd->bhij", q, k) * self.scale
        attn = self.dropout(self.attend(dots))
        out = torch.matmul(attn, v).transpose(1, 2).flatten(2)
        return self.to_out(out)


class ViT(nn.Module):
    def __init__(self, *, image_size, patch_size, num_classes, dim, depth, heads, mlp_dim):
        super().__init__()
        num_patches = (image_size // patch_size) ** 2
        self.to_patch_embedding = nn.Conv2d(1, dim, patch_size, patch_size)
        self.pos_embedding = nn.Parameter(torch.randn(1, num_patches + 1, dim))
        self.cls_token = nn.Parameter(torch.randn(1, 1, dim))
        self.layers = nn.ModuleList([])
        for _ in range(depth):
            self.layers.append(nn.ModuleList([
                Attention(dim, heads=heads),
                nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, mlp_dim), nn.GELU(),
                              nn.Linear(mlp_dim, dim))]))
        self.mlp_head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, num_classes))

    def forward(self, img):
        x = self.to_patch_embedding(img).flatten(2).transpose(1, 2)
        b, n, _ = x.shape
        x = torch.cat((self.cls_token.expand(b, -1, -1), x), dim=1)
        x += self.pos_embedding[:, :(n + 1)]
        for attn, ff in self.layers:
            x = attn(x) + x
            x = ff(x) + x
        return self.mlp_head(x[:, 0])


def transformer():
    torch.manual_seed(0)
    loader = DataLoader(Stripes(128), batch_size=16, shuffle=True)
    model = ViT(image_size=28, patch_size=7, num_classes=4, dim=32, depth=2, heads=4, mlp_dim=64)
    epochs = 4
    optimizer = optim.AdamW(model.parameters(), lr=3e-3, weight_decay=0.05)
    warmup = lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=4)
    cosine = lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(loader) - 4)
    scheduler = lr_scheduler.SequentialLR(optimizer, [warmup, cosine], milestones=[4])
    losses = []
    for _ in range(epochs):
        for img, label in loader:
            loss = nn.functional.cross_entropy(model(img), label)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
            optimizer.step()
            scheduler.step()
            losses.append(loss.item())
    print(losses[0], losses[-1], scheduler.get_last_lr())
    assert losses[-1] < losses[0] and scheduler.get_last_lr()[0] < 1e-6


if __name__ == "__main__":
    main()
    finetune()
    transformer()
