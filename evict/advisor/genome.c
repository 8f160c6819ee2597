#include "evict/advisor/genome.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/** A buffer below this part of the memory is too small to move. */
#define SMALL_SHIFT 18

/* --- what genomes have in common ------------------------------------------------------------ */

static int compare_sizes(const void *a, const void *b)
{
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void find_sizes(cebus_species *species)
{
    const cebus_graph *graph = species->graph;
    size_t n = 0, distinct = 0;
    for (size_t i = 0; i < graph->n_buffers; i++) {
        const uint64_t bytes = cebus_graph_rounded(graph->buffers[i].bytes);
        species->size_of[i] = CEBUS_GRAPH_NONE;
        if (bytes < species->least)
            species->reserve += bytes;
        else
            species->sizes[n++] = bytes;
    }
    qsort(species->sizes, n, sizeof *species->sizes, compare_sizes);
    for (size_t i = 0; i < n; i++) {
        if (distinct == 0 || species->sizes[distinct - 1] != species->sizes[i])
            species->sizes[distinct++] = species->sizes[i];
    }
    species->n_sizes = distinct;
    for (size_t i = 0; i < graph->n_buffers; i++) {
        const uint64_t bytes = cebus_graph_rounded(graph->buffers[i].bytes);
        const uint64_t *at =
            distinct == 0 ? NULL
                          : bsearch(&bytes, species->sizes, distinct, sizeof bytes, compare_sizes);
        if (at != NULL)
            species->size_of[i] = (uint32_t)(at - species->sizes);
    }
}

/** ns a byte, scaled. */
static double density(const cebus_graph *graph, uint32_t buffer)
{
    const cebus_buffer *b = &graph->buffers[buffer];
    return (double)graph->calls[b->maker].cost_ns / (double)b->bytes;
}

/** Those that take less time to make again than to copy out and in, the cheapest byte first. */
static void find_cheap(cebus_species *species, double link)
{
    const cebus_graph *graph = species->graph;
    for (uint32_t i = 0; i < graph->n_buffers; i++) {
        if (species->size_of[i] == CEBUS_GRAPH_NONE || !graph->buffers[i].rebuildable ||
            density(graph, i) > 2 / link)
            continue;
        size_t at = species->n_cheap++;
        species->cheap[at] = i;
    }
    /* Shell's sort: qsort() knows no context. */
    for (size_t gap = species->n_cheap / 2; gap > 0; gap /= 2) {
        for (size_t i = gap; i < species->n_cheap; i++) {
            const uint32_t x = species->cheap[i];
            size_t k = i;
            for (; k >= gap && density(graph, species->cheap[k - gap]) > density(graph, x);
                 k -= gap)
                species->cheap[k] = species->cheap[k - gap];
            species->cheap[k] = x;
        }
    }
}

bool cebus_species_init(cebus_species *species, const cebus_graph *graph, uint64_t memory,
                        double link, cebus_shelf *shelf)
{
    const size_t n = graph->n_buffers;
    *species = (cebus_species){.graph = graph, .memory = memory, .least = memory >> SMALL_SHIFT};
    species->sizes = cebus_shelf_take(shelf, n, sizeof *species->sizes);
    species->size_of = cebus_shelf_take(shelf, n, sizeof *species->size_of);
    species->cheap = cebus_shelf_take(shelf, n, sizeof *species->cheap);
    species->lasting = cebus_shelf_take(shelf, n, sizeof *species->lasting);
    if (shelf->failed)
        return false;
    find_sizes(species);
    if (species->reserve > memory / 8) { /* too many small ones to be left aside */
        species->reserve = 0;
        species->least = 1;
        find_sizes(species);
    }
    find_cheap(species, link);
    for (uint32_t i = 0; i < n; i++) {
        if (graph->buffers[i].persistent && species->size_of[i] != CEBUS_GRAPH_NONE)
            species->lasting[species->n_lasting++] = i;
    }
    species->least_streamed = species->least;
    return true;
}

void cebus_species_keep_small(cebus_species *species, uint64_t bytes)
{
    enum {
        MOST_PART = 16
    };
    const cebus_buffer *buffers = species->graph->buffers;
    uint64_t small = 0;
    for (size_t i = 0; i < species->n_lasting; i++)
        small +=
            buffers[species->lasting[i]].bytes < bytes ? buffers[species->lasting[i]].bytes : 0;
    if (small > species->memory / MOST_PART)
        return;
    size_t n = 0;
    for (size_t i = 0; i < species->n_lasting; i++) {
        if (buffers[species->lasting[i]].bytes >= bytes)
            species->lasting[n++] = species->lasting[i];
    }
    species->n_lasting = n;
    species->least_streamed = bytes > species->least ? bytes : species->least;
}

bool cebus_genome_init(cebus_genome *genome, const cebus_species *species, cebus_shelf *shelf)
{
    const cebus_graph *graph = species->graph;
    *genome = (cebus_genome){0};
    genome->order = cebus_shelf_take(shelf, graph->n_calls, sizeof *genome->order);
    genome->remakes = cebus_shelf_take(shelf, graph->n_buffers, sizeof *genome->remakes);
    genome->streams = cebus_shelf_take(shelf, graph->n_buffers, sizeof *genome->streams);
    genome->classes = cebus_shelf_take(shelf, species->n_sizes, sizeof *genome->classes);
    genome->counts = cebus_shelf_take(shelf, species->n_sizes, sizeof *genome->counts);
    genome->floors = cebus_shelf_take(shelf, 2 * species->n_sizes, sizeof *genome->floors);
    return !shelf->failed;
}

void cebus_genome_copy(const cebus_species *species, const cebus_genome *from, cebus_genome *to)
{
    const cebus_graph *graph = species->graph;
    memcpy(to->order, from->order, graph->n_calls * sizeof *to->order);
    memcpy(to->remakes, from->remakes, graph->n_buffers * sizeof *to->remakes);
    memcpy(to->streams, from->streams, graph->n_buffers * sizeof *to->streams);
    to->is_streaming = from->is_streaming;
    memcpy(to->classes, from->classes, species->n_sizes * sizeof *to->classes);
    memcpy(to->counts, from->counts, species->n_sizes * sizeof *to->counts);
    to->settings = from->settings;
    to->fits = from->fits;
    to->time = from->time;
}

/* --- size classes --------------------------------------------------------------------------- */

/** Objects of class c have the largest size in it. */
static uint64_t class_bytes(const cebus_species *species, const cebus_genome *genome, uint32_t c)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < species->n_sizes; i++) {
        if (genome->classes[i] == c)
            bytes = species->sizes[i];
    }
    return bytes;
}

/** Classes without gaps, ascending. */
static void repair_classes(const cebus_species *species, cebus_genome *genome)
{
    uint32_t old = 0, c = 0;
    for (size_t i = 0; i < species->n_sizes; i++) {
        const uint32_t wanted = genome->classes[i];
        if (i > 0 && wanted > old)
            c++;
        if (i == 0 || wanted > old)
            old = wanted;
        genome->classes[i] = c;
    }
}

/** floors: how many objects of each class one call needs at once, the most of all calls. */
static void find_floors(const cebus_species *species, cebus_genome *genome, size_t n_classes)
{
    const cebus_graph *graph = species->graph;
    uint32_t *now = genome->floors + species->n_sizes;
    memset(genome->floors, 0, n_classes * sizeof *now);
    memset(now, 0, n_classes * sizeof *now);
    for (size_t k = 0; k < graph->n_calls; k++) {
        const cebus_graph_ref *refs = graph->refs + graph->calls[k].ref;
        for (uint32_t i = 0; i < graph->calls[k].n_refs; i++) {
            const uint32_t size = species->size_of[refs[i].buffer];
            if (size == CEBUS_GRAPH_NONE)
                continue;
            const uint32_t c = genome->classes[size];
            if (++now[c] > genome->floors[c])
                genome->floors[c] = now[c];
        }
        for (uint32_t i = 0; i < graph->calls[k].n_refs; i++) {
            if (species->size_of[refs[i].buffer] != CEBUS_GRAPH_NONE)
                now[genome->classes[species->size_of[refs[i].buffer]]] = 0;
        }
    }
}

static size_t class_count(const cebus_species *species, const cebus_genome *genome)
{
    return species->n_sizes > 0 ? genome->classes[species->n_sizes - 1] + 1u : 0;
}

/** Counts that fit: what a call needs of each class, and of the memory left over as much of what
 * was asked for. If not even the former fit the genome does not. */
static void repair_counts(const cebus_species *species, cebus_genome *genome)
{
    const size_t n_classes = class_count(species, genome);
    double left = (double)(species->memory - species->reserve), asked = 0;
    find_floors(species, genome, n_classes);
    for (uint32_t c = 0; c < n_classes; c++) {
        const double bytes = (double)class_bytes(species, genome, c);
        if (genome->counts[c] < genome->floors[c])
            genome->counts[c] = genome->floors[c];
        left -= bytes * (double)genome->floors[c];
        asked += bytes * (double)(genome->counts[c] - genome->floors[c]);
    }
    genome->fits = left >= 0;
    const double share = left <= 0 || asked <= 0 ? 0 : left >= asked ? 1 : left / asked;
    for (uint32_t c = 0; c < n_classes; c++)
        genome->counts[c] =
            genome->floors[c] + (uint32_t)((double)(genome->counts[c] - genome->floors[c]) * share);
}

/** Sizes within a third of the smallest share a class. */
static void set_counts(const cebus_species *species, cebus_genome *genome)
{
    enum {
        WIDTH = 3
    };
    const cebus_graph *graph = species->graph;
    uint32_t c = 0;
    uint64_t first = species->n_sizes > 0 ? species->sizes[0] : 0;
    for (size_t i = 0; i < species->n_sizes; i++) {
        if (species->sizes[i] > first + first / WIDTH) {
            first = species->sizes[i];
            c++;
        }
        genome->classes[i] = c;
        genome->counts[i] = 0;
    }
    for (size_t i = 0; i < graph->n_buffers; i++) {
        if (species->size_of[i] != CEBUS_GRAPH_NONE)
            genome->counts[genome->classes[species->size_of[i]]]++;
    }
    repair_counts(species, genome);
}

/** Counts by size of a genome's counts by class. */
static double count_of_size(const cebus_genome *genome, size_t size)
{
    return genome->counts[genome->classes[size]];
}

/** Both crossed at one size: counts are averaged within each class that comes of it. */
static void cross_classes(const cebus_species *species, const cebus_genome *a,
                          const cebus_genome *b, uint64_t *random, cebus_genome *out)
{
    const size_t n = species->n_sizes;
    if (n == 0)
        return;
    const size_t cut = (size_t)cebus_order_draw(random, n);
    for (size_t i = 0; i < n; i++) {
        out->classes[i] = i < cut ? a->classes[i] : b->classes[i];
        if (i > 0 && out->classes[i] < out->classes[i - 1])
            out->classes[i] = out->classes[i - 1];
    }
    repair_classes(species, out);
    for (size_t first = 0, last; first < n; first = last) {
        double sum = 0;
        for (last = first; last < n && out->classes[last] == out->classes[first]; last++)
            sum += last < cut ? count_of_size(a, last) : count_of_size(b, last);
        out->counts[out->classes[first]] = (uint32_t)(sum / (double)(last - first) + 0.5);
    }
    repair_counts(species, out);
}

/** About normal, mean 0, deviation 1: a sum of twelve. */
static double gauss(uint64_t *random)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += (double)cebus_order_draw(random, UINT64_C(1) << 32) * 0x1p-32;
    return sum;
}

static bool happens(uint64_t *random, uint32_t percent)
{
    return cebus_order_draw(random, 100) < percent;
}

static void mutate_classes(const cebus_species *species, uint64_t *random, cebus_genome *genome)
{
    const size_t n = species->n_sizes;
    if (n < 2)
        return;
    if (happens(random, 50)) { /* one class up or down, all after it follow */
        const size_t i = 1 + (size_t)cebus_order_draw(random, n - 1);
        const bool splits = genome->classes[i] == genome->classes[i - 1];
        for (size_t k = i; k < n; k++)
            genome->classes[k] = splits ? genome->classes[k] + 1 : genome->classes[k] - 1;
        const uint32_t c = genome->classes[i], n_classes = genome->classes[n - 1] + 1;
        for (uint32_t k = splits ? n_classes - 1 : c + 1; splits ? k > c : k < n_classes;
             splits ? k-- : k++)
            genome->counts[k] = splits ? genome->counts[k - 1] : genome->counts[k + 1];
        if (splits)
            genome->counts[c] = genome->counts[c - 1];
    }
    const uint32_t n_classes = genome->classes[n - 1] + 1;
    for (uint32_t c = 0; c < n_classes; c++) {
        if (!happens(random, 20))
            continue;
        const double count = genome->counts[c] * (1 + 0.3 * gauss(random)) + gauss(random);
        genome->counts[c] = count < 1 ? 1 : (uint32_t)(count + 0.5);
    }
    repair_counts(species, genome);
}

/* --- whole genomes -------------------------------------------------------------------------- */

void cebus_genome_set(const cebus_species *species, size_t remade, cebus_genome *genome)
{
    const cebus_graph *graph = species->graph;
    memset(genome->remakes, 0, graph->n_buffers);
    for (size_t i = 0; i < remade && i < species->n_cheap; i++)
        genome->remakes[species->cheap[i]] = 1;
    genome->is_streaming = false;
    if (species->pools)
        set_counts(species, genome);
    genome->settings = (cebus_belady_settings){.ahead_ns = UINT64_MAX, .stay = 0};
}

void cebus_genome_cross(const cebus_species *species, cebus_order *order, const cebus_genome *a,
                        const cebus_genome *b, uint64_t *random, cebus_genome *out)
{
    const cebus_graph *graph = species->graph;
    const size_t cut = (size_t)cebus_order_draw(random, graph->n_calls + 1);
    if (species->fix_order)
        memcpy(out->order, a->order, graph->n_calls * sizeof *out->order);
    else
        cebus_order_cross(order, a->order, b->order, cut, out->order);
    const size_t where = (size_t)cebus_order_draw(random, graph->n_buffers + 1);
    out->is_streaming = a->is_streaming;
    for (size_t i = 0; i < graph->n_buffers; i++) {
        const bool theirs = i >= where && a->is_streaming == b->is_streaming;
        out->remakes[i] = i < where ? a->remakes[i] : b->remakes[i];
        out->streams[i] = theirs ? b->streams[i] : a->streams[i];
    }
    if (species->pools)
        cross_classes(species, a, b, random, out);
    out->settings = happens(random, 50) ? a->settings : b->settings;
}

/** Some neighbours among the cheap, all one way. */
static void mutate_remakes(const cebus_species *species, uint64_t *random, cebus_genome *genome)
{
    if (species->n_cheap == 0)
        return;
    const size_t most = 1 + (size_t)cebus_order_draw(random, 1 + species->n_cheap / 8);
    const uint32_t low = species->cheap[cebus_order_draw(random, species->n_cheap)];
    const uint8_t to = happens(random, 50);
    size_t n = 0;
    for (size_t i = 0; i < species->n_cheap && n < most; i++) {
        const uint32_t buffer = species->cheap[i];
        if (buffer < low || genome->remakes[buffer] == to)
            continue;
        genome->remakes[buffer] = to;
        n++;
    }
}

static void mutate_settings(const cebus_species *species, uint64_t *random, cebus_genome *genome)
{
    const uint64_t ideal = species->graph->ideal_ns;
    switch (cebus_order_draw(random, 3)) {
    case 0:
        genome->settings.idle_ns =
            happens(random, 30) ? 0 : ideal >> (2 + cebus_order_draw(random, 12));
        break;
    case 1:
        genome->settings.ahead_ns =
            happens(random, 30) ? UINT64_MAX : 1 + (ideal >> cebus_order_draw(random, 9));
        break;
    default:
        genome->settings.stay =
            happens(random, 30) ? 0 : species->memory >> cebus_order_draw(random, 5);
    }
}

void cebus_genome_stream(const cebus_species *species, uint64_t *random, uint32_t *old,
                         cebus_genome *genome)
{
    if (species->n_lasting == 0)
        return;
    const uint64_t lag =
        happens(random, 50) ? UINT64_MAX : species->memory >> cebus_order_draw(random, 8);
    const cebus_stream_terms terms = {
        .least = species->least_streamed,
        .stay = species->memory / 64 * (1 + cebus_order_draw(random, 64)),
        .large = species->sizes[cebus_order_draw(random, species->n_sizes)],
        .lag = lag};
    genome->is_streaming = true;
    cebus_stream_choose(species->graph, genome->order, &terms, (uint8_t *)old, genome->streams);
}

/** One comes to stay or ceases to; or changes places with one that is used at about that time. */
static void mutate_stream(const cebus_species *species, uint64_t *random, cebus_genome *genome)
{
    enum {
        NEAR = 24
    };
    const size_t at = (size_t)cebus_order_draw(random, species->n_lasting);
    uint8_t *mine = &genome->streams[species->lasting[at]];
    if (happens(random, 70)) {
        const size_t other = at + (size_t)cebus_order_draw(random, NEAR);
        uint8_t *theirs = &genome->streams[species->lasting[other % species->n_lasting]];
        const uint8_t state = *mine;
        *mine = *theirs;
        *theirs = state;
    } else {
        *mine = !*mine;
    }
}

static void mutate_streams(const cebus_species *species, uint64_t *random, uint32_t *old,
                           cebus_genome *genome)
{
    if (species->n_lasting == 0)
        return;
    if (genome->is_streaming && happens(random, 80)) {
        for (size_t n = 1 + (size_t)cebus_order_draw(random, 6); n > 0; n--)
            mutate_stream(species, random, genome);
    } else if (happens(random, 10)) {
        cebus_genome_stream(species, random, old, genome);
    } else if (happens(random, 2)) {
        genome->is_streaming = false;
    }
}

void cebus_genome_mutate(const cebus_species *species, cebus_order *order, uint64_t *random,
                         uint32_t *old, cebus_genome *genome)
{
    const size_t n = species->graph->n_calls;
    if (!species->fix_order && happens(random, species->pools ? 10 : 30)) {
        const uint32_t chance =
            species->pools ? UINT32_MAX / 10 : UINT32_MAX >> (1 + cebus_order_draw(random, 15));
        memcpy(old, genome->order, n * sizeof *old);
        cebus_order_mutate(order, old, chance, random, genome->order);
    }
    if (species->pools) {
        if (happens(random, 10))
            mutate_classes(species, random, genome);
        return;
    }
    if (happens(random, 50))
        mutate_streams(species, random, old, genome);
    if (happens(random, 50))
        mutate_remakes(species, random, genome);
    if (happens(random, 30))
        mutate_settings(species, random, genome);
}

void cebus_genome_pools(const cebus_species *species, const cebus_genome *genome, cebus_pools *out)
{
    const cebus_graph *graph = species->graph;
    const size_t n = species->n_sizes;
    const bool is_filled = out->bytes;
    out->bytes = !species->pools;
    out->n_pools = out->bytes || n == 0 ? 1 : genome->classes[n - 1] + 1u;
    out->room[0] = species->memory - species->reserve;
    if (is_filled) /* the same for all genomes of the species */
        return;
    for (size_t c = 0; !out->bytes && c < out->n_pools; c++)
        out->room[c] = genome->counts[c];
    for (size_t i = 0; i < graph->n_buffers; i++) {
        const uint32_t size = species->size_of[i];
        out->pool[i] = size == CEBUS_GRAPH_NONE ? size : out->bytes ? 0 : genome->classes[size];
        out->units[i] = out->bytes ? cebus_graph_rounded(graph->buffers[i].bytes) : 1;
    }
}
