#include "tests/support/heavy_net.h"

#include <stdio.h>

void cebus_heavy_net_break(cebus_heavy_net *net, const char *what)
{
    const cebus_error *error = cebus_last_error();
    if (!net->broken)
        snprintf(net->why, sizeof net->why, "%s: %s: %s", what, cebus_status_name(error->status),
                 error->message);
    net->broken = true;
}

bool cebus_heavy_net_again(cebus_heavy_net *net, cebus_status status, const char *what)
{
    if (status == CEBUS_OK)
        return false;
    if (net->again(net, status, what))
        return true;
    cebus_heavy_net_break(net, what);
    return false;
}

void cebus_heavy_net_open(cebus_heavy_net *net)
{
    const int64_t square[2] = {net->width, net->width};
    CEBUS_HEAVY_TRY(net, cebus_optimizer_create_adam(net->rt, NULL, &net->adam));
    for (int i = 0; i < CEBUS_HEAVY_LAYERS; i++) {
        CEBUS_HEAVY_TRY(net, cebus_randn(net->rt, CEBUS_F32, 2, square, &net->w[i]));
        CEBUS_HEAVY_TRY(net, cebus_tensor_set_persistent(net->w[i]));
        CEBUS_HEAVY_TRY(net, cebus_tensor_set_requires_grad(net->w[i], true));
        CEBUS_HEAVY_TRY(net, cebus_optimizer_add(net->adam, net->w[i]));
    }
}

static void forget(cebus_tensor **tensor)
{
    cebus_tensor_release(*tensor);
    *tensor = NULL;
}

void cebus_heavy_net_begin(cebus_heavy_net *net)
{
    const int64_t rows[2] = {net->rows, net->width};
    CEBUS_HEAVY_TRY(net, cebus_randn(net->rt, CEBUS_F32, 2, rows, &net->h));
}

void cebus_heavy_net_layer(cebus_heavy_net *net, int i)
{
    cebus_tensor *y = NULL;
    CEBUS_HEAVY_TRY(net, cebus_matmul(net->rt, net->h, net->w[i], &y));
    forget(&net->h);
    CEBUS_HEAVY_TRY(net, cebus_tanh(net->rt, y, &net->h));
    forget(&y);
}

void cebus_heavy_net_backward(cebus_heavy_net *net)
{
    CEBUS_HEAVY_TRY(net, cebus_mean(net->rt, net->h, 0, NULL, false, &net->loss));
    CEBUS_HEAVY_TRY(net, cebus_backward(net->rt, net->loss, NULL, false));
}

void cebus_heavy_net_update(cebus_heavy_net *net)
{
    CEBUS_HEAVY_TRY(net, cebus_optimizer_step(net->adam));
    CEBUS_HEAVY_TRY(net, cebus_optimizer_zero_grad(net->adam));
    forget(&net->loss);
    forget(&net->h);
}

void cebus_heavy_net_step(cebus_heavy_net *net)
{
    cebus_heavy_net_begin(net);
    for (int i = 0; i < CEBUS_HEAVY_LAYERS; i++)
        cebus_heavy_net_layer(net, i);
    cebus_heavy_net_backward(net);
    cebus_heavy_net_update(net);
    CEBUS_HEAVY_TRY(net, cebus_iteration_mark(net->rt));
}

void cebus_heavy_net_close(cebus_heavy_net *net)
{
    size_t bytes = (size_t)(net->width * net->width) * sizeof(float);
    for (int i = 0; i < CEBUS_HEAVY_LAYERS; i++) {
        CEBUS_HEAVY_TRY(net, cebus_tensor_to_host(net->w[i], net->result[i], bytes));
        forget(&net->w[i]);
    }
    CEBUS_HEAVY_TRY(net, cebus_runtime_check(net->rt));
    cebus_optimizer_destroy(net->adam);
    cebus_runtime_destroy(net->rt);
    net->adam = NULL;
    net->rt = NULL;
}
