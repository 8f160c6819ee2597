"""Sequences of several lengths in one batch: padded and packed (nn.utils.rnn)."""
import collections

from ... import _core

PackedSequence = collections.namedtuple(
    "PackedSequence", "data batch_sizes sorted_indices unsorted_indices")
PackedSequence.__doc__ = """Steps of sequences sorted by falling length: data [sum of lengths, ..],
batch_sizes[t] sequences have a step t."""


def pad_sequence(sequences, batch_first=False, padding_value=0.0):
    """Sequences [L_i, ..] as one tensor [max L, B, ..] with `padding_value` behind their ends."""
    sequences = list(sequences)
    longest = max(x.size(0) for x in sequences)
    padded = [_core.pad_constant(x, (0, 0) * (x.ndim - 1) + (0, longest - x.size(0)),
                                 float(padding_value)) for x in sequences]
    return _core.stack(padded, 0 if batch_first else 1)


def pack_padded_sequence(input, lengths, batch_first=False, enforce_sorted=True):
    """A padded batch without its padding."""
    lengths = lengths.tolist() if hasattr(lengths, "tolist") else list(lengths)
    if min(lengths) <= 0:
        raise _core.InvalidArgumentError("Length of all samples has to be greater than 0, but "
                                         "found an element in 'lengths' that is <= 0")
    if enforce_sorted and any(a < b for a, b in zip(lengths, lengths[1:])):
        raise _core.InvalidArgumentError("`lengths` array must be sorted in decreasing order when "
                                         "`enforce_sorted` is True")
    x = input.transpose(0, 1) if batch_first else input
    sequences = [x.narrow(0, 0, n).select(1, i) for i, n in enumerate(lengths)]
    return pack_sequence(sequences, enforce_sorted=False)


def pack_sequence(sequences, enforce_sorted=True):
    """Sequences [L_i, ..] packed."""
    sequences = list(sequences)
    lengths = [x.size(0) for x in sequences]
    order = sorted(range(len(lengths)), key=lambda i: -lengths[i])
    if enforce_sorted and order != list(range(len(lengths))):
        raise _core.InvalidArgumentError("sequences must be sorted by falling length when "
                                         "`enforce_sorted` is True")
    back = sorted(range(len(order)), key=order.__getitem__)
    return _pack(sequences, _core.tensor(order), _core.tensor(back))


def _pack(sequences, order, back):
    lengths = [x.size(0) for x in sequences]
    longest = max(lengths)
    sizes = [sum(n > t for n in lengths) for t in range(longest)]
    # Row of step t of a sequence in all sequences laid end to end, in the order of the packing.
    starts = [sum(lengths[:i]) for i in range(len(lengths))]
    ranks = order.tolist()
    rows = [starts[i] + t for t in range(longest) for i in ranks if lengths[i] > t]
    joined = _core.cat(sequences, 0)
    data = joined.index_select(0, _core.tensor(rows, device=joined.device))
    return PackedSequence(data, _core.tensor(sizes), order, back)


def pack_like(sequences, packed):
    """Sequences in their original order, packed as another packing was."""
    return _pack(sequences, packed.sorted_indices, packed.unsorted_indices)


def pad_packed_sequence(sequence, batch_first=False, padding_value=0.0, total_length=None):
    """(padded [T, B, ..], lengths) of a packed sequence, in its original order."""
    sizes = sequence.batch_sizes.tolist()
    lengths = [sum(size > i for size in sizes) for i in range(sizes[0])]
    starts = [sum(sizes[:t]) for t in range(len(sizes))]
    sequences = []
    for i in sequence.unsorted_indices.tolist():
        rows = _core.tensor([starts[t] + i for t in range(lengths[i])],
                            device=sequence.data.device)
        sequences.append(sequence.data.index_select(0, rows))
    padded = pad_sequence(sequences, batch_first, padding_value)
    if total_length is not None:
        dim = 1 if batch_first else 0
        more = total_length - padded.size(dim)
        if more < 0:
            raise _core.InvalidArgumentError(f"Expected total_length to be at least "
                                             f"{padded.size(dim)}, but got {total_length}")
        padded = _core.pad_constant(
            padded, (0, 0) * (padded.ndim - 1 - dim) + (0, more), float(padding_value))
    return padded, _core.tensor([x.size(0) for x in sequences])
