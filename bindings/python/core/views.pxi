# Views and indexing.

cdef Tensor selected(Tensor x, int dim, int64_t index):
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    if forked:
        refuse_fork()
    with nogil:
        status = cebus_select(x.rt, x.handle, dim, index, &out)
    if status:
        refuse_index(x, dim, index, status)
    return wrap(out, x.rt)


cdef int refuse_index(Tensor x, int dim, int64_t index, cebus_status status) except -1:
    cdef int64_t length = cebus_tensor_size(x.handle, dim)
    if cebus_tensor_ndim(x.handle) == 0:
        raise OutOfRangeError("invalid index of a 0-dim tensor. Use `tensor.item()`")
    if length >= 0 and not -length <= index < length:
        raise OutOfRangeError(f"index {index} is out of bounds for dimension {dim} with size "
                              f"{length}")
    return fail(status)


cdef Tensor sliced(Tensor x, int dim, int64_t start, int64_t stop, int64_t step):
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    with nogil:
        status = cebus_slice(x.rt, x.handle, dim, start, stop, step, &out)
    if status:
        fail(status)
    return wrap(out, x.rt)


cdef Tensor squeezed(Tensor x, object dims):
    cdef int n = cebus_tensor_ndim(x.handle)
    wanted = range(n) if dims is None else [wrapped_dim(x, dim) for dim in dims]
    for dim in sorted(wanted, reverse=True):
        if cebus_tensor_size(x.handle, dim) == 1:
            x = along(x, dim, cebus_squeeze)
    return x if cebus_tensor_ndim(x.handle) < n else x.reshape(x.shape)


cdef Tensor flattened(Tensor x, int start, int end):
    cdef int first = wrapped_dim(x, start), last = wrapped_dim(x, end)
    shape = list(x.shape)
    if first > last:
        raise InvalidArgumentError("flatten() has invalid args: start_dim cannot come after "
                                   "end_dim")
    if first == last and shape:
        return x
    length = Size(shape[first:last + 1]).numel()
    return x.reshape(shape[:first] + [length] + shape[last + 1:])


cdef tuple split_into(Tensor x, object size, int dim):
    cdef int64_t length = x.size(dim), start = 0
    if isinstance(size, int):
        if size <= 0:
            raise InvalidArgumentError(f"split expects split_size be positive, but got {size}")
        sizes = [min(size, length - at) for at in range(0, max(length, 1), size)]
    else:
        sizes = list(size)
        if sum(sizes) != length or any([each < 0 for each in sizes]):
            raise ShapeError(f"split: sizes {sizes} must add up to {length}, the length of "
                             f"dimension {dim}")
    pieces = []
    for each in sizes:
        pieces.append(sliced(x, dim, start, start + each, 1))
        start += each
    return tuple(pieces)


cdef bint stays_in_place(const cebus_view *x, const cebus_view *out):
    """Whether `out` may be a view of x: each run of dimensions that lie without gaps is cut up
    anew by whole dimensions of `out`."""
    cdef int64_t lengths[8]
    cdef int64_t strides[8]
    cdef int64_t run = 1, covered = 1, base
    cdef int at = out.ndim - 1, n = 0
    for i in range(x.ndim):
        if x.shape[i] != 1:  # others may have any stride
            lengths[n], strides[n] = x.shape[i], x.strides[i]
            n += 1
    base = strides[n - 1] if n else 1
    for i in reversed(range(n)):
        run *= lengths[i]
        if i > 0 and strides[i - 1] == run * base:
            continue
        while at >= 0 and (covered < run or out.shape[at] == 1):
            covered *= out.shape[at]
            at -= 1
        if covered != run:
            return False
        if i > 0:
            run, covered, base = 1, 1, strides[i - 1]
    return True


cdef bint is_view(Tensor x, Tensor out):
    return cebus_tensor_is_contiguous(x.handle) or cebus_tensor_numel(x.handle) == 0 \
        or stays_in_place(cebus_tensor_view(x.handle), cebus_tensor_view(out.handle))


cdef Tensor view_anew(Tensor x, tuple shape):
    """Of a tensor that is not laid out for it. PyTorch's convolutions answer in the order of the
    dimensions, so programs view what they make. What others show stays as it is: writes to a copy
    would go astray."""
    cdef cebus_status status
    with nogil:
        status = cebus_tensor_straighten(x.handle)
    if status:
        fail(status)
    if cebus_tensor_is_contiguous(x.handle):
        return x.reshape(*shape)
    raise ShapeError("view size is not compatible with input tensor's size and stride (at least "
                     "one dimension spans across two contiguous subspaces). "
                     "Use .reshape(...) instead.")


# --- indexing ---------------------------------------------------------------------------------

cdef int consumed(object item) except -1:
    """How many dimensions of the input an index uses up."""
    if item is None or item is Ellipsis or isinstance(item, bool):
        return 0
    if isinstance(item, Tensor) and (<Tensor>item).code() in (CEBUS_BOOL, CEBUS_U8):
        return cebus_tensor_ndim((<Tensor>item).handle)
    return 1


cdef object index_item(Tensor x, object item):
    """Lists and arrays become tensors; whole numbers of any kind become int."""
    if item is None or item is Ellipsis or isinstance(item, (int, slice)):
        return item
    if not isinstance(item, Tensor):
        if not hasattr(item, "__len__") and hasattr(item, "__index__"):
            return item.__index__()
        if not isinstance(item, (list, tuple, range)) and not hasattr(item, "__array__"):
            raise OutOfRangeError("only integers, slices (`:`), ellipsis (`...`), None and long or "
                                  f"bool tensors are valid indices, not {type(item).__name__}")
        item = tensor(list(item) if isinstance(item, range) else item, device=x.device)
        if item.numel() == 0:
            item = item.long()
    if (<Tensor>item).code() <= CEBUS_BF16:
        raise OutOfRangeError("tensors used as indices must be long, byte or bool tensors")
    if cebus_tensor_ndim((<Tensor>item).handle) == 0:
        return bool(item) if (<Tensor>item).code() in (CEBUS_BOOL, CEBUS_U8) else int(item)
    return item


cdef bint is_key_list(object key):
    """A short list stands for a tuple where it holds more than numbers, as in PyTorch."""
    if not isinstance(key, list) or len(key) >= 32:
        return False
    return any([item is None or item is Ellipsis or isinstance(item, slice)
                or isinstance(item, Tensor) or hasattr(item, "__len__") for item in key])


cdef tuple key_items(Tensor x, object key):
    """The key as a tuple without Ellipsis."""
    key = key if isinstance(key, tuple) else (tuple(key) if is_key_list(key) else (key,))
    items = [index_item(x, item) for item in key]
    used = sum([consumed(item) for item in items])
    ellipses = [i for i, item in enumerate(items) if item is Ellipsis]
    if len(ellipses) > 1:
        raise OutOfRangeError("an index can only have a single ellipsis ('...')")
    if used > cebus_tensor_ndim(x.handle):
        raise OutOfRangeError(f"too many indices for tensor of dimension {x.ndim}")
    fill = [slice(None)] * (cebus_tensor_ndim(x.handle) - used)
    at = ellipses[0] if ellipses else len(items)
    return tuple(items[:at] + fill + items[at + 1:])


cdef Tensor slice_by(Tensor x, int dim, object item):
    step = 1 if item.step is None else _index(item.step)
    if step <= 0:
        raise InvalidArgumentError("step must be greater than zero")
    start, stop, step = item.indices(cebus_tensor_size(x.handle, dim))
    return sliced(x, dim, start, max(start, stop), step)


cdef tuple view_by(Tensor x, object key, bint written):
    """(view, advanced): what slices, numbers and None make of x, and the list of
    (dimension of the view, index tensor, whether it is known to be within bounds). What is not to
    be `written` may be a copy."""
    cdef int dim = 0
    advanced = []
    for item in key_items(x, key):
        if item is None:
            x = along(x, dim, cebus_unsqueeze)
            dim += 1
        elif isinstance(item, bool):
            x = along(x, dim, cebus_unsqueeze)
            advanced.append((dim, zeros((1 if item else 0,), dtype=int64, device=x.device), True))
            dim += 1
        elif isinstance(item, int):
            x = selected(x, dim, item)
        elif isinstance(item, slice):
            if item != slice(None):
                x = slice_by(x, dim, item)
            dim += 1
        else:
            x, n = advance(x, dim, item, advanced, written)
            dim += n
    return x, advanced


cdef bint merges(tuple shape, tuple strides):
    """Whether dimensions of these lengths can be seen as one."""
    cdef object next = None
    for length, stride in zip(reversed(shape), reversed(strides)):
        if length == 1:
            continue
        if next is not None and stride != next:
            return False
        next = length * stride
    return True


cdef tuple advance(Tensor x, int dim, Tensor item, list advanced, bint written):
    """Notes an index tensor: (view, how many dimensions it stands for there). Those of a mask
    become one, or, where that would be a copy that is `written` in vain, have an index each."""
    cdef int n = cebus_tensor_ndim(item.handle)
    if item.code() not in (CEBUS_BOOL, CEBUS_U8):
        advanced.append((dim, cast(item, CEBUS_I64), False))
        return x, 1
    shape = list(x.shape)
    if shape[dim:dim + n] != list(item.shape):
        raise OutOfRangeError(f"The shape of the mask {list(item.shape)} does not match the shape "
                              f"of the indexed tensor {shape} at dimension {dim}")
    if written and not merges(tuple(item.shape), tuple(x.stride())[dim:dim + n]):
        advanced += [(dim + i, each, True) for i, each in enumerate(nonzero(item, as_tuple=True))]
        return x, n
    if n > 1:
        x = x.reshape(shape[:dim] + [Size(item.shape).numel()] + shape[dim + n:])
    advanced.append((dim, positions_of(item), True))
    return x, 1


cdef Tensor positions_of(Tensor mask):
    """Row-major positions of what is not zero; known on the host alone."""
    cdef bytes data = host_bytes(cast(mask, CEBUS_BOOL))
    cdef const unsigned char *flags = data
    cdef int64_t n = len(data), count = 0
    cdef int64_t *found = <int64_t *>PyMem_Malloc(max(n, 1) * sizeof(int64_t))
    cdef cebus_tensor *out = NULL
    cdef cebus_status status
    if found == NULL:
        raise MemoryError()
    with nogil:
        for i in range(n):
            found[count] = i
            count += flags[i] != 0
        status = cebus_tensor_from_host(mask.rt, found, CEBUS_I64, 1, &count, &out)
    PyMem_Free(found)
    if status:
        fail(status)
    return wrap(out, mask.rt)


def nonzero(Tensor x, *, as_tuple=False):
    """Indices of what is not zero: [count, ndim], or a tuple with one tensor a dimension."""
    shape = tuple(x.shape) or (1,)
    if x.numel() == 0:
        none = zeros((0,), dtype=int64, device=x.device)
        return tuple([none] * len(shape)) if as_tuple else \
            zeros((0, x.ndim), dtype=int64, device=x.device)
    rest, columns = positions_of(x if x.code() == CEBUS_BOOL else x != 0), []
    for length in shape[:0:-1]:
        quotient = divide(rest, length, "floor")
        columns.append(rest - quotient * length)
        rest = quotient
    columns = (columns + [rest])[::-1]
    if as_tuple:
        return tuple(columns)
    return stack(columns, 1) if x.ndim else zeros((rest.numel(), 0), dtype=int64)


cdef Tensor within(Tensor index, int64_t length, bint known):
    """The index with negative ones counted from the end."""
    if known:
        return index
    if index.numel() and (int(index.max()) >= length or int(index.min()) < -length):
        bad = index.max() if int(index.max()) >= length else index.min()
        raise OutOfRangeError(f"index {int(bad)} is out of bounds for dimension with size {length}")
    return where(index < 0, index + length, index)


cdef Tensor take(Tensor x, list advanced):
    """Reads at index tensors: their dimensions become one, indexed by one linear index."""
    cdef Tensor index = None
    dims = [dim for dim, _, _ in advanced]
    shape = list(x.shape)
    adjacent = dims == list(range(dims[0], dims[0] + len(dims)))
    place = dims[0] if adjacent else 0
    if len(dims) > 1:
        rest = [dim for dim in range(len(shape)) if dim not in dims]
        x = x.permute(rest[:place] + dims + rest[place:])
    for dim, each, known in advanced:
        each = within(each, shape[dim], known)
        index = each if index is None else beside_index(index * shape[dim], each, advanced)
    joined = [shape[dim] for dim in range(len(shape)) if dim not in dims]
    x = x.reshape(joined[:place] + [Size([shape[dim] for dim in dims]).numel()] + joined[place:])
    taken = x.index_select(place, index.reshape(-1))
    return taken.reshape(joined[:place] + list(index.shape) + joined[place:])


cdef Tensor beside_index(Tensor index, Tensor other, list advanced):
    """Their sum."""
    try:
        return index + other
    except ShapeError:
        shapes = ", ".join([str(list(each.shape)) for _, each, _ in advanced])
        raise OutOfRangeError("shape mismatch: indexing tensors could not be broadcast together "
                              f"with shapes {shapes}") from None


cdef object get_item(Tensor x, object key):
    view, advanced = view_by(x, key, False)
    if advanced:
        return take(view, advanced)
    return x.reshape(x.shape) if view is x else view


cdef int set_item(Tensor x, object key, object value) except -1:
    cdef Tensor view
    if isinstance(key, Tensor) and key.dtype is bool_ and key.shape == x.shape \
            and (not isinstance(value, Tensor) or value.numel() == 1):
        value = value if isinstance(value, Tensor) else number_tensor(value, x)
        copy_into(x, where(key, cast(value, x.code()), x))
        return 0
    view, advanced = view_by(x, key, True)
    if advanced:
        put(view, advanced, value)
    elif isinstance(value, (int, float)) and exact_in_double(value):
        write_number(view, value, cebus_fill_)
    else:
        copy_into(view, value)
    return 0


cdef int put(Tensor view, list advanced, object value) except -1:
    """Writes at index tensors."""
    cdef Tensor flat = view.reshape(-1), new
    count = cebus_tensor_numel(view.handle)
    positions = take(arange(count, device=view.device).reshape(view.shape), advanced)
    values = value if isinstance(value, Tensor) else \
        tensor(value, dtype=float64 if isinstance(value, float) else None, device=view.device)
    if values.ndim > positions.ndim:  # lengths of 1 in front, as PyTorch has them
        values = values.reshape([n for d, n in enumerate(values.shape)
                                 if n != 1 or d >= values.ndim - positions.ndim])
    if values.numel() == 1 and not values.requires_grad:
        new = where(times_written(flat, 0, positions.reshape(-1)) != 0,
                    cast(values.reshape(()), view.code()), flat)
    else:
        new = written(flat, 0, positions.reshape(-1), values.expand(positions.shape).reshape(-1),
                      all([known for _, _, known in advanced]))
    copy_into(view, new.reshape(view.shape))
    return 0


cdef Tensor times_written(Tensor x, int dim, Tensor index):
    """How many positions of `index` name each element of x."""
    return zeros(x.shape, dtype=int32, device=x.device).scatter_add(
        dim, index, ones(index.shape, dtype=int32, device=x.device))


cdef Tensor written(Tensor x, int dim, Tensor index, Tensor source, bint different):
    """A copy of x with `source` at the positions that `index` names along `dim`, which are known
    to be `different`, or among equal ones of which the last wins. The gradient of an element of
    x goes to all that were written there, as in PyTorch."""
    # The library adds no bool and no u8. -0 is the zero that changes nothing it is added to.
    cdef int code = CEBUS_I32 if x.code() in (CEBUS_BOOL, CEBUS_U8) else x.code()
    times, values = times_written(x, dim, index), cast(source, code)
    repeated = not different and index.numel() > 1 and int(times.max()) > 1
    if repeated:
        values = last_alone(x, dim, index, values)
    out = full(x.shape, -0.0 if code <= CEBUS_BF16 else 0, dtype=dtypes[code], device=x.device)
    out = out.scatter_add(dim, index, values)
    if not different and not repeated and code <= CEBUS_BF16:
        # Nothing here. A capture may be launched with indices that repeat what they bring.
        out = out / cast(times.clamp(min=1), code)
    return where(times != 0, cast(out, x.code()), x)


cdef Tensor last_alone(Tensor x, int dim, Tensor index, Tensor values):
    """Zeros in the place of the values that a later one overwrites; their gradients stay."""
    places = arange(x.numel(), device=x.device).reshape(x.shape)
    for d in range(x.ndim):
        if d != wrapped_dim(x, dim):
            places = places.narrow(d, 0, index.size(d))
    last = {at: i for i, at in enumerate(places.gather(dim, index).reshape(-1).tolist())}
    stays = [False] * index.numel()
    for i in last.values():
        stays[i] = True
    nothing = zeros((), dtype=values.dtype, device=x.device)
    if values.requires_grad:
        finite = where(values.detach().abs() < float("inf"), values, nothing)
        nothing = finite - finite.detach()
    return where(tensor(stays, device=x.device).reshape(index.shape), values, nothing)


def _written(Tensor x, int dim, Tensor index, Tensor source):
    """A copy of x with `source` at `index` along `dim`; of equal positions the last wins."""
    return written(x, dim, index, source, False)
