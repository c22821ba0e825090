"""Runs natively: python3 -m unittest discover tests"""

import json
import sys
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent / "src"))

import judge

SERVER = "192.0.2.53:53"


def said(code="NoError", records=(), truncated=False, **config):
    read = judge.parse(json.dumps({"name": "a.example", **config}))
    return judge.judge(read, SERVER, code, truncated, list(records))


class Judging(unittest.TestCase):
    def test_the_expected_records_pass_in_any_order(self):
        two = [("A", "192.0.2.1"), ("A", "192.0.2.2")]
        self.assertIsNone(said(records=two))
        self.assertIsNone(said(records=two, expected=["192.0.2.2", "192.0.2.1"]))
        alias = [("CNAME", "b.example."), ("A", "192.0.2.1")]
        self.assertIsNone(said(records=alias, expected=["192.0.2.1"]))
        self.assertIsNone(said(records=[("MX", "10 Mail.example.")], type="MX", expected=["10 mail.example"]))

    def test_others_fail_and_say_what_lacks(self):
        two = [("A", "192.0.2.1"), ("A", "192.0.2.2")]
        for wrong, text in [
            (said(), "192.0.2.53:53 has no record for a.example A"),
            (said(records=[("CNAME", "b.example.")]), "192.0.2.53:53 has no record for a.example A"),
            (said(records=two, expected=["192.0.2.1"]), "has 1 that is not expected"),
            (said(records=two[:1], expected=["192.0.2.1", "192.0.2.2"]), "asked for a.example A, lacks 192.0.2.2"),
            (said(records=two, expected=["192.0.2.9"]), "lacks 192.0.2.9 and has 2 that are not expected"),
            (said(records=[("TXT", "A")], type="TXT", expected=["a"]), "lacks a and has 1"),
            (said("NxDomain"), "for a.example A with NXDOMAIN: there is no such name"),
            (said("ServFail"), "with SERVFAIL"),
            (said(truncated=True), "than fits"),
        ]:
            self.assertIn(text, wrong)

    def test_a_server_is_host_and_port(self):
        for text, server in [("ns.example:53", ("ns.example", 53)), ("[2001:db8::1]:5353", ("2001:db8::1", 5353))]:
            self.assertEqual(judge.parse(json.dumps({"name": "a", "server": text})).server, server)

    def test_a_config_that_cannot_be_is_refused(self):
        for text in ["", "[]", "{}", '{"name": 1}', '{"name": ""}', '{"name": "a..b"}', '{"name": "b\u00fccher.example"}']:
            with self.assertRaises(judge.ConfigError, msg=text):
                judge.parse(text)
        for key, value in [
            ("type", "ANY"),
            ("type", ["A"]),
            ("server", "ns.example"),
            ("server", "2001:db8::1:53"),
            ("server", "ns.example:0"),
            ("server", None),
            ("expected", []),
            ("expected", [1]),
            ("expected", "192.0.2.1"),
            ("x", 1),
        ]:
            with self.assertRaises(judge.ConfigError, msg=f"{key}: {value}"):
                judge.parse(json.dumps({"name": "a.example", key: value}))


if __name__ == "__main__":
    unittest.main()
