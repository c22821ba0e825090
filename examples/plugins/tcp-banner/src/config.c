/* Reads a config. C has no JSON in its library, and a config is one object of texts and numbers:
   this reads just that. */

#include "config.h"

#include <stdbool.h>
#include <string.h>

const char SCHEMA[] =
    "{\"type\":\"object\",\"properties\":{"
    "\"host\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":253,"
    "\"description\":\"A name or an IP address, without brackets.\"},"
    "\"port\":{\"type\":\"integer\",\"minimum\":1,\"maximum\":65535,\"default\":25,"
    "\"description\":\"Usually 25, or 587.\"},"
    "\"banner\":{\"type\":\"string\",\"minLength\":1,\"maxLength\":256,\"default\":\"220\","
    "\"description\":\"What the server has to begin with: 220 for SMTP, SSH-2.0- for SSH.\"}},"
    "\"required\":[\"host\"],\"additionalProperties\":false}";

struct reader {
    const uint8_t *at;
    const uint8_t *end;
};

static int refuse(struct wrong *wrong, const char *key, const char *message) {
    strncpy(wrong->key, key, sizeof wrong->key - 1);
    wrong->key[sizeof wrong->key - 1] = '\0';
    wrong->message = message;
    return -1;
}

/* The next byte after blanks, which stays; 0 at the end. */
static uint8_t peek(struct reader *reader) {
    while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) != NULL && *reader->at != 0)
        reader->at++;
    return reader->at < reader->end ? *reader->at : 0;
}

static bool take(struct reader *reader, uint8_t byte) {
    if (byte == 0 || peek(reader) != byte) return false;
    reader->at++;
    return true;
}

static bool read_hex(struct reader *reader, unsigned *value) {
    *value = 0;
    for (int digit = 0; digit < 4; digit++) {
        if (reader->at == reader->end) return false;
        uint8_t byte = *reader->at++;
        uint8_t lower = byte | 0x20;
        if (byte >= '0' && byte <= '9') *value = *value * 16 + (byte - '0');
        else if (lower >= 'a' && lower <= 'f') *value = *value * 16 + (lower - 'a' + 10);
        else return false;
    }
    return true;
}

/* Reads a text. Its length, or -1: it is none, or longer than `size`. Of the characters that can be
   written as \u it takes those of ASCII; the host writes all others as they are. */
static int read_text(struct reader *reader, uint8_t *text, size_t size) {
    size_t length = 0;
    if (!take(reader, '"')) return -1;
    while (reader->at < reader->end && *reader->at != '"') {
        uint8_t byte = *reader->at++;
        if (byte < 0x20 || length == size) return -1;
        if (byte == '\\') {
            static const char escapes[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
            if (reader->at == reader->end) return -1;
            byte = *reader->at++;
            unsigned value;
            const char *found = byte == 0 ? NULL : strchr(escapes, byte);
            if (found != NULL) byte = (uint8_t)meant[found - escapes];
            else if (byte == 'u' && read_hex(reader, &value) && value < 0x80) byte = (uint8_t)value;
            else return -1;
        }
        text[length++] = byte;
    }
    return take(reader, '"') ? (int)length : -1;
}

/* Reads a port, or gives 0. */
static uint16_t read_port(struct reader *reader) {
    uint32_t value = 0;
    if (peek(reader) == '0') return 0;
    while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9' && value <= 65535)
        value = value * 10 + (*reader->at++ - '0');
    return value <= 65535 ? (uint16_t)value : 0;
}

static int read_entry(struct reader *reader, struct config *config, struct wrong *wrong) {
    uint8_t key[sizeof wrong->key];
    int length = read_text(reader, key, sizeof key - 1);
    if (length < 0 || !take(reader, ':')) return refuse(wrong, "", "it has no such key, or is no JSON");
    key[length] = '\0';
    if (strcmp((char *)key, "host") == 0) {
        length = read_text(reader, (uint8_t *)config->host, MAX_HOST);
        if (length <= 0 || memchr(config->host, 0, (size_t)length) != NULL)
            return refuse(wrong, "host", "give a name or an IP address as a text");
        config->host[length] = '\0';
    } else if (strcmp((char *)key, "port") == 0) {
        config->port = read_port(reader);
        if (config->port == 0) return refuse(wrong, "port", "give a whole number from 1 to 65535");
    } else if (strcmp((char *)key, "banner") == 0) {
        length = read_text(reader, config->banner, MAX_BANNER);
        if (length <= 0) return refuse(wrong, "banner", "give a text of 1 to 256 bytes");
        config->banner_length = (size_t)length;
    } else {
        return refuse(wrong, (char *)key, "there is no such key");
    }
    uint8_t next = peek(reader);
    return next == ',' || next == '}' ? 0 : refuse(wrong, (char *)key, "its value can't be read");
}

int read_config(const uint8_t *json, size_t length, struct config *config, struct wrong *wrong) {
    struct reader reader = {json, json + length};
    memset(config, 0, sizeof *config);
    config->port = 25;
    memcpy(config->banner, "220", config->banner_length = 3);
    if (!take(&reader, '{')) return refuse(wrong, "", "give an object");
    if (!take(&reader, '}')) {
        do {
            if (read_entry(&reader, config, wrong) != 0) return -1;
        } while (take(&reader, ','));
        if (!take(&reader, '}')) return refuse(wrong, "", "it is no JSON");
    }
    peek(&reader);
    if (reader.at != reader.end) return refuse(wrong, "", "it is no JSON");
    if (config->host[0] == '\0') return refuse(wrong, "host", "name the server");
    return 0;
}
