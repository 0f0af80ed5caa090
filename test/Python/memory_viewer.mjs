// Runs the functions of PyTorch's memory viewer that read a snapshot, and prints what it would draw, as JSON.
//
//   node memory_viewer.mjs MemoryViz.js SNAPSHOT.pickle
//
// The file is torch/utils/viz/MemoryViz.js of PyTorch. Its page is replaced by an object that accepts every call, since
// only the drawing needs one.

import {readFileSync} from 'node:fs';

const [viewer, snapshot] = process.argv.slice(2);
const page = new Proxy(function () {}, {
  get: (_, name) => (name === Symbol.toPrimitive ? () => 0 : page),
  apply: () => page,
});
const text = readFileSync(viewer, 'utf8')
  .replace(/^import [^;]*;/gm, '')
  .replace(/^export (?=(async )?function|const|let)/gm, '')
  .replace(/^export \{[^}]*\};/gm, '');
const names = ['d3', 'axisLeft', 'scaleLinear', 'zoom', 'zoomIdentity', 'brushX', 'document', 'window', 'console'];
const load = new Function(
  ...names,
  `${text}\nreturn {unpickle, annotate_snapshot, process_alloc_data, format_frames};`,
);
const functions = load(...names.map(() => page));

const bytes = readFileSync(snapshot);
const data = functions.unpickle(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength));
functions.annotate_snapshot(data);
const drawn = functions.process_alloc_data(data, 0, false, 15000);
const areas = drawn.allocations_over_time.filter(area => area.elem !== 'summarized');
console.log(
  JSON.stringify({
    peak: drawn.max_size,
    steps: drawn.max_at_time.length,
    areas: areas.length,
    elements: drawn.elements_length,
    categories: data.categories,
    labels: areas.slice(0, 20000).map(area => drawn.context_for_id(area.elem)),
    frames: [...new Set(data.device_traces[0].map(event => functions.format_frames(event.frames)))],
  }),
);
