// One op bound with pybind11, for op_cost.py: what the extension would cost with that generator.
#include <cebus/cebus.h>
#include <pybind11/pybind11.h>

#include <stdexcept>

struct Tensor {
    cebus_tensor *handle;
    ~Tensor() { cebus_tensor_release(handle); }
};

static void check(cebus_status status)
{
    if (status != CEBUS_OK)
        throw std::runtime_error(cebus_last_error()->message);
}

static cebus_runtime *runtime()
{
    static cebus_runtime *rt = nullptr;
    cebus_runtime_options options = CEBUS_RUNTIME_OPTIONS_INIT;
    options.threads = 1;
    if (rt == nullptr)
        check(cebus_runtime_create(&options, &rt));
    return rt;
}

static Tensor *add(Tensor &a, Tensor &b)
{
    cebus_tensor *out;
    cebus_status status;
    {
        pybind11::gil_scoped_release free;
        status = cebus_add(runtime(), a.handle, b.handle, &out);
    }
    check(status);
    return new Tensor{out};
}

static Tensor *one()
{
    const int64_t length = 1;
    cebus_tensor *out;
    check(cebus_ones(runtime(), CEBUS_F32, 1, &length, &out));
    return new Tensor{out};
}

PYBIND11_MODULE(candidate, module)
{
    const auto own = pybind11::return_value_policy::take_ownership;
    pybind11::class_<Tensor>(module, "Tensor").def("__add__", add, own);
    module.def("one", one, own);
}
