"""A language model: positional encoding, masks, encoder layers, perplexity, sampling."""
import math

import cebus as torch
from cebus import Tensor, nn
from cebus.nn import TransformerEncoder, TransformerEncoderLayer
from cebus.nn import functional as F

torch.manual_seed(0)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, dropout: float = 0.1, max_len: int = 500):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        position = torch.arange(max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
        pe = torch.zeros(max_len, 1, d_model)
        pe[:, 0, 0::2] = torch.sin(position * div_term)
        pe[:, 0, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.pe[:x.size(0)]
        return self.dropout(x)


class TransformerModel(nn.Module):
    def __init__(self, ntoken, d_model, nhead, d_hid, nlayers, dropout=0.1):
        super().__init__()
        self.model_type = "Transformer"
        self.pos_encoder = PositionalEncoding(d_model, dropout)
        layers = TransformerEncoderLayer(d_model, nhead, d_hid, dropout)
        self.transformer_encoder = TransformerEncoder(layers, nlayers)
        self.embedding = nn.Embedding(ntoken, d_model)
        self.d_model = d_model
        self.linear = nn.Linear(d_model, ntoken)
        self.init_weights()

    def init_weights(self) -> None:
        initrange = 0.1
        self.embedding.weight.data.uniform_(-initrange, initrange)
        self.linear.bias.data.zero_()
        self.linear.weight.data.uniform_(-initrange, initrange)

    def forward(self, src: Tensor, src_mask: Tensor = None) -> Tensor:
        src = self.embedding(src) * math.sqrt(self.d_model)
        src = self.pos_encoder(src)
        if src_mask is None:
            src_mask = nn.Transformer.generate_square_subsequent_mask(len(src))
        return self.linear(self.transformer_encoder(src, src_mask))


text = "the quick brown fox jumps over the lazy dog and the dog sleeps " * 40
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text], dtype=torch.long)


def batchify(data: Tensor, bsz: int) -> Tensor:
    seq_len = data.size(0) // bsz
    data = data[:seq_len * bsz]
    return data.view(bsz, seq_len).t().contiguous()


train_data, bptt = batchify(data, 8), 24


def get_batch(source: Tensor, i: int):
    seq_len = min(bptt, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].reshape(-1)


model = TransformerModel(len(chars), 32, 2, 64, 2, 0.1)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / 10))
model.train()
losses = []
for epoch in range(3):
    for i in range(0, train_data.size(0) - 1, bptt):
        inputs, targets = get_batch(train_data, i)
        output = model(inputs)
        loss = criterion(output.view(-1, len(chars)), targets)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
print(f"loss {losses[0]:.2f} -> {losses[-1]:.2f}, ppl {math.exp(losses[-1]):.2f}")
assert losses[-1] < 0.75 * losses[0]

model.eval()
context = torch.tensor([[stoi["t"]]])
with torch.no_grad():
    for _ in range(20):
        logits = model(context)[-1, 0] / 0.8
        top, _ = torch.topk(logits, k=5)
        logits[logits < top[-1]] = -float("inf")
        probabilities = F.softmax(logits, dim=-1)
        following = torch.multinomial(probabilities, num_samples=1)
        context = torch.cat([context, following.unsqueeze(0)], dim=0)
print("".join(chars[int(i)] for i in context[:, 0]))

attention = nn.MultiheadAttention(32, 4, batch_first=True)
q = torch.randn(2, 5, 32)
mask = torch.triu(torch.ones(5, 5, dtype=torch.bool), diagonal=1)
out, weights = attention(q, q, q, attn_mask=mask)
assert out.shape == (2, 5, 32) and weights.shape == (2, 5, 5)
assert torch.allclose(weights.sum(-1), torch.ones(2, 5), atol=1e-5)
