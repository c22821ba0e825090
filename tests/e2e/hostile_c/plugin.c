/* What the hostile plugins have in common. NAME is the probe kind; each brings its own check.
   Bindings, contract and config are those of the example tcp-banner. */

#include <stdlib.h>

#include "../../../examples/plugins/tcp-banner/bindings/tcp_banner.h"
#include "../../../examples/plugins/tcp-banner/src/config.h"

/* The types of the contract come by `wasm-tools component embed`. */
void __component_type_object_force_link_tcp_banner(void);
void __component_type_object_force_link_tcp_banner(void) {}

static tcp_banner_string_t owned(const char *text) {
    tcp_banner_string_t copy;
    tcp_banner_string_dup(&copy, text);
    return copy;
}

void exports_probehost_plugin_probe_describe(exports_probehost_plugin_probe_manifest_t *manifest) {
    *manifest = (exports_probehost_plugin_probe_manifest_t){
        .name = owned(NAME),
        .version = owned("0.1.0"),
        .description = owned("A plugin that does what none should."),
        .config_schema = owned(SCHEMA),
        .interval = {.default_ = 30, .minimum = 1, .maximum = 86400},
        .timeout_ms = 20000,
        .threshold = 2,
        .concurrency = {.is_some = false},
    };
}

bool exports_probehost_plugin_probe_plan(tcp_banner_string_t *text,
                                         exports_probehost_plugin_probe_check_plan_t *plan,
                                         exports_probehost_plugin_probe_config_error_t *error) {
    struct config config;
    struct wrong wrong;
    if (read_config(text->ptr, text->len, &config, &wrong) != 0) {
        error->path = owned(wrong.key);
        error->message = owned(wrong.message);
        return false;
    }
    probehost_plugin_types_endpoint_t *endpoint = malloc(sizeof *endpoint);
    endpoint->tag = PROBEHOST_PLUGIN_TYPES_ENDPOINT_TCP;
    endpoint->val.tcp.host = owned(config.host);
    endpoint->val.tcp.port = config.port;
    plan->subject = owned(config.host);
    plan->endpoints.ptr = endpoint;
    plan->endpoints.len = 1;
    return true;
}
