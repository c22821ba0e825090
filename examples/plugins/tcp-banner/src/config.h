/* A check's config. Nothing here needs a host: the tests run it natively. */

#ifndef CONFIG_H
#define CONFIG_H

#include <stddef.h>
#include <stdint.h>

/* Longest name or address, and longest banner, in bytes. */
#define MAX_HOST 253
#define MAX_BANNER 256

struct config {
    char host[MAX_HOST + 1];
    uint16_t port;
    /* What the server's first bytes have to be. It may hold zeros. */
    uint8_t banner[MAX_BANNER];
    size_t banner_length;
};

/* What is wrong with a config: the key (empty for the whole), and what would be right. */
struct wrong {
    char key[32];
    const char *message;
};

/* The JSON Schema of a config. */
extern const char SCHEMA[];

/* Reads a config. Gives 0, or -1 with `wrong` filled in. */
int read_config(const uint8_t *json, size_t length, struct config *config, struct wrong *wrong);

#endif
