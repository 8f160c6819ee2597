"""A convolutional network with batch norm and dropout, weight init, hooks, gradient clipping."""
import time

import cebus as torch
import cebus.nn as nn
import cebus.nn.functional as F
import cebus.optim as optim
from cebus.optim.lr_scheduler import CosineAnnealingLR, ReduceLROnPlateau
from cebus.utils.data import DataLoader, TensorDataset

torch.manual_seed(1)
torch.backends.cudnn.benchmark = True
device = torch.device("cuda:0" if torch.cuda.is_available() else "cpu")
print(device)


class Net(nn.Module):
    def __init__(self, classes=4):
        super(Net, self).__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.pool = nn.MaxPool2d(2, 2)
        self.conv2 = nn.Conv2d(8, 16, kernel_size=3, stride=1, padding="same", bias=False)
        self.bn2 = nn.BatchNorm2d(16)
        self.drop = nn.Dropout2d(p=0.1)
        self.avg = nn.AdaptiveAvgPool2d((2, 2))
        self.fc1 = nn.Linear(16 * 2 * 2, 32)
        self.fc2 = nn.Linear(32, classes)
        self.register_buffer("mean", torch.zeros(1, 3, 1, 1))
        self.apply(self._init_weights)

    def _init_weights(self, m):
        if isinstance(m, (nn.Conv2d, nn.Linear)):
            nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")
            if m.bias is not None:
                nn.init.constant_(m.bias, 0)
        elif isinstance(m, nn.BatchNorm2d):
            nn.init.ones_(m.weight)
            nn.init.zeros_(m.bias)

    def forward(self, x):
        x = x - self.mean
        x = self.pool(F.relu(self.bn1(self.conv1(x))))
        x = self.drop(self.pool(F.leaky_relu(self.bn2(self.conv2(x)), 0.1, inplace=True)))
        x = torch.flatten(self.avg(x), 1)
        x = F.relu(self.fc1(x))
        x = F.dropout(x, p=0.1, training=self.training)
        return F.log_softmax(self.fc2(x), dim=1)


n = 256
labels = torch.arange(n) % 4
images = torch.randn(n, 3, 16, 16) * 0.5
images[labels == 1, 0] += 1
images[labels == 2, 1] += 1
images[labels == 3, 2] += 1
loader = DataLoader(TensorDataset(images, labels), batch_size=32, shuffle=True, drop_last=True)

net = Net().to(device)
activations = {}


def save(name):
    def hook(module, inputs, output):
        activations[name] = output.detach()
    return hook


handle = net.conv1.register_forward_hook(save("conv1"))
gradients = []
backward_handle = net.fc2.register_full_backward_hook(
    lambda module, grad_in, grad_out: gradients.append(grad_out[0].norm().item()))
criterion = nn.NLLLoss(reduction="mean")
optimizer = optim.Adam([{"params": net.fc2.parameters(), "lr": 5e-3},
                        {"params": [p for n, p in net.named_parameters() if "fc2" not in n]}],
                       lr=1e-2, weight_decay=1e-5)
scheduler = CosineAnnealingLR(optimizer, T_max=5)
plateau = ReduceLROnPlateau(optimizer, mode="min", patience=2, factor=0.5)

since, best = time.time(), 0.0
for epoch in range(5):
    running_loss, running_corrects = 0.0, 0
    net.train()
    for i, data in enumerate(loader, 0):
        inputs, targets = data[0].to(device, non_blocking=True), data[1].to(device)
        optimizer.zero_grad(set_to_none=True)
        with torch.set_grad_enabled(True):
            outputs = net(inputs)
            _, preds = torch.max(outputs, 1)
            loss = criterion(outputs, targets)
            loss.backward()
            total_norm = nn.utils.clip_grad_norm_(net.parameters(), max_norm=1.0)
            optimizer.step()
        running_loss += loss.item() * inputs.size(0)
        running_corrects += torch.sum(preds == targets.data)
    scheduler.step()
    plateau.step(running_loss)
    accuracy = running_corrects.double() / len(loader.dataset)
    best = max(best, float(accuracy))
    print(f"[{epoch + 1}] loss {running_loss / n:.3f} acc {accuracy:.4f} norm {total_norm:.2f}")
print(f"done in {time.time() - since:.0f}s, best {best:4f}")
assert best > 0.85
assert activations["conv1"].shape == (32, 8, 16, 16) and len(gradients) == 40
handle.remove()
backward_handle.remove()

net.eval()
for p in net.parameters():
    p.requires_grad = False
net.fc2 = nn.Linear(net.fc2.in_features, 2)
assert [n for n, p in net.named_parameters() if p.requires_grad] == ["fc2.weight", "fc2.bias"]
classes = ("plane", "car")
with torch.inference_mode():
    _, predicted = torch.max(net(images[:4]).data, 1)
    print("Predicted: ", " ".join(f"{classes[predicted[j]]:5s}" for j in range(4)))
print(sum(p.numel() for p in net.parameters()), list(net.state_dict().keys())[:4])
