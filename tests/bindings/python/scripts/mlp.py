"""A classifier on random pictures: datasets, loaders, device, train and test loops, saving."""
import os
import tempfile

import cebus as torch
from cebus import nn
from cebus.utils.data import DataLoader, Dataset, random_split

device = "cuda" if torch.cuda.is_available() else "cpu"
torch.manual_seed(0)


class Pictures(Dataset):
    def __init__(self, n, transform=None):
        self.labels = torch.randint(0, 10, (n,))
        self.pictures = torch.rand(n, 1, 28, 28) * 0.3
        for i in range(n):
            row = 2 * int(self.labels[i])
            self.pictures[i, 0, row:row + 4, :] += 1.0
        self.transform = transform

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        picture, label = self.pictures[i], self.labels[i].item()
        return (self.transform(picture) if self.transform else picture), label


data = Pictures(512, transform=lambda x: (x - 0.15) / 0.3)
training, test = random_split(data, [448, 64], generator=torch.Generator().manual_seed(42))
train_loader = DataLoader(training, batch_size=64, shuffle=True, num_workers=2, pin_memory=False)
test_loader = DataLoader(test, batch_size=64)
for X, y in test_loader:
    print(f"Shape of X [N, C, H, W]: {X.shape}")
    print(f"Shape of y: {y.shape} {y.dtype}")
    break


class NeuralNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.flatten = nn.Flatten()
        self.linear_relu_stack = nn.Sequential(
            nn.Linear(28 * 28, 128), nn.ReLU(),
            nn.Linear(128, 128), nn.ReLU(),
            nn.Linear(128, 10))

    def forward(self, x):
        x = self.flatten(x)
        logits = self.linear_relu_stack(x)
        return logits


model = NeuralNetwork().to(device)
print(model)
loss_fn = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=5e-2, momentum=0.9)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)


def train(dataloader, model, loss_fn, optimizer):
    size = len(dataloader.dataset)
    model.train()
    for batch, (X, y) in enumerate(dataloader):
        X, y = X.to(device), y.to(device)
        pred = model(X)
        loss = loss_fn(pred, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if batch % 5 == 0:
            loss, current = loss.item(), (batch + 1) * len(X)
            print(f"loss: {loss:>7f}  [{current:>5d}/{size:>5d}]")


def evaluate(dataloader, model, loss_fn):
    size, batches = len(dataloader.dataset), len(dataloader)
    model.eval()
    test_loss, correct = 0, 0
    with torch.no_grad():
        for X, y in dataloader:
            X, y = X.to(device), y.to(device)
            pred = model(X)
            test_loss += loss_fn(pred, y).item()
            correct += (pred.argmax(1) == y).type(torch.float).sum().item()
    print(f"Accuracy: {100 * correct / size:>0.1f}%, Avg loss: {test_loss / batches:>8f}")
    return correct / size


for epoch in range(4):
    print(f"Epoch {epoch + 1}\n-------------------------------")
    train(train_loader, model, loss_fn, optimizer)
    accuracy = evaluate(test_loader, model, loss_fn)
    scheduler.step()
    print("lr", scheduler.get_last_lr())
assert accuracy > 0.9, accuracy

with tempfile.TemporaryDirectory() as folder:
    path = os.path.join(folder, "model.pth")
    torch.save(model.state_dict(), path)
    again = NeuralNetwork()
    again.load_state_dict(torch.load(path, map_location=device, weights_only=True))
    again.eval()
    x, y = test[0][0], test[0][1]
    with torch.no_grad():
        assert torch.equal(again(x), model.eval()(x))
    checkpoint = {"epoch": 4, "model": model.state_dict(), "optimizer": optimizer.state_dict(),
                  "loss": 0.5}
    torch.save(checkpoint, path)
    loaded = torch.load(path)
    optimizer.load_state_dict(loaded["optimizer"])
    assert loaded["epoch"] == 4

total = sum(p.numel() for p in model.parameters() if p.requires_grad)
for name, param in model.named_parameters():
    print(f"Layer: {name} | Size: {param.size()} | Values : {param[:2]} \n")
print(f"parameters: {total:,}")
