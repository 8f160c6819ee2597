#include <pthread.h>
#include <string.h>

#include <cebus/info.h>

#include "eager/device/device.h"

#define MAX_DEVICES 16

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static const cebus_device_ops *devices[MAX_DEVICES] = {&cebus_device_cpu, &cebus_device_sim};

bool cebus_device_register(const cebus_device_ops *ops)
{
    bool added = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < MAX_DEVICES && !added; i++) {
        if (devices[i] == NULL || strcmp(devices[i]->name, ops->name) == 0) {
            devices[i] = ops;
            added = true;
        }
    }
    pthread_mutex_unlock(&lock);
    return added;
}

const cebus_device_ops *cebus_device_find(const char *name)
{
    const cebus_device_ops *found = NULL;
    size_t length = strcspn(name, ":");
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < MAX_DEVICES && devices[i] != NULL && found == NULL; i++) {
        if (strlen(devices[i]->name) == length && strncmp(devices[i]->name, name, length) == 0)
            found = devices[i];
    }
    pthread_mutex_unlock(&lock);
    return found;
}

const char *cebus_device_name(size_t i)
{
    pthread_mutex_lock(&lock);
    const cebus_device_ops *found = i < MAX_DEVICES ? devices[i] : NULL;
    pthread_mutex_unlock(&lock);
    return found != NULL ? found->name : NULL;
}
