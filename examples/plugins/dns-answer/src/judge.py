"""What needs no host: reading the config, and what an answer means. The tests run it natively."""

import json
import re
from dataclasses import dataclass

TYPES = ["A", "AAAA", "CAA", "CNAME", "MX", "NS", "PTR", "SOA", "SRV", "TXT"]

SCHEMA = {
    "type": "object",
    "properties": {
        "name": {
            "type": "string",
            "description": "The name to ask for, in ASCII, in full: example.com.",
        },
        "type": {
            "enum": TYPES,
            "default": "A",
            "description": "The type of the records to ask for.",
        },
        "server": {
            "type": "string",
            "description": "The name server to ask, host:port. Without it, the host's own.",
        },
        "expected": {
            "type": "array",
            "items": {"type": "string"},
            "minItems": 1,
            "description": "All the records, in any order, as zone files spell them: 10 mail.example.com."
            " Without it, at least one.",
        },
    },
    "required": ["name"],
    "additionalProperties": False,
}

_LABEL = re.compile(r"[A-Za-z0-9_-]{1,63}")


class ConfigError(Exception):
    """What is wrong with a config, and where in it."""

    def __init__(self, path: str, message: str):
        super().__init__(f"{path}: {message}")
        self.path = path
        self.message = message


@dataclass
class Config:
    name: str
    type: str
    # Host and port. None: the host's own name servers.
    server: tuple[str, int] | None
    # None: at least one, whatever it says.
    expected: list[str] | None


def parse(text: str) -> Config:
    """Reads a config."""
    try:
        given = json.loads(text)
    except ValueError:
        raise ConfigError("", "it is no JSON")
    if not isinstance(given, dict):
        raise ConfigError("", "give an object")
    for key in given:
        if key not in SCHEMA["properties"]:
            raise ConfigError(key, "there is no such key")
    name, kind, expected = given.get("name"), given.get("type", "A"), given.get("expected")
    labels = name.removesuffix(".").split(".") if isinstance(name, str) else [""]
    if len(labels) > 127 or not all(_LABEL.fullmatch(label) for label in labels) or len(name) > 253:
        raise ConfigError("name", "give a name in ASCII, as example.com")
    if kind not in TYPES:
        raise ConfigError("type", f"give one of {', '.join(TYPES)}")
    server = _address(given["server"]) if "server" in given else None
    if "expected" in given and not (
        isinstance(expected, list) and expected and all(isinstance(one, str) for one in expected)
    ):
        raise ConfigError("expected", "give a list of texts, at least one")
    return Config(name, kind, server, expected)


def _address(text: object) -> tuple[str, int]:
    host, port = "", ""
    if isinstance(text, str):
        host, _, port = text.rpartition(":")
    if host.startswith("[") and host.endswith("]"):
        host = host[1:-1]
    elif ":" in host:
        host = ""
    if not host or not re.fullmatch(r"[0-9]{1,5}", port) or not 1 <= int(port) <= 65535:
        raise ConfigError("server", "give host:port, as 192.0.2.53:53 or [2001:db8::53]:53")
    return host, int(port)


def _same(kind: str, data: str) -> str:
    """What stands for a record where two are compared: names have no case, and end with a dot or not."""
    return data if kind == "TXT" else data.lower().removesuffix(".")


def judge(config: Config, server: str, code: str, truncated: bool, records: list[tuple[str, str]]) -> str | None:
    """Why an answer says that the target is unwell; None when it is well.

    Of the response code it takes the name, of each record type and data. Messages hold no record
    that the config does not name.
    """
    what = f"{config.name} {config.type}"
    if code != "NoError":
        words = {"NxDomain": "NXDOMAIN: there is no such name", "ServFail": "SERVFAIL"}.get(code, code)
        return f"{server} answered for {what} with {words}"
    if truncated:
        return f"{server} has a longer answer for {what} than fits, and it can't be fetched by TCP"
    # A CNAME on the way to what was asked for is none of it.
    found = {_same(config.type, data) for kind, data in records if kind == config.type}
    if config.expected is None:
        return None if found else f"{server} has no record for {what}"
    missing = [one for one in config.expected if _same(config.type, one) not in found]
    others = len(found - {_same(config.type, one) for one in config.expected})
    wrong = [f"lacks {missing[0]}"] if missing else []
    if others:
        wrong.append(f"has {others} that {'is' if others == 1 else 'are'} not expected")
    return f"{server}, asked for {what}, {' and '.join(wrong)}" if wrong else None
