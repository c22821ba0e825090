/* Grows a table of its own without end. A table is no linear memory, so the limit on that does not
   hold it. */

#include <stdlib.h>

#include "../../../examples/plugins/tcp-banner/bindings/tcp_banner.h"

/* Of functions: `__builtin_wasm_table_grow` knows only tables of what needs a garbage collector. */
__asm__(".tabletype grown, funcref\n"
        "grown:\n");

/* The elements that there were before; -1 when there can't be more. */
static int grow(void) {
    int before;
    __asm__ volatile("ref.null_func\n"
                     "i32.const 512\n"
                     "table.grow grown\n"
                     "local.set %0"
                     : "=r"(before));
    return before;
}

void exports_probehost_plugin_probe_check(tcp_banner_string_t *config,
                                          exports_probehost_plugin_probe_context_t *context,
                                          exports_probehost_plugin_probe_report_t *report) {
    (void)config;
    (void)context;
    (void)report;
    while (grow() >= 0) {}
    /* Refused: it gives up, as the runtimes of most languages do. */
    abort();
}
