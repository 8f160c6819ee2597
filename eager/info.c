#include <cebus/info.h>

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "cebus_config.h"
#include "eager/device/plugin.h"

#if CEBUS_HAVE_ONEDNN
#include <dnnl.h>
#endif
#if CEBUS_HAVE_OPENBLAS
#include <cblas.h>
#endif
#if CEBUS_HAVE_JSON
#include <jansson.h>
#endif
#if CEBUS_HAVE_JEMALLOC
#include <jemalloc/jemalloc.h>
#pragma weak mallctl
#endif

const char *cebus_version(void)
{
    return CEBUS_VERSION_STRING;
}

enum {
    VERSION_BYTES = 32
};

/** What versions say that is no constant; filled in once. */
static char onednn[VERSION_BYTES], openblas[VERSION_BYTES], jemalloc[VERSION_BYTES];
/** The reason holds what a plug-in or the dynamic linker say. */
static char cuda[VERSION_BYTES], cuda_why_not[512];
static pthread_once_t versions_once = PTHREAD_ONCE_INIT;

/** Whether devices of the plug-in can be opened; loads it. The last error stays what it was. */
static void read_cuda(void)
{
    const cebus_plugin *plugin;
    cebus_error before = *cebus_last_error();
    cebus_status status = cebus_plugin_find("cuda", &plugin);
    if (status == CEBUS_OK)
        status = plugin->probe(cuda, sizeof cuda);
    if (status == CEBUS_OK)
        return;
    snprintf(cuda_why_not, sizeof cuda_why_not, "%s%s%s", cuda, cuda[0] != '\0' ? ": " : "",
             cebus_last_error()->message);
    cuda[0] = '\0';
    cebus_error_restore(&before);
}

static void read_versions(void)
{
    read_cuda();
#if CEBUS_HAVE_ONEDNN
    const dnnl_version_t *dnnl = dnnl_version();
    snprintf(onednn, sizeof onednn, "%d.%d.%d", dnnl->major, dnnl->minor, dnnl->patch);
#endif
#if CEBUS_HAVE_OPENBLAS
    /* "OpenBLAS 0.3.21 NO_AFFINITY USE_OPENMP ..." */
    if (sscanf(openblas_get_config(), "OpenBLAS %31s", openblas) != 1)
        snprintf(openblas, sizeof openblas, "unknown");
#endif
#if CEBUS_HAVE_JEMALLOC
    const char *version;
    size_t size = sizeof version;
    if (mallctl != NULL && mallctl("version", &version, &size, NULL, 0) == 0)
        snprintf(jemalloc, sizeof jemalloc, "%s", version);
    jemalloc[strcspn(jemalloc, "-")] = '\0'; /* what follows is a commit */
#endif
}

static const char *jansson(void)
{
#if CEBUS_HAVE_JSON
    return JANSSON_VERSION;
#else
    return "";
#endif
}

/** The standard's date, as the compiler has it. */
static const char *openmp(void)
{
#if defined(_OPENMP)
#define DATE_TEXT(date) #date
#define DATE(date) DATE_TEXT(date)
    return DATE(_OPENMP);
#else
    return "";
#endif
}

/** What has a version is there. */
static cebus_feature feature(const char *name, const char *version, const char *what,
                             const char *why_not)
{
    bool present = version[0] != '\0';
    return (cebus_feature){
        .name = name, .present = present, .version = version, .what = present ? what : why_not};
}

static const char no_option[] = "not in this build: not found, or disabled when it was configured";

static cebus_feature jemalloc_feature(void)
{
    const char *why_not = no_option;
#if CEBUS_HAVE_JEMALLOC
    why_not = "not in this process: an arena of its own for the books where the program runs on it";
#endif
    return feature("jemalloc", jemalloc, "an arena of its own for the books of the runtime",
                   why_not);
}

bool cebus_feature_at(size_t i, cebus_feature *out)
{
    pthread_once(&versions_once, read_versions);
    const cebus_feature features[] = {
        feature("oneDNN", onednn, "convolution, pooling, normalization, recurrent cells on the CPU",
                no_option),
        feature("OpenBLAS", openblas, "matrix products on the CPU", no_option),
        feature("OpenMP", openmp(), "kernels of several threads", no_option),
        feature("jansson", jansson(), "traces and profiles are read", no_option),
        jemalloc_feature(),
        feature("CUDA", cuda, "the devices cuda:N", cuda_why_not),
    };
    if (out == NULL || i >= sizeof features / sizeof *features)
        return false;
    *out = features[i];
    return true;
}
