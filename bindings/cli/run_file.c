#include "run_file.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "file_start.h"
#include "message.h"
#include "result.h"

/** Of a line: an event has a dozen numbers and a name. */
#define LINE_BYTES ((size_t)1 << 20)

static const char *const kinds[] = {
    [CEBUS_EVENT_PLACED] = "placed",
    [CEBUS_EVENT_FREED] = "freed",
    [CEBUS_EVENT_MOVED] = "moved",
    [CEBUS_EVENT_EVICTED] = "evicted",
    [CEBUS_EVENT_RETURNED] = "returned",
    [CEBUS_EVENT_CALLED] = "called",
    [CEBUS_EVENT_REPLAYED] = "replayed",
    [CEBUS_EVENT_SWAPPED_OUT] = "swapped_out",
    [CEBUS_EVENT_SWAPPED_IN] = "swapped_in",
    [CEBUS_EVENT_COMPACTED] = "compacted",
    [CEBUS_EVENT_CUT] = "cut",
    [CEBUS_EVENT_OUT_OF_MEMORY] = "out_of_memory",
    [CEBUS_EVENT_BUDGET] = "budget",
    [CEBUS_EVENT_MARK] = "mark",
    [CEBUS_EVENT_GUIDED] = "guided",
    [CEBUS_EVENT_PLAN_REFUSED] = "plan_refused",
};

enum {
    KINDS = sizeof kinds / sizeof *kinds
};

/** The 64-bit numbers of an event. */
static const struct {
    const char *name;
    size_t offset;
} numbers[] = {
    {"value", offsetof(cebus_event, value)},
    {"bytes", offsetof(cebus_event, bytes)},
    {"offset", offsetof(cebus_event, offset)},
    {"from", offsetof(cebus_event, from)},
    {"ns", offsetof(cebus_event, ns)},
    {"age_ns", offsetof(cebus_event, age_ns)},
    {"price", offsetof(cebus_event, price)},
    {"next_price", offsetof(cebus_event, next_price)},
    {"call", offsetof(cebus_event, call)},
    {"time_ns", offsetof(cebus_event, time_ns)},
    {"device_ns", offsetof(cebus_event, device_ns)},
};

enum {
    NUMBERS = sizeof numbers / sizeof *numbers
};

/* --- writing --------------------------------------------------------------------------------- */

static void put_line(struct run_file *file, json_t *json)
{
    if (json_dumpf(json, file->output.file, JSON_COMPACT) != 0 ||
        fputc('\n', file->output.file) == EOF)
        file->failed = true;
    json_decref(json);
}

static void put_if(json_t *json, const char *name, uint64_t number)
{
    /* Prices may be as large as they like; JSON's integers are signed. */
    if (number > INT64_MAX)
        number = INT64_MAX;
    if (number != 0)
        json_put(json, name, json_integer((json_int_t)number));
}

static void write_event(void *context, const cebus_event *event, size_t op)
{
    struct run_file *file = context;
    json_t *json = json_object();
    (void)op;
    json_put(json, "kind", json_string(kinds[event->kind]));
    put_if(json, "rung", (uint64_t)event->rung);
    put_if(json, "method", (uint64_t)event->method);
    put_if(json, "memory_class", (uint64_t)event->memory_class);
    if (event->op != NULL)
        json_put(json, "op", json_string(event->op));
    for (size_t i = 0; i < NUMBERS; i++) {
        uint64_t number;
        memcpy(&number, (const char *)event + numbers[i].offset, sizeof number);
        put_if(json, numbers[i].name, number);
    }
    put_line(file, json);
    file->events++;
}

struct observer run_file_observer(struct run_file *file)
{
    return (struct observer){.event = write_event, .context = file};
}

/** Those that a pass sets, with that of its end. */
static uint64_t count_marks(const struct program *program)
{
    uint64_t marks = 1;
    for (size_t i = 0; i < program->n_steps; i++)
        marks += program->steps[i].kind == STEP_MARK;
    return marks;
}

bool run_file_begin(struct run_file *file, const char *path, const struct program *program,
                    const struct settings *settings, uint64_t base_ns)
{
    *file = (struct run_file){0};
    if (!output_open(&file->output, path))
        return false;
    uint64_t budget =
        settings_bytes(settings->of[SETTING_BUDGET].text, program->figures.peak_bytes);
    json_t *json = json_object();
    json_put(json, "cebus_run", json_integer(1));
    json_put_text(json, "trace", program->path);
    json_put_text(json, "policy", settings->of[SETTING_POLICY].text);
    json_put(json, "budget_bytes", json_integer((json_int_t)budget));
    json_put_text(json, "machine", settings->of[SETTING_MACHINE].text);
    json_put(json, "base_time_ns", json_integer((json_int_t)base_ns));
    json_put(json, "pass_marks", json_integer((json_int_t)count_marks(program)));
    put_line(file, json);
    return true;
}

bool run_file_end(struct run_file *file, bool good)
{
    json_t *json = json_object();
    json_put(json, "kind", json_string("end"));
    json_put(json, "events", json_integer((json_int_t)file->events));
    put_line(file, json);
    if (good && file->failed)
        complain_file(file->output.path, "cannot be written: is the disk full?");
    return output_close(&file->output, good && !file->failed);
}

/* --- reading --------------------------------------------------------------------------------- */

struct run_reader {
    const char *path;
    FILE *file;
    char *line;
    uint64_t number, events; /**< so far */
};

static bool refuse(const struct run_reader *reader, const char *what)
{
    complain_file(reader->path, "line %" PRIu64 ": %s", reader->number, what);
    return false;
}

/** The next line as an object; *out is NULL at the end. */
static bool read_line(struct run_reader *reader, json_t **out)
{
    json_error_t error;
    *out = NULL;
    reader->number++;
    if (fgets(reader->line, (int)LINE_BYTES, reader->file) == NULL)
        return !ferror(reader->file) || refuse(reader, "cannot be read");
    size_t length = strlen(reader->line);
    if (length + 1 == LINE_BYTES && reader->line[length - 1] != '\n')
        return refuse(reader, "too long for an event");
    *out = json_loadb(reader->line, length, JSON_REJECT_DUPLICATES, &error);
    if (*out == NULL)
        return refuse(reader, error.text);
    if (json_is_object(*out))
        return true;
    json_decref(*out);
    return refuse(reader, "not a JSON object");
}

static char *copy_text(const json_t *json, const char *key)
{
    const char *text = json_string_value(json_object_get(json, key));
    return text != NULL ? take_text(text) : NULL;
}

static bool read_number(const struct run_reader *reader, const json_t *json, const char *name,
                        int64_t most, uint64_t *out)
{
    const json_t *value = json_object_get(json, name);
    *out = 0;
    if (value == NULL)
        return true;
    if (!json_is_integer(value) || json_integer_value(value) < 0 ||
        json_integer_value(value) > most) {
        complain_file(reader->path, "line %" PRIu64 ": \"%s\" is not a number from 0 to %" PRId64,
                      reader->number, name, most);
        return false;
    }
    *out = (uint64_t)json_integer_value(value);
    return true;
}

static bool read_head(struct run_reader *reader, struct run_head *out)
{
    json_t *json;
    if (!read_line(reader, &json))
        return false;
    if (json_integer_value(json_object_get(json, "cebus_run")) != 1) {
        json_decref(json);
        return refuse(reader, "not a recorded run, which begins with {\"cebus_run\": 1}; "
                              "`cebus replay --record' writes one");
    }
    out->trace = copy_text(json, "trace");
    out->policy = copy_text(json, "policy");
    out->machine = copy_text(json, "machine");
    bool good = read_number(reader, json, "budget_bytes", INT64_MAX, &out->budget_bytes) &&
                read_number(reader, json, "base_time_ns", INT64_MAX, &out->base_time_ns) &&
                read_number(reader, json, "pass_marks", INT64_MAX, &out->pass_marks);
    json_decref(json);
    if (good && (out->trace == NULL || out->policy == NULL || out->machine == NULL))
        return refuse(reader, "the head lacks trace, policy or machine");
    return good;
}

/** Whether this version knows the kind. */
static bool find_kind(const char *word, cebus_event_kind *out)
{
    for (int k = 0; k < KINDS; k++) {
        if (strcmp(word, kinds[k]) == 0) {
            *out = (cebus_event_kind)k;
            return true;
        }
    }
    return false;
}

static bool read_event(const struct run_reader *reader, const json_t *json, cebus_event *out)
{
    uint64_t rung, method, class;
    out->op = json_string_value(json_object_get(json, "op"));
    if (!read_number(reader, json, "rung", CEBUS_RUNG_FAILED, &rung) ||
        !read_number(reader, json, "method", CEBUS_METHOD_SWAP, &method) ||
        !read_number(reader, json, "memory_class", CEBUS_MEMORY_WORKSPACE, &class))
        return false;
    out->rung = (cebus_rung)rung;
    out->method = (cebus_method)method;
    out->memory_class = (cebus_memory_class) class;
    for (size_t i = 0; i < NUMBERS; i++) {
        uint64_t number;
        if (!read_number(reader, json, numbers[i].name, INT64_MAX, &number))
            return false;
        memcpy((char *)out + numbers[i].offset, &number, sizeof number);
    }
    return true;
}

/** The last line: nothing may be missing before it. */
static bool read_end(const struct run_reader *reader, const json_t *json)
{
    uint64_t events;
    if (!read_number(reader, json, "events", INT64_MAX, &events))
        return false;
    if (events == reader->events)
        return true;
    complain_file(reader->path,
                  "line %" PRIu64 ": %" PRIu64 " events were recorded, and %" PRIu64
                  " are here: lines are missing or were added",
                  reader->number, events, reader->events);
    return false;
}

typedef bool (*event_hook)(void *context, const cebus_event *event, uint64_t line);

/** One line after the head. */
static bool read_body(struct run_reader *reader, const json_t *json, struct run_head *head,
                      event_hook hook, void *context)
{
    cebus_event event = {0};
    const char *kind = json_string_value(json_object_get(json, "kind"));
    if (kind == NULL)
        return refuse(reader, "\"kind\" is missing");
    if (head->complete)
        return refuse(reader, "there is more after the end");
    if (strcmp(kind, "end") == 0) {
        head->complete = true;
        return read_end(reader, json);
    }
    reader->events++;
    if (!find_kind(kind, &event.kind)) {
        head->unknown++;
        return true;
    }
    return read_event(reader, json, &event) && hook(context, &event, reader->number);
}

static bool read_lines(struct run_reader *reader, struct run_head *head, event_hook hook,
                       void *context)
{
    for (;;) {
        json_t *json;
        if (!read_line(reader, &json))
            return false;
        if (json == NULL)
            return true;
        bool good = read_body(reader, json, head, hook, context);
        json_decref(json);
        if (!good)
            return false;
    }
}

bool run_file_read(const char *path, struct run_head *out_head, event_hook event, void *context)
{
    *out_head = (struct run_head){0};
    struct run_reader reader = {.path = path, .file = fopen(path, "re")};
    if (reader.file == NULL) {
        complain_file(path, "cannot be opened: %s", strerror(errno));
        return false;
    }
    reader.line = take(NULL, LINE_BYTES, 1);
    bool good = read_head(&reader, out_head) && read_lines(&reader, out_head, event, context);
    free(reader.line);
    fclose(reader.file);
    return good;
}

void run_file_warn(const char *path, const struct run_head *head)
{
    if (head->unknown > 0)
        complain_file(path, "%" PRIu64 " events of kinds that this version does not know",
                      head->unknown);
    if (!head->complete)
        complain_file(path, "the recording was cut off: its last line is missing");
}

bool run_file_is(const char *path)
{
    char start[64];
    return file_start(path, start, sizeof start) && strstr(start, "\"cebus_run\"") != NULL;
}

void run_head_free(struct run_head *head)
{
    free(head->trace);
    free(head->policy);
    free(head->machine);
    *head = (struct run_head){0};
}
