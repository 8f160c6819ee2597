#include <cebus/tensor.h>

size_t cebus_dtype_size(cebus_dtype dtype)
{
    switch (dtype) {
    case CEBUS_F32:
    case CEBUS_I32:
        return 4;
    case CEBUS_F64:
    case CEBUS_I64:
        return 8;
    case CEBUS_F16:
    case CEBUS_BF16:
        return 2;
    case CEBUS_U8:
    case CEBUS_BOOL:
        return 1;
    }
    return 0;
}

const char *cebus_dtype_name(cebus_dtype dtype)
{
    static const char *const names[] = {"invalid", "f32", "f64", "f16", "bf16",
                                        "i64",     "i32", "u8",  "bool"};
    return (unsigned)dtype < sizeof names / sizeof *names ? names[dtype] : names[0];
}

bool cebus_dtype_is_float(cebus_dtype dtype)
{
    return dtype == CEBUS_F32 || dtype == CEBUS_F64 || dtype == CEBUS_F16 || dtype == CEBUS_BF16;
}
