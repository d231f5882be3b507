// SPDX-License-Identifier: MIT
// A sequence of JPEGs in one response, with the time of each. An image element would show them, but not tell their times.

const retry = 2000; // ms until the next attempt
const silentMs = 8000; // then no picture comes any more: the last one is repeated at least once a second
const longest = 1 << 24; // bytes of a picture

const fieldOf = (head, name) => Number(head.match(new RegExp(`^${name}: *(\\d+)`, 'im'))?.[1] ?? 0);

export class Pictures {
  #path;
  #show;
  #abort = new AbortController();
  #newest = null; // not decoded yet
  #busy = false;

  // show(bitmap, us): us is the running time of the frame; called until stop().
  constructor(path, show) {
    this.#path = path;
    this.#show = show;
    this.#run();
  }

  stop() {
    this.#abort.abort();
  }

  async #run() {
    const { signal } = this.#abort;
    while (!signal.aborted) {
      try {
        const response = await fetch(this.#path, { signal });
        if (response.ok) await this.#read(response.body.getReader());
      } catch {
        // The connection broke: the next attempt may work.
      }
      if (!signal.aborted) await new Promise((resolve) => setTimeout(resolve, retry));
    }
  }

  // What is not read waits in sockets, for seconds: all is read, and the newest is decoded.
  async #read(reader) {
    let bytes = new Uint8Array(0);
    for (;;) {
      const timer = setTimeout(() => reader.cancel(), silentMs);
      const { done, value } = await reader.read().finally(() => clearTimeout(timer));
      if (done) return;
      const joined = new Uint8Array(bytes.length + value.length);
      joined.set(bytes);
      joined.set(value, bytes.length);
      bytes = this.#take(joined);
      if (bytes.length > longest) throw new Error('a picture is too long');
    }
  }

  // Takes the newest picture that is complete; returns the rest.
  #take(bytes) {
    for (;;) {
      const text = new TextDecoder('latin1').decode(bytes.subarray(0, 512));
      const end = text.indexOf('\r\n\r\n') + 4;
      const size = end > 3 ? fieldOf(text.slice(0, end), 'Content-Length') : 0;
      if (end < 4 || bytes.length < end + size) return bytes;
      this.#newest = { jpeg: new Blob([bytes.subarray(end, end + size)], { type: 'image/jpeg' }),
        us: fieldOf(text.slice(0, end), 'X-Time-Us') };
      bytes = bytes.subarray(end + size);
      if (!this.#busy) this.#decode();
    }
  }

  async #decode() {
    this.#busy = true;
    while (this.#newest) {
      const { jpeg, us } = this.#newest;
      this.#newest = null;
      const bitmap = await createImageBitmap(jpeg).catch(() => null);
      if (bitmap && !this.#abort.signal.aborted) this.#show(bitmap, us);
      bitmap?.close();
    }
    this.#busy = false;
  }
}
