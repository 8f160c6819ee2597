"""Tensors and gradients by hand: polynomials, custom functions, detach, accumulation."""
import math

import numpy as np

import cebus as torch

dtype = torch.float
torch.manual_seed(0)

x = torch.ones(5)
y = torch.zeros(3)
w = torch.randn(5, 3, requires_grad=True)
b = torch.randn(3, requires_grad=True)
z = torch.matmul(x, w) + b
loss = torch.nn.functional.binary_cross_entropy_with_logits(z, y)
print(f"Gradient function for z = {z.grad_fn}")
loss.backward()
print(w.grad, b.grad)
z = torch.matmul(x, w) + b
assert z.requires_grad
with torch.no_grad():
    z = torch.matmul(x, w) + b
assert not z.requires_grad and not z.detach().requires_grad

inp = torch.eye(4, 5, requires_grad=True)
out = (inp + 1).pow(2).t()
out.backward(torch.ones_like(out), retain_graph=True)
first = inp.grad.clone()
out.backward(torch.ones_like(out), retain_graph=True)
assert torch.equal(inp.grad, 2 * first)
inp.grad.zero_()
out.backward(torch.ones_like(out))
assert torch.equal(inp.grad, first)

x = torch.linspace(-math.pi, math.pi, 200, dtype=dtype)
y = torch.sin(x)
a, b, c, d = (torch.randn((), dtype=dtype, requires_grad=True) for _ in range(4))
rate = 2e-5
for t in range(300):
    y_pred = a + b * x + c * x ** 2 + d * x ** 3
    loss = (y_pred - y).pow(2).sum()
    loss.backward()
    with torch.no_grad():
        for p in (a, b, c, d):
            p -= rate * p.grad
            p.grad = None
print(f"Result: y = {a.item()} + {b.item()} x + {c.item()} x^2 + {d.item()} x^3")


class LegendrePolynomial3(torch.autograd.Function):
    @staticmethod
    def forward(ctx, input):
        ctx.save_for_backward(input)
        return 0.5 * (5 * input ** 3 - 3 * input)

    @staticmethod
    def backward(ctx, grad_output):
        input, = ctx.saved_tensors
        return grad_output * 1.5 * (5 * input ** 2 - 1)


P3 = LegendrePolynomial3.apply
v = torch.tensor([0.3, -0.7], dtype=torch.double, requires_grad=True)
assert torch.autograd.gradcheck(P3, (v,), eps=1e-6, atol=1e-4)

p = torch.tensor([1, 2, 3])
xx = x.unsqueeze(-1).pow(p)
model = torch.nn.Sequential(torch.nn.Linear(3, 1), torch.nn.Flatten(0, 1))
loss_fn = torch.nn.MSELoss(reduction="sum")
optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
for t in range(1500):
    loss = loss_fn(model(xx), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item(), model[0].weight[:, 0].item())
assert loss.item() < 60

a = torch.tensor([2., 3.], requires_grad=True)
b = torch.tensor([6., 4.], requires_grad=True)
Q = 3 * a ** 3 - b ** 2
Q.backward(gradient=torch.tensor([1., 1.]))
print(9 * a ** 2 == a.grad)
print(-2 * b == b.grad)

data = [[1, 2], [3, 4]]
x_data = torch.tensor(data)
np_array = np.array(data)
x_np = torch.from_numpy(np_array)
x_ones = torch.ones_like(x_data)
x_rand = torch.rand_like(x_data, dtype=torch.float)
print(f"{x_ones}\n{x_rand}\nShape of tensor: {x_rand.shape} {x_rand.dtype} {x_rand.device}")
tensor = torch.ones(4, 4)
print(f"First row: {tensor[0]}\nLast column: {tensor[..., -1]}")
tensor[:, 1] = 0
t1 = torch.cat([tensor, tensor, tensor], dim=1)
y1 = tensor @ tensor.T
y2 = tensor.matmul(tensor.T)
y3 = torch.rand_like(y1)
torch.matmul(tensor, tensor.T, out=y3)
assert torch.equal(y1, y2) and torch.equal(y1, y3)
z1 = tensor * tensor
z3 = torch.rand_like(tensor)
torch.mul(tensor, tensor, out=z3)
assert torch.equal(z1, z3)
agg = tensor.sum()
print(agg.item(), type(agg.item()))
tensor.add_(5)
n = torch.ones(5).numpy()
print(t1.shape, n, tensor)
