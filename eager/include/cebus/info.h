/**
 * @file info.h
 * What this build of cebus is made of.
 *
 * Thread-safety: any thread may call; nothing changes.
 */
#ifndef CEBUS_INFO_H
#define CEBUS_INFO_H

#include <cebus/base.h>

CEBUS_BEGIN_DECLS

/** A part of the library that a build may lack. Texts live as long as the process. */
typedef struct cebus_feature {
    const char *name;    /**< as in "oneDNN" */
    bool present;        /**< it is there and used */
    const char *version; /**< of what is running; "" when unknown or absent */
    const char *what;    /**< what it is for, or why it is absent, in a sentence */
} cebus_feature;

/** The library's version, as in "0.1.0". Never NULL. */
CEBUS_API const char *cebus_version(void);

/** Part number `i` into *out; false past the last. */
CEBUS_API bool cebus_feature_at(size_t i, cebus_feature *out);

/** Name of device number `i` of this build, as in "cpu"; "sim" is used as "sim:MACHINE"
 * (cebus_machine_name()). NULL past the last. */
CEBUS_API const char *cebus_device_name(size_t i);

CEBUS_END_DECLS

#endif
