// Runs Perfetto's trace processor, as the worker of a page does.
//
// Usage: node trace_processor.mjs .../engine_bundle.js < requests > replies
// Both are messages TraceProcessorRpcStream of Perfetto's protos/perfetto/trace_processor/trace_processor.proto.

import { webcrypto as crypto } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import vm from 'node:vm';

const bundle = process.argv[2];

/** Reads the worker's WebAssembly, which is beside its script. */
class XMLHttpRequest {
  open(method, name) {
    this.name = name;
  }

  send() {
    this.response = readFileSync(join(dirname(bundle), this.name));
  }
}

const log = (...words) => console.error(...words);
const worker = {
  XMLHttpRequest,
  WorkerGlobalScope: class {},
  TextDecoder,
  TextEncoder,
  URL,
  Uint8Array,
  crypto,
  performance,
  setTimeout,
  location: { href: 'worker' },
  console: { log, warn: log, error: log },
};
worker.self = worker;
vm.runInNewContext(readFileSync(bundle, 'utf8'), worker);

const port = { postMessage: (reply) => process.stdout.write(reply) };
worker.onmessage({ data: port });
// The worker initializes itself in a promise.
await new Promise(setImmediate);
port.onmessage({ data: new Uint8Array(readFileSync(0)) });
