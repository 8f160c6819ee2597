"""Attention and transformers (Vaswani et al. 2017)."""
import copy
import math

from .. import _core
from . import functional as F
from . import init
from .containers import ModuleList
from .layers import LayerNorm, Linear, _new
from .module import Module
from .stateless import Dropout


class MultiheadAttention(Module):
    """Attention of several heads; weights under PyTorch's names (in_proj_weight, ...)."""

    def __init__(self, embed_dim, num_heads, dropout=0.0, bias=True, add_bias_kv=False,
                 add_zero_attn=False, kdim=None, vdim=None, batch_first=False, device=None,
                 dtype=None):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.batch_first, self.head_dim = batch_first, embed_dim // num_heads
        self.kdim, self.vdim = kdim or embed_dim, vdim or embed_dim
        kind = {"dtype": dtype, "device": device}
        self._joined = self.kdim == self.vdim == embed_dim
        if self._joined:
            self.in_proj_weight = _new(3 * embed_dim, embed_dim, **kind)
        else:
            self.q_proj_weight = _new(embed_dim, embed_dim, **kind)
            self.k_proj_weight = _new(embed_dim, self.kdim, **kind)
            self.v_proj_weight = _new(embed_dim, self.vdim, **kind)
        self.register_parameter("in_proj_bias", _new(3 * embed_dim, **kind) if bias else None)
        self.out_proj = Linear(embed_dim, embed_dim, bias, **kind)
        for name in ("bias_k", "bias_v"):
            self.register_parameter(name, _new(1, 1, embed_dim, **kind) if add_bias_kv else None)
        self.add_zero_attn = add_zero_attn
        self.reset_parameters()

    def reset_parameters(self):
        for name, param in self._parameters.items():
            if param is not None and "weight" in name:
                init.xavier_uniform_(param)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    def _project(self, query, key, value):
        """q, k and v: [B, L, E] each."""
        bias = (None,) * 3 if self.in_proj_bias is None else self.in_proj_bias.chunk(3)
        if self._joined and query is key is value:
            return _core.linear(query, self.in_proj_weight, self.in_proj_bias).chunk(3, -1)
        weights = self.in_proj_weight.chunk(3) if self._joined else (
            self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        return [_core.linear(x, w, b) for x, w, b in zip((query, key, value), weights, bias)]

    def _lengthen(self, k, v, masks):
        """Keys and values that every query sees behind the given ones: learned ones, zeros."""
        more = [(self.bias_k, self.bias_v)] if self.bias_k is not None else []
        if self.add_zero_attn:
            more.append([_core.zeros((1, 1, x.size(2)), dtype=x.dtype, device=x.device)
                         for x in (k, v)])
        for pair in more:
            k, v = [_core.cat((x, each.expand(x.size(0), 1, x.size(2))), 1)
                    for x, each in zip((k, v), pair)]
            masks = [_seen_behind(mask) for mask in masks]
        return k, v, masks

    def _heads(self, x):
        return x.reshape(x.size(0), x.size(1), self.num_heads, self.head_dim).transpose(1, 2)

    def _mask(self, mask, padding, query):
        """Both masks as one: True takes part, or numbers that are added."""
        batch, heads = query.size(0), self.num_heads
        if mask is not None:
            if mask.ndim == 3:
                mask = mask.reshape(batch, heads, mask.size(-2), mask.size(-1))
            mask = ~mask if mask.dtype is _core.bool_ else mask.to(query.dtype)
        if padding is None:
            return mask
        seen = padding.reshape(batch, 1, 1, padding.size(-1))
        if seen.is_floating_point():
            return seen if mask is None else _added(mask, query) + seen
        seen = ~seen.bool()
        if mask is None:
            return seen
        if mask.dtype is _core.bool_:
            return mask & seen
        return _core.where(seen, mask, -math.inf)

    def forward(self, query, key, value, key_padding_mask=None, need_weights=True, attn_mask=None,
                average_attn_weights=True, is_causal=False):
        """(output, weights or None). Masks: True hides (bool), or numbers to add."""
        batched, same = query.ndim == 3, (query is key, key is value)
        if not batched:
            query, key, value = _alike([x.unsqueeze(0) for x in (query, key, value)], same)
        elif not self.batch_first:
            query, key, value = _alike([x.transpose(0, 1) for x in (query, key, value)], same)
        q, k, v = self._project(query, key, value)
        k, v, masks = self._lengthen(k, v, (attn_mask, key_padding_mask))
        if is_causal and attn_mask is None and k.size(1) != key.size(1):
            raise _core.InvalidArgumentError("Need attn_mask if specifying the is_causal hint")
        mask = self._mask(*masks, query)
        q, k, v = [self._heads(x) for x in (q, k, v)]
        p = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            out, weights = _with_weights(q, k, v, mask, p, is_causal and attn_mask is None)
            weights = weights.mean(1) if average_attn_weights else weights
            weights = weights if batched else weights.squeeze(0)
        else:
            out = F.scaled_dot_product_attention(q, k, v, mask, p, is_causal and mask is None)
        out = out.transpose(1, 2).reshape(query.size(0), query.size(1), self.embed_dim)
        out = self.out_proj(out)
        if not batched:
            return out.squeeze(0), weights
        return (out if self.batch_first else out.transpose(0, 1)), weights


def _alike(views, same):
    """Keeps self-attention recognizable: equal inputs stay one object."""
    q, k, v = views
    return q, q if same[0] else k, (q if same[0] else k) if same[1] else v


def _seen_behind(mask):
    """A mask, or None, with one more key, which nothing hides."""
    if mask is None:
        return None
    seen = _core.zeros((*mask.shape[:-1], 1), dtype=mask.dtype, device=mask.device)
    return _core.cat((mask, seen), -1)


def _added(mask, like):
    """A bool mask as numbers to add."""
    if mask.dtype is not _core.bool_:
        return mask
    zero = _core.zeros((), dtype=like.dtype, device=like.device)
    return _core.where(mask, zero, -math.inf)


def _with_weights(q, k, v, mask, p, is_causal):
    scores = q @ k.transpose(-2, -1) * (1 / math.sqrt(q.size(-1)))
    if is_causal:
        scores = scores + _causal(q.size(-2), q)
    if mask is not None:
        scores = scores + _added(mask, scores)
    weights = scores.softmax(-1)
    weights = F.dropout(weights, p) if p else weights
    return weights @ v, weights


def _causal(n, like):
    rows = _core.arange(n, device=like.device)
    return _added(rows.unsqueeze(0) <= rows.unsqueeze(1), like)


class _Layer(Module):
    """Attentions, then two linear layers: blocks, each with a residual connection and a norm."""

    attentions = ("self_attn",)

    def __init__(self, d_model, nhead, dim_feedforward=2048, dropout=0.1, activation="relu",
                 layer_norm_eps=1e-5, batch_first=False, norm_first=False, device=None,
                 dtype=None):
        super().__init__()
        kind = {"device": device, "dtype": dtype}
        for name in self.attentions:
            setattr(self, name, MultiheadAttention(d_model, nhead, dropout,
                                                   batch_first=batch_first, **kind))
        self.linear1 = Linear(d_model, dim_feedforward, **kind)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **kind)
        self.norm_first = norm_first
        self.activation = {"relu": F.relu, "gelu": F.gelu}[activation] \
            if isinstance(activation, str) else activation
        for i in range(1, len(self.attentions) + 2):
            setattr(self, f"norm{i}", LayerNorm(d_model, layer_norm_eps, **kind))
            setattr(self, f"dropout{i}", Dropout(dropout))

    def _feed(self, x):
        return self.linear2(self.dropout(self.activation(self.linear1(x))))

    def _residual(self, x, i, block):
        norm, dropout = getattr(self, f"norm{i}"), getattr(self, f"dropout{i}")
        return x + dropout(block(norm(x))) if self.norm_first else norm(x + dropout(block(x)))


class TransformerEncoderLayer(_Layer):
    """Self-attention and two linear layers, each with a residual connection and a norm."""

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        def attend(x):
            return self.self_attn(x, x, x, src_key_padding_mask, False, src_mask,
                                  is_causal=is_causal)[0]
        return self._residual(self._residual(src, 1, attend), 2, self._feed)


class TransformerDecoderLayer(_Layer):
    """As the encoder's, with attention to the encoder's result in between."""

    attentions = ("self_attn", "multihead_attn")

    def forward(self, tgt, memory, tgt_mask=None, memory_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None):
        def attend(x):
            return self.self_attn(x, x, x, tgt_key_padding_mask, False, tgt_mask)[0]

        def look(x):
            return self.multihead_attn(x, memory, memory, memory_key_padding_mask, False,
                                       memory_mask)[0]
        x = self._residual(self._residual(tgt, 1, attend), 2, look)
        return self._residual(x, 3, self._feed)


class _Stack(Module):
    def __init__(self, layer, num_layers, norm=None, enable_nested_tensor=False):
        super().__init__()
        self.layers = ModuleList(copy.deepcopy(layer) for _ in range(num_layers))
        self.num_layers, self.norm = num_layers, norm


class TransformerEncoder(_Stack):
    """`num_layers` copies of a layer."""

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=False):
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, is_causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(_Stack):
    """`num_layers` copies of a layer."""

    def forward(self, tgt, memory, *masks, **named):
        for layer in self.layers:
            tgt = layer(tgt, memory, *masks, **named)
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """Encoder and decoder."""

    def __init__(self, d_model=512, nhead=8, num_encoder_layers=6, num_decoder_layers=6,
                 dim_feedforward=2048, dropout=0.1, activation="relu", batch_first=False,
                 norm_first=False):
        super().__init__()
        options = {"batch_first": batch_first, "norm_first": norm_first}
        size = (d_model, nhead, dim_feedforward, dropout, activation)
        self.encoder = TransformerEncoder(TransformerEncoderLayer(*size, **options),
                                          num_encoder_layers, LayerNorm(d_model))
        self.decoder = TransformerDecoder(TransformerDecoderLayer(*size, **options),
                                          num_decoder_layers, LayerNorm(d_model))
        for param in self.parameters():
            if param.ndim > 1:
                init.xavier_uniform_(param)

    def forward(self, src, tgt, src_mask=None, tgt_mask=None, memory_mask=None,
                src_key_padding_mask=None, tgt_key_padding_mask=None,
                memory_key_padding_mask=None):
        memory = self.encoder(src, src_mask, src_key_padding_mask)
        return self.decoder(tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask,
                            memory_key_padding_mask)

    @staticmethod
    def generate_square_subsequent_mask(size):
        """-inf above the diagonal, else 0."""
        return _core.full((size, size), -math.inf).triu(1)
