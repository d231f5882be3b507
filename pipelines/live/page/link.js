// SPDX-License-Identifier: MIT
// The connection to the program: a WebSocket that is opened again whenever it closes.

const waits = [250, 500, 1000, 2000];

export class Link extends EventTarget {
  #socket = null;
  #failures = 0;
  #last = 0;
  #replies = new Map();

  constructor() {
    super();
    this.#open();
  }

  #open() {
    const url = new URL('socket', location.href); // beside the page, whose path is a proxy's affair
    url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
    this.#socket = new WebSocket(url);
    this.#socket.onmessage = (event) => this.#take(JSON.parse(event.data));
    this.#socket.onclose = () => this.#closed();
  }

  #take(message) {
    if (message.type === 'hello') this.#failures = 0;
    if (message.type === 'state') this.send('seen', { n: message.n });
    const reply = this.#replies.get(message.re);
    if (reply && (message.type === 'done' || message.type === 'refused')) {
      this.#replies.delete(message.re);
      reply(message);
    }
    this.dispatchEvent(new CustomEvent(message.type, { detail: message }));
  }

  #closed() {
    for (const reply of this.#replies.values()) reply({ type: 'refused', why: 'The connection closed.' });
    this.#replies.clear();
    this.dispatchEvent(new Event('closed'));
    setTimeout(() => this.#open(), waits[Math.min(this.#failures++, waits.length - 1)]);
  }

  // Sends a request that has no reply.
  send(op, fields = {}) {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ op, ...fields }));
  }

  // Sends a request; resolves to {type: 'done', id} or {type: 'refused', why}.
  ask(op, fields = {}) {
    if (this.#socket.readyState !== WebSocket.OPEN)
      return Promise.resolve({ type: 'refused', why: 'There is no connection.' });
    const re = ++this.#last;
    this.send(op, { ...fields, re });
    return new Promise((resolve) => this.#replies.set(re, resolve));
  }
}
