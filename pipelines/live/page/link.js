// SPDX-License-Identifier: MIT
// The connection to the program: a WebSocket that is opened again whenever it closes.

import { isPreview, parseMasks, parsePreview } from './masks.js';

const waits = [250, 500, 1000, 2000];
const refusal = 1008; // code of a connection that the program closes with a reason
const confirmMs = 60; // between two confirmations of masks: the program counts requests
const deadMs = 8000; // the program tells its state seven times a second

export class Link extends EventTarget {
  #socket = null;
  #failures = 0;
  #last = 0;
  #state = 0; // number of the last one that came
  #masks = 0; // of the last masks
  #said = 0; // ms, when they were confirmed last
  #heard = 0; // ms, when anything came last; Infinity: there is no connection
  #replies = new Map();

  constructor() {
    super();
    this.#open();
    setInterval(() => this.silence > deadMs && this.#drop(), 1000);
  }

  #open() {
    const url = new URL('socket', location.href); // beside the page, whose path is a proxy's affair
    url.protocol = location.protocol === 'https:' ? 'wss:' : 'ws:';
    this.#socket = new WebSocket(url);
    this.#socket.binaryType = 'arraybuffer';
    this.#state = this.#masks = 0;
    this.#heard = performance.now();
    this.#socket.onmessage = ({ data }) => {
      this.#heard = performance.now();
      if (typeof data === 'string') this.#take(JSON.parse(data));
      else this.#takeMasks(data);
    };
    this.#socket.onclose = (e) => this.#closed(e);
  }

  // ms since anything came.
  get silence() {
    return performance.now() - this.#heard;
  }

  // Calls act(message) for each message of a type; 'masks', 'preview' and 'closed' are types, too.
  on(type, act) {
    this.addEventListener(type, ({ detail }) => act(detail));
  }

  #tell(type, detail) {
    this.dispatchEvent(new CustomEvent(type, { detail }));
  }

  #take(message) {
    if (message.type === 'hello') this.#failures = 0;
    if (message.type === 'state') {
      this.#state = message.n;
      this.#confirm();
    }
    const reply = this.#replies.get(message.re);
    this.#replies.delete(message.re);
    reply?.(message);
    this.#tell(message.type, message);
  }

  #takeMasks(data) {
    if (isPreview(data)) {
      this.#tell('preview', parsePreview(data));
      return;
    }
    const masks = parseMasks(data);
    this.#masks = masks.n;
    if (performance.now() - this.#said > confirmMs) this.#confirm();
    this.#tell('masks', masks);
  }

  #confirm() {
    this.#said = performance.now();
    this.send('seen', { n: this.#state, masks: this.#masks });
  }

  // What lies between may forget a connection and tell neither end: that one never closes.
  #drop() {
    this.#socket.onmessage = this.#socket.onclose = null;
    this.#socket.close();
    this.#closed({});
  }

  #closed({ code, reason }) {
    this.#heard = Infinity;
    for (const reply of this.#replies.values()) reply({ type: 'refused', why: 'The connection closed.' });
    this.#replies.clear();
    this.#tell('closed', code === refusal ? reason : '');
    setTimeout(() => this.#open(), waits[Math.min(this.#failures++, waits.length - 1)]);
  }

  // Sends a request that has no reply.
  send(op, fields = {}) {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify({ op, ...fields }));
  }

  // Sends a request; resolves to {type: 'done', id}, to what was asked for, or to {type: 'refused', why}.
  ask(op, fields = {}) {
    if (this.#socket.readyState !== WebSocket.OPEN)
      return Promise.resolve({ type: 'refused', why: 'There is no connection.' });
    const re = ++this.#last;
    this.send(op, { ...fields, re });
    return new Promise((resolve) => this.#replies.set(re, resolve));
  }
}
