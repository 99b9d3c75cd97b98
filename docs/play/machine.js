"use strict";

/*
 * The simulator in a worker. `ENGINE` is the module, packed: `make wasm` makes it. A page that is
 * opened from a disk may start no worker from a file, so the worker's source goes along as text.
 */

/* Unpacks a module and returns a function that has a request answered. */
async function startEngine(packed) {
  const letters = atob(packed);
  const bytes = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i += 1) bytes[i] = letters.charCodeAt(i);
  const unpacked = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const code = await new Response(unpacked).arrayBuffer();
  const module = await WebAssembly.compile(code);
  let exports = null;
  return (request) => {
    exports = exports ?? new WebAssembly.Instance(module, {}).exports;
    try {
      const text = new TextEncoder().encode(JSON.stringify(request));
      const room = exports.room(text.length);
      if (room === 0) return { problem: "the request is too long" };
      new Uint8Array(exports.memory.buffer, room, text.length).set(text);
      const at = exports.answer();
      const answer = new Uint8Array(exports.memory.buffer, at, exports.length());
      return JSON.parse(new TextDecoder().decode(answer));
    } catch (error) {
      exports = null; // Its memory cannot be trusted any more.
      return { problem: `the simulator failed, which is a fault of ours: ${error.message}` };
    }
  };
}

/* What the worker does: unpacks the module first, then answers. */
function workerBody() {
  let engine = null;
  self.onmessage = async ({ data }) => {
    if (data.packed !== undefined) {
      engine = startEngine(data.packed);
      engine.catch((error) => self.postMessage({ broken: error.message }));
      return;
    }
    const ask = await engine;
    const begun = performance.now();
    const answer = ask(data.request);
    self.postMessage({ answer, took: performance.now() - begun });
  };
}

/*
 * Has requests answered in a worker, one at a time. A request that waits gives way to a newer one.
 * After `patience` milliseconds without an answer the worker is ended and another takes its place.
 */
class Machine {
  constructor(packed, patience) {
    const source = `"use strict"; ${startEngine}; (${workerBody})();`;
    this.url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    this.packed = packed;
    this.patience = patience;
    this.start();
  }

  start() {
    this.worker = new Worker(this.url);
    this.worker.onmessage = ({ data }) => this.answered(data);
    this.worker.onerror = (event) => this.answered({ broken: event.message });
    this.worker.postMessage({ packed: this.packed });
    this.running = null;
    this.waiting = null;
  }

  /* Resolves with the answer, or with null once a newer request took this one's place. */
  ask(request) {
    return new Promise((resolve) => {
      this.waiting?.resolve(null);
      this.waiting = { request, resolve };
      this.next();
    });
  }

  get idle() {
    return this.running === null && this.waiting === null;
  }

  next() {
    if (this.running !== null || this.waiting === null) return;
    this.running = this.waiting;
    this.waiting = null;
    this.worker.postMessage({ request: this.running.request });
    this.clock = setTimeout(() => this.late(), this.patience);
  }

  answered({ answer, took, broken }) {
    clearTimeout(this.clock);
    const done = this.running;
    this.running = null;
    const problem = `the simulator cannot run here: ${broken}`;
    done?.resolve(broken === undefined ? { ...answer, took } : { problem });
    this.next();
  }

  late() {
    const { running, waiting } = this;
    this.worker.terminate();
    this.start();
    running.resolve({ problem: `no result within ${this.patience / 1000} s; try a slower line` });
    if (waiting !== null) {
      this.waiting = waiting;
      this.next();
    }
  }
}
