"""The probe kind `dns-answer`: whether a name server answers with the records that are expected.

Import everything at the top of a module: what is not imported when the component is built is not
in it.
"""

import json

from componentize_py_types import Err
from wit_world import exports
from wit_world.imports import dns, log, types

import judge

# What an error of the dns capability means for the target.
_REASONS = {
    dns.ErrorKind.DENIED: types.Reason.CONFIG,
    dns.ErrorKind.INVALID: types.Reason.CONFIG,
    dns.ErrorKind.TIMEOUT: types.Reason.TIMEOUT,
    dns.ErrorKind.NAME_NOT_FOUND: types.Reason.NETWORK,
    dns.ErrorKind.RESOLVER: types.Reason.NETWORK,
    dns.ErrorKind.REFUSED: types.Reason.NETWORK,
    dns.ErrorKind.UNREACHABLE: types.Reason.NETWORK,
    dns.ErrorKind.PROTOCOL: types.Reason.ANSWER,
}


def _outcome_of(error: dns.Error) -> types.Outcome:
    # What the host could not do says nothing about the target.
    if error.kind == dns.ErrorKind.HOST:
        return types.Outcome_Inconclusive(error.message)
    reason = _REASONS.get(error.kind, types.Reason.UNKNOWN)
    return types.Outcome_Fail(types.Failure(reason, error.message))


class Probe(exports.Probe):
    """What the host calls: the exports of the interface `probe`."""

    def describe(self) -> types.Manifest:
        return types.Manifest(
            name="dns-answer",
            version="0.1.0",
            description="Whether a name server answers with the records that are expected.",
            config_schema=json.dumps(judge.SCHEMA),
            interval=types.Interval(default=60, minimum=5, maximum=86_400),
            timeout_ms=5_000,
            threshold=2,
            concurrency=None,
        )

    def plan(self, config: str) -> types.Plan:
        """What a check reaches. The host grants exactly this, as far as the config names it."""
        try:
            read = judge.parse(config)
        except judge.ConfigError as error:
            raise Err(types.ConfigError(path=error.path, message=error.message))
        endpoints = [types.Endpoint_Dns(read.name)]
        if read.server is not None:
            # By TCP it is asked when an answer does not fit a datagram.
            address = types.Address(*read.server)
            endpoints += [types.Endpoint_Udp(address), types.Endpoint_Tcp(address)]
        return types.Plan(subject=read.name, endpoints=endpoints)

    def check(self, config: str, context: types.Context) -> types.Report:
        read = judge.parse(config)
        server = None if read.server is None else types.Address(*read.server)
        try:
            answer = dns.query(read.name, dns.RecordType[read.type], server)
        except Err as error:
            return types.Report(outcome=_outcome_of(error.value), measurements=[])
        log.write(log.Level.INFO, f"{answer.server} answered with {len(answer.records)} records")
        measurements = [
            types.Measurement("records", types.Unit.NUMBER, float(len(answer.records))),
            types.Measurement("total", types.Unit.SECONDS, answer.total),
        ]
        code = type(answer.code).__name__.removeprefix("ResponseCode_")
        if isinstance(answer.code, dns.ResponseCode_Other):
            code = f"response code {answer.code.value}"
        records = [(record.type, record.data) for record in answer.records]
        wrong = judge.judge(read, answer.server, code, answer.truncated, records)
        outcome = (
            types.Outcome_Pass()
            if wrong is None
            else types.Outcome_Fail(types.Failure(types.Reason.ANSWER, wrong))
        )
        return types.Report(outcome=outcome, measurements=measurements)
