/* The probe kind `tcp-banner`: whether a server begins with the banner that is expected. */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../bindings/tcp_banner.h"
#include "config.h"

typedef exports_probehost_plugin_probe_report_t report;
typedef probehost_plugin_tcp_error_t tcp_error;

/* The bindings link to an object file with the types of the contract. `wasm-tools component embed`
   puts those into the module instead, so that there is no binary among the sources. */
void __component_type_object_force_link_tcp_banner(void);
void __component_type_object_force_link_tcp_banner(void) {}

/* A message for people. What does not fit is left out: the host cuts it at the same length. */
struct text {
    char bytes[513];
    size_t length;
};

static void add(struct text *text, const char *more) {
    while (*more != '\0' && text->length < sizeof text->bytes - 1) text->bytes[text->length++] = *more++;
    text->bytes[text->length] = '\0';
}

static void add_number(struct text *text, unsigned number) {
    char digits[12];
    size_t at = sizeof digits - 1;
    digits[at] = '\0';
    do digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    add(text, digits + at);
}

/* `mail.example:25`, `[::1]:25` */
static struct text who(const struct config *config) {
    struct text text = {.length = 0};
    bool brackets = strchr(config->host, ':') != NULL;
    add(&text, brackets ? "[" : "");
    add(&text, config->host);
    add(&text, brackets ? "]:" : ":");
    add_number(&text, config->port);
    return text;
}

/* Everything that is handed to the host is on the heap: the bindings free it afterwards. */
static tcp_banner_string_t owned(const char *text) {
    tcp_banner_string_t copy;
    tcp_banner_string_dup(&copy, text);
    return copy;
}

void exports_probehost_plugin_probe_describe(exports_probehost_plugin_probe_manifest_t *manifest) {
    *manifest = (exports_probehost_plugin_probe_manifest_t){
        .name = owned("tcp-banner"),
        .version = owned("0.1.0"),
        .description = owned("Whether a server begins with the banner that is expected."),
        .config_schema = owned(SCHEMA),
        .interval = {.default_ = 30, .minimum = 5, .maximum = 86400},
        .timeout_ms = 10000,
        .threshold = 2,
        .concurrency = {.is_some = false},
    };
}

/* What a check reaches. The host grants exactly this, as far as the config names it. */
bool exports_probehost_plugin_probe_plan(tcp_banner_string_t *text,
                                         exports_probehost_plugin_probe_check_plan_t *plan,
                                         exports_probehost_plugin_probe_config_error_t *error) {
    struct config config;
    struct wrong wrong;
    int refused = read_config(text->ptr, text->len, &config, &wrong);
    tcp_banner_string_free(text);
    if (refused != 0) {
        error->path = owned(wrong.key);
        error->message = owned(wrong.message);
        return false;
    }
    probehost_plugin_types_endpoint_t *endpoint = malloc(sizeof *endpoint);
    endpoint->tag = PROBEHOST_PLUGIN_TYPES_ENDPOINT_TCP;
    endpoint->val.tcp.host = owned(config.host);
    endpoint->val.tcp.port = config.port;
    plan->subject = owned(who(&config).bytes);
    plan->endpoints.ptr = endpoint;
    plan->endpoints.len = 1;
    return true;
}

static void fail(report *report, probehost_plugin_types_reason_t reason, const char *message) {
    report->outcome.tag = PROBEHOST_PLUGIN_TYPES_OUTCOME_FAIL;
    report->outcome.val.fail.reason = reason;
    report->outcome.val.fail.message = owned(message);
}

/* What an error of the tcp capability means for the target. */
static void fail_by(report *report, tcp_error *error) {
    static const probehost_plugin_types_reason_t reasons[] = {
        [PROBEHOST_PLUGIN_TCP_ERROR_KIND_DENIED] = PROBEHOST_PLUGIN_TYPES_REASON_CONFIG,
        [PROBEHOST_PLUGIN_TCP_ERROR_KIND_INVALID] = PROBEHOST_PLUGIN_TYPES_REASON_CONFIG,
        [PROBEHOST_PLUGIN_TCP_ERROR_KIND_TIMEOUT] = PROBEHOST_PLUGIN_TYPES_REASON_TIMEOUT,
        [PROBEHOST_PLUGIN_TCP_ERROR_KIND_NAME_NOT_FOUND] = PROBEHOST_PLUGIN_TYPES_REASON_NETWORK,
        [PROBEHOST_PLUGIN_TCP_ERROR_KIND_RESOLVER] = PROBEHOST_PLUGIN_TYPES_REASON_NETWORK,
        [PROBEHOST_PLUGIN_TCP_ERROR_KIND_REFUSED] = PROBEHOST_PLUGIN_TYPES_REASON_NETWORK,
        [PROBEHOST_PLUGIN_TCP_ERROR_KIND_UNREACHABLE] = PROBEHOST_PLUGIN_TYPES_REASON_NETWORK,
        [PROBEHOST_PLUGIN_TCP_ERROR_KIND_CLOSED] = PROBEHOST_PLUGIN_TYPES_REASON_NETWORK,
        [PROBEHOST_PLUGIN_TCP_ERROR_KIND_TLS] = PROBEHOST_PLUGIN_TYPES_REASON_TLS,
        [PROBEHOST_PLUGIN_TCP_ERROR_KIND_TOO_LARGE] = PROBEHOST_PLUGIN_TYPES_REASON_ANSWER,
    };
    tcp_banner_string_t message = error->message;
    error->message = (tcp_banner_string_t){NULL, 0};
    if (error->kind == PROBEHOST_PLUGIN_TCP_ERROR_KIND_HOST) {
        /* What the host could not do says nothing about the target. */
        report->outcome.tag = PROBEHOST_PLUGIN_TYPES_OUTCOME_INCONCLUSIVE;
        report->outcome.val.inconclusive = message;
    } else {
        report->outcome.tag = PROBEHOST_PLUGIN_TYPES_OUTCOME_FAIL;
        report->outcome.val.fail.reason = reasons[error->kind];
        report->outcome.val.fail.message = message;
    }
    probehost_plugin_tcp_error_free(error);
}

static void measure(report *report, const char *name, double seconds) {
    probehost_plugin_types_measurement_t *measurement = malloc(sizeof *measurement);
    measurement->name = owned(name);
    measurement->unit = PROBEHOST_PLUGIN_TYPES_UNIT_SECONDS;
    measurement->value = seconds;
    report->measurements.ptr = measurement;
    report->measurements.len = 1;
}

/* Reads as much as the banner is long, and no further than to where it differs. */
static void compare(const struct config *config, probehost_plugin_tcp_borrow_connection_t connection,
                    report *report) {
    struct text message = who(config);
    tcp_error error;
    for (size_t seen = 0; seen < config->banner_length;) {
        tcp_banner_option_list_u8_t bytes;
        uint32_t left = (uint32_t)(config->banner_length - seen);
        if (!probehost_plugin_tcp_method_connection_read(connection, left, &bytes, &error))
            return fail_by(report, &error);
        if (!bytes.is_some) {
            add(&message, " closed the connection before its banner was whole");
            return fail(report, PROBEHOST_PLUGIN_TYPES_REASON_NETWORK, message.bytes);
        }
        bool same = memcmp(bytes.val.ptr, config->banner + seen, bytes.val.len) == 0;
        seen += bytes.val.len;
        tcp_banner_option_list_u8_free(&bytes);
        if (!same) {
            add(&message, " begins with another banner than is expected");
            return fail(report, PROBEHOST_PLUGIN_TYPES_REASON_ANSWER, message.bytes);
        }
    }
    report->outcome.tag = PROBEHOST_PLUGIN_TYPES_OUTCOME_PASS;
}

void exports_probehost_plugin_probe_check(tcp_banner_string_t *text,
                                          exports_probehost_plugin_probe_context_t *context,
                                          report *report) {
    struct config config;
    struct wrong wrong;
    int refused = read_config(text->ptr, text->len, &config, &wrong);
    tcp_banner_string_free(text);
    exports_probehost_plugin_probe_context_free(context);
    memset(report, 0, sizeof *report);
    if (refused != 0) return fail(report, PROBEHOST_PLUGIN_TYPES_REASON_CONFIG, wrong.message);

    probehost_plugin_tcp_address_t to = {owned(config.host), config.port};
    probehost_plugin_tcp_own_connection_t connection;
    tcp_error error;
    bool connected = probehost_plugin_tcp_static_connection_connect(&to, &connection, &error);
    probehost_plugin_tcp_address_free(&to);
    if (!connected) return fail_by(report, &error);
    probehost_plugin_tcp_borrow_connection_t borrowed = probehost_plugin_tcp_borrow_connection(connection);
    probehost_plugin_tcp_timings_t timings;
    probehost_plugin_tcp_method_connection_timings(borrowed, &timings);
    if (timings.connect.is_some) measure(report, "connect", timings.connect.val);
    compare(&config, borrowed, report);
    probehost_plugin_tcp_connection_drop_own(connection);
}
