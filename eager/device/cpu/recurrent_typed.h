/*
 * recurrent_typed.h: the gates of one row of a recurrent step, for one element type. Before it is
 * included: T, ROW(name), SIGMOID(x), TANH(x). All are undefined at the end.
 */

CEBUS_CLONES
static void ROW(lstm)(const gate_row *row)
{
    const T *restrict x = row->in[0], *restrict y = row->in[1], *restrict c = row->in[2];
    T *restrict h_out = row->out[0], *restrict c_out = row->out[1], *restrict gates = row->out[2];
    const int64_t n = row->n;
    CEBUS_IVDEP
    for (int64_t j = 0; j < n; j++) {
        T i = SIGMOID(x[j] + y[j]);
        T f = SIGMOID(x[n + j] + y[n + j]);
        T g = TANH(x[2 * n + j] + y[2 * n + j]);
        T o = SIGMOID(x[3 * n + j] + y[3 * n + j]);
        T next = f * c[j] + i * g;
        gates[j] = i;
        gates[n + j] = f;
        gates[2 * n + j] = g;
        gates[3 * n + j] = o;
        c_out[j] = next;
        h_out[j] = o * TANH(next);
    }
}

/* in: gates, c, c', dh', dc' */
CEBUS_CLONES
static void ROW(lstm_backward)(const gate_row *row)
{
    const T *restrict gates = row->in[0], *restrict c = row->in[1], *restrict next = row->in[2];
    const T *restrict dh = row->in[3], *restrict dc = row->in[4];
    T *restrict d_gates = row->out[0], *restrict d_c = row->out[1];
    const int64_t n = row->n;
    CEBUS_IVDEP
    for (int64_t j = 0; j < n; j++) {
        T i = gates[j], f = gates[n + j], g = gates[2 * n + j], o = gates[3 * n + j];
        T t = TANH(next[j]), d_h = dh[j];
        T d_next = dc[j] + d_h * o * (1 - t * t);
        d_gates[j] = d_next * g * i * (1 - i);
        d_gates[n + j] = d_next * c[j] * f * (1 - f);
        d_gates[2 * n + j] = d_next * i * (1 - g * g);
        d_gates[3 * n + j] = d_h * t * o * (1 - o);
        d_c[j] = d_next * f;
    }
}

CEBUS_CLONES
static void ROW(gru)(const gate_row *row)
{
    const T *restrict x = row->in[0], *restrict y = row->in[1], *restrict h = row->in[2];
    T *restrict h_out = row->out[0], *restrict gates = row->out[1];
    const int64_t n = row->n;
    CEBUS_IVDEP
    for (int64_t j = 0; j < n; j++) {
        T r = SIGMOID(x[j] + y[j]);
        T z = SIGMOID(x[n + j] + y[n + j]);
        T part = y[2 * n + j];
        T candidate = TANH(x[2 * n + j] + r * part);
        gates[j] = r;
        gates[n + j] = z;
        gates[2 * n + j] = candidate;
        gates[3 * n + j] = part;
        h_out[j] = (1 - z) * candidate + z * h[j];
    }
}

/* in: gates, h, dh' */
CEBUS_CLONES
static void ROW(gru_backward)(const gate_row *row)
{
    const T *restrict gates = row->in[0], *restrict h = row->in[1], *restrict dh = row->in[2];
    T *restrict dx = row->out[0], *restrict dy = row->out[1], *restrict d_h = row->out[2];
    const int64_t n = row->n;
    CEBUS_IVDEP
    for (int64_t j = 0; j < n; j++) {
        T r = gates[j], z = gates[n + j], candidate = gates[2 * n + j], part = gates[3 * n + j];
        T d = dh[j];
        T d_candidate = d * (1 - z) * (1 - candidate * candidate);
        T d_r = d_candidate * part * r * (1 - r);
        T d_z = d * (h[j] - candidate) * z * (1 - z);
        dx[j] = d_r;
        dx[n + j] = d_z;
        dx[2 * n + j] = d_candidate;
        dy[j] = d_r;
        dy[n + j] = d_z;
        dy[2 * n + j] = d_candidate * r;
        d_h[j] = d * z;
    }
}

#undef T
#undef ROW
#undef SIGMOID
#undef TANH
