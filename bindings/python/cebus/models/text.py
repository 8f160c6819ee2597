"""Transformers over text: GPT-2 style and BERT."""
from .. import _core, nn


class Block(nn.Module):
    """Attention and two linear layers; norms before (GPT-2) or after (BERT) each."""

    def __init__(self, width, heads, dropout, causal):
        super().__init__()
        self.heads, self.causal, self.p = heads, causal, dropout
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def attend(self, x):
        batch, length, width = x.shape
        parts = self.qkv(x).reshape(batch, length, 3, self.heads, width // self.heads)
        q, k, v = parts.permute(2, 0, 3, 1, 4).unbind(0)
        x = nn.functional.scaled_dot_product_attention(
            q, k, v, dropout_p=self.p if self.training else 0.0, is_causal=self.causal)
        return self.dropout(self.out(x.transpose(1, 2).reshape(batch, length, width)))

    def feed(self, x):
        x = self.up(x)
        kind = "tanh" if self.causal else "none"
        return self.dropout(self.down(nn.functional.gelu(x, approximate=kind)))

    def forward(self, x):
        if self.causal:
            x = x + self.attend(self.norm1(x))
            return x + self.feed(self.norm2(x))
        x = self.norm1(x + self.attend(x))
        return self.norm2(x + self.feed(x))


class GPT(nn.Module):
    """GPT-2 (Radford et al. 2019); the head is the table of symbols. GPT-2 small by default."""

    def __init__(self, vocabulary=50257, length=1024, width=768, depth=12, heads=12, dropout=0.1):
        super().__init__()
        self.symbols, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(Block(width, heads, dropout, True) for _ in range(depth))
        self.norm, self.dropout = nn.LayerNorm(width), nn.Dropout(dropout)
        for table in (self.symbols, self.places):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, symbols):
        places = _core.arange(symbols.size(1), device=symbols.device)
        x = self.dropout(self.symbols(symbols) + self.places(places))
        for block in self.blocks:
            x = block(x)
        return _core.linear(self.norm(x), self.symbols.weight)

    def loss(self, symbols, targets):
        """Mean of -log p of the next symbols."""
        return nn.functional.cross_entropy(self(symbols).flatten(0, 1), targets.reshape(-1))


class BERT(nn.Module):
    """BERT (Devlin et al. 2019) with both tasks of its pre-training. BERT-base by default."""

    def __init__(self, vocabulary=30522, length=512, width=768, depth=12, heads=12, dropout=0.1):
        super().__init__()
        self.symbols, self.places = nn.Embedding(vocabulary, width), nn.Embedding(length, width)
        self.sentences, self.norm = nn.Embedding(2, width), nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(width, heads, dropout, False) for _ in range(depth))
        self.transform, self.transform_norm = nn.Linear(width, width), nn.LayerNorm(width)
        self.bias = nn.Parameter(_core.zeros(vocabulary))
        self.pooler, self.following = nn.Linear(width, width), nn.Linear(width, 2)
        for table in (self.symbols, self.places, self.sentences):
            nn.init.normal_(table.weight, std=0.02)

    def forward(self, symbols, sentences):
        """[N, L, width] of symbols and the number of the sentence each belongs to."""
        places = _core.arange(symbols.size(1), device=symbols.device)
        x = self.symbols(symbols) + self.places(places) + self.sentences(sentences)
        x = self.dropout(self.norm(x))
        for block in self.blocks:
            x = block(x)
        return x

    def loss(self, symbols, sentences, masked, targets, following):
        """Of the symbols at `masked` (indices of the rows laid end to end) and of whether the
        second sentence is the next."""
        x = self(symbols, sentences)
        rows = x.flatten(0, 1).index_select(0, masked)
        rows = self.transform_norm(nn.functional.gelu(self.transform(rows)))
        logits = _core.linear(rows, self.symbols.weight, self.bias)
        first = self.following(self.pooler(x[:, 0]).tanh())
        return nn.functional.cross_entropy(logits, targets) \
            + nn.functional.cross_entropy(first, following)
