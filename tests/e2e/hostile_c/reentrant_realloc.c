/* Calls a capability of the host from `cabi_realloc`, while the host writes the result of another
   call into memory that this very function gives it. */

#include <stdlib.h>
#include <string.h>

#include "../../../examples/plugins/tcp-banner/bindings/tcp_banner.h"
#include "../../../examples/plugins/tcp-banner/src/config.h"

static bool armed;
static probehost_plugin_tcp_own_connection_t connection;

static void read_some(void) {
    tcp_banner_option_list_u8_t bytes;
    probehost_plugin_tcp_error_t error;
    probehost_plugin_tcp_method_connection_read(probehost_plugin_tcp_borrow_connection(connection), 3,
                                                &bytes, &error);
}

/* In place of the one of the bindings, which is weak. */
__attribute__((__export_name__("cabi_realloc")))
void *cabi_realloc(void *old, size_t old_size, size_t align, size_t new_size) {
    (void)old_size;
    if (armed) {
        /* Once, so that this is no mere recursion. */
        armed = false;
        read_some();
    }
    return new_size == 0 ? (void *)align : realloc(old, new_size);
}

void exports_probehost_plugin_probe_check(tcp_banner_string_t *text,
                                          exports_probehost_plugin_probe_context_t *context,
                                          exports_probehost_plugin_probe_report_t *report) {
    struct config config;
    struct wrong wrong;
    probehost_plugin_tcp_error_t error;
    (void)context;
    memset(report, 0, sizeof *report);
    if (read_config(text->ptr, text->len, &config, &wrong) != 0) abort();
    probehost_plugin_tcp_address_t to = {{(uint8_t *)config.host, strlen(config.host)}, config.port};
    if (!probehost_plugin_tcp_static_connection_connect(&to, &connection, &error)) abort();
    armed = true;
    read_some();
    /* Were it let through, the probe would pass. */
}
