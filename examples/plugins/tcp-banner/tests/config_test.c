/* Runs natively: make test */

#undef NDEBUG
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "../src/config.h"

static int read(const char *json, struct config *config, struct wrong *wrong) {
    return read_config((const uint8_t *)json, strlen(json), config, wrong);
}

int main(void) {
    struct config config;
    struct wrong wrong;

    assert(read("{\"host\": \"mail.example\"}", &config, &wrong) == 0);
    assert(strcmp(config.host, "mail.example") == 0 && config.port == 25);
    assert(config.banner_length == 3 && memcmp(config.banner, "220", 3) == 0);

    assert(read(" {\"port\":587 ,\n\"banner\":\"a\\r\\n\\\"\\u0000\\u0041\xc3\xbc\",\"host\":\"::1\"}\n", &config, &wrong) == 0);
    assert(strcmp(config.host, "::1") == 0 && config.port == 587);
    assert(config.banner_length == 8 && memcmp(config.banner, "a\r\n\"\0A\xc3\xbc", 8) == 0);

    static const char *const bad[][2] = {
        {"", ""}, {"[]", ""}, {"null", ""}, {"{", ""}, {"{\"host\":\"a\"", "host"}, {"{\"host\":\"a\",}", ""},
        {"{\"host\":\"a\"} x", ""}, {"{}", "host"}, {"{\"host\":\"\"}", "host"}, {"{\"host\":1}", "host"},
        {"{\"host\":\"a", "host"}, {"{\"host\":\"a\\", "host"}, {"{\"host\":\"a\\u00", "host"},
        {"{\"host\":\"a\\u0000\"}", "host"}, {"{\"host\":\"a\\u00fc\"}", "host"},
        {"{\"host\":\"a\",\"port\":0}", "port"}, {"{\"host\":\"a\",\"port\":65536}", "port"},
        {"{\"host\":\"a\",\"port\":-1}", "port"}, {"{\"host\":\"a\",\"port\":1.5}", "port"},
        {"{\"host\":\"a\",\"port\":\"25\"}", "port"}, {"{\"host\":\"a\",\"port\":99999999999}", "port"},
        {"{\"host\":\"a\",\"banner\":\"\"}", "banner"}, {"{\"host\":\"a\",\"banner\":[[]]}", "banner"},
        {"{\"host\":\"a\",\"x\":1}", "x"},
    };
    for (size_t each = 0; each < sizeof bad / sizeof *bad; each++) {
        wrong.message = NULL;
        int refused = read(bad[each][0], &config, &wrong) == -1 && strcmp(wrong.key, bad[each][1]) == 0;
        if (!refused || wrong.message == NULL) fprintf(stderr, "%s\n", bad[each][0]);
        assert(refused && wrong.message != NULL);
    }

    /* As long as it may be, and longer. */
    char long_host[300];
    memcpy(long_host, "{\"host\":\"", 9);
    memset(long_host + 9, 'a', MAX_HOST + 1);
    strcpy(long_host + 9 + MAX_HOST, "\"}");
    assert(read(long_host, &config, &wrong) == 0 && strlen(config.host) == MAX_HOST);
    strcpy(long_host + 9 + MAX_HOST, "a\"}");
    assert(read(long_host, &config, &wrong) == -1);
    puts("ok");
    return 0;
}
