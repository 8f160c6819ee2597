    # --- operators ----------------------------------------------------------------------------

    def __add__(a, b):
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            return binary(<Tensor>a, <Tensor>b, cebus_add, False)
        if not isinstance(a, Tensor):
            a, b = b, a
        return mixed(a, b, cebus_add, cebus_add_scalar, False)

    def __mul__(a, b):
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            return binary(<Tensor>a, <Tensor>b, cebus_mul, False)
        if not isinstance(a, Tensor):
            a, b = b, a
        return mixed(a, b, cebus_mul, cebus_mul_scalar, False)

    def __sub__(a, b):
        if isinstance(a, Tensor) and isinstance(b, Tensor):
            return binary(<Tensor>a, <Tensor>b, cebus_sub, False)
        if isinstance(a, Tensor) and isinstance(b, (float, int)) and (<Tensor>a).code() != CEBUS_U8:
            return mixed(a, -b, cebus_add, cebus_add_scalar, False)
        if isinstance(a, (float, int)) and exact_in_double(a):
            return with_number(ready_for_number(b, a, False), a, cebus_rsub_scalar)
        return mixed(a, b, cebus_sub, NULL, False)

    def __truediv__(a, b):
        return mixed(a, b, cebus_div, cebus_div_scalar, True)

    def __pow__(a, b, modulo):
        if autocast_blocks:
            a, b = _raised(a), _raised(b)
        return mixed(a, b, cebus_pow, cebus_pow_scalar, False)

    def __matmul__(a, b):
        if not isinstance(a, Tensor) or not isinstance(b, Tensor):
            return NotImplemented
        return product(<Tensor>a, <Tensor>b)

    def __floordiv__(a, b):
        return floor_divide(a, b)

    def __mod__(a, b):
        return remainder(a, b)

    def __neg__(self):
        return unary(self, cebus_neg)

    def __pos__(self):
        return self

    def __abs__(self):
        return unary(self, cebus_abs)

    def __invert__(self):
        if self.code() == CEBUS_BOOL:
            return unary(self, logical_not_of)
        if category(self.code()) != 1:
            raise DtypeError(f"~ of {self.dtype}: whole numbers and bool have bits")
        return with_number(self, -1.0, cebus_rsub_scalar)

    def __and__(a, b):
        return bits(a, b, cebus_bitwise_and)

    def __or__(a, b):
        return bits(a, b, cebus_bitwise_or)

    def __xor__(a, b):
        return bits(a, b, cebus_bitwise_xor)

    def __lshift__(a, b):
        return bits(a, b, cebus_shift_left)

    def __rshift__(a, b):
        return bits(a, b, cebus_shift_right)

    def __richcmp__(a, b, int op):
        return compare(a, b, op)

    # --- operators that write -----------------------------------------------------------------

    def __iadd__(self, other):
        return self.add_(other)

    def __isub__(self, other):
        return self.sub_(other)

    def __imul__(self, other):
        return self.mul_(other)

    def __itruediv__(self, other):
        return self.div_(other)

    def __ipow__(self, other):
        return write(self, self ** other, cebus_copy_)

    def __ifloordiv__(self, other):
        return write(self, self // other, cebus_copy_)

    def __imod__(self, other):
        return write(self, self % other, cebus_copy_)

    def __iand__(self, other):
        return write(self, self & other, cebus_copy_)

    def __ior__(self, other):
        return write(self, self | other, cebus_copy_)

    def __ixor__(self, other):
        return write(self, self ^ other, cebus_copy_)

    def __ilshift__(self, other):
        return write(self, self << other, cebus_copy_)

    def __irshift__(self, other):
        return write(self, self >> other, cebus_copy_)

    def add_(self, other, *, alpha=1):
        """Adds alpha times `other` in place."""
        if isinstance(other, (float, int)) and category(self.code()) == 2:
            return write_number(self, other * alpha, cebus_add_scalar_)
        if self.code() == CEBUS_BOOL:
            return copy_into(self, self.add(other, alpha=alpha))
        return write_scaled(self, other, alpha, cebus_add_)

    def sub_(self, other, *, alpha=1):
        """Subtracts alpha times `other` in place."""
        return write_scaled(self, other, alpha, cebus_sub_)

    def mul_(self, other):
        """Multiplies in place."""
        if isinstance(other, (float, int)) and category(self.code()) == 2:
            return write_number(self, other, cebus_mul_scalar_)
        return write(self, other, cebus_mul_)

    def div_(self, other):
        """Divides in place."""
        return write(self, other, cebus_div_)

    def lerp_(self, end, weight):
        """Moves towards `end` by the share `weight`, in place."""
        if isinstance(weight, Tensor):
            return copy_into(self, self + weight * (end - self))
        return write_scaled(self, end, weight, cebus_lerp_)

    def copy_(self, source, non_blocking=False):
        """Overwrites the elements by those of `source`, converted and broadcast."""
        return copy_into(self, source)

    def fill_(self, value):
        """Sets every element to `value`."""
        if isinstance(value, Tensor):
            return copy_into(self, value)
        if not exact_in_double(value):
            return copy_into(self, number_tensor(value, self))
        return write_number(self, value, cebus_fill_)

    def zero_(self):
        """Sets every element to zero."""
        return write_number(self, 0.0, cebus_fill_)

    # --- operators as methods -----------------------------------------------------------------

    def add(self, other, *, alpha=1):
        """self + alpha other"""
        return self + (other if alpha == 1 else other * alpha)

    def sub(self, other, *, alpha=1):
        """self - alpha other"""
        return self - (other if alpha == 1 else other * alpha)

    def mul(self, other):
        """self * other"""
        return self * other

    def div(self, other, *, rounding_mode=None):
        """self / other; rounding_mode "floor" or "trunc" rounds the quotient."""
        return divide(self, other, rounding_mode)

    def pow(self, exponent):
        """self ** exponent"""
        return self ** exponent

    def matmul(self, Tensor other):
        """Matrix product [.., m, k] [.., k, n] -> [.., m, n]; vectors as in PyTorch."""
        return product(self, other)

    def mm(self, Tensor other):
        """Product of two matrices."""
        check_ndim("mm", self, 2)
        check_ndim("mm", other, 2)
        return product(self, other)

    def bmm(self, Tensor other):
        """Products of matrices, batch by batch."""
        check_ndim("bmm", self, 3)
        check_ndim("bmm", other, 3)
        if cebus_tensor_size(self.handle, 0) != cebus_tensor_size(other.handle, 0):
            raise ShapeError(f"bmm: batches of {self.shape[0]} and {other.shape[0]} matrices")
        return product(self, other)

    def maximum(self, Tensor other):
        """The larger of each pair."""
        return binary(self, other, cebus_maximum, False)

    def minimum(self, Tensor other):
        """The smaller of each pair."""
        return binary(self, other, cebus_minimum, False)

    def eq(self, other):
        return compare(self, other, Py_EQ)

    def ne(self, other):
        return compare(self, other, Py_NE)

    def lt(self, other):
        return compare(self, other, Py_LT)

    def le(self, other):
        return compare(self, other, Py_LE)

    def gt(self, other):
        return compare(self, other, Py_GT)

    def ge(self, other):
        return compare(self, other, Py_GE)
