// SPDX-License-Identifier: MIT
// What a click would take is asked for while the mouse is over the picture.

const pauseMs = 80; // between two requests
const restMs = 500; // until the same place is asked about again: the picture moves on
const patienceMs = 1000; // then no answer comes any more

export class Hover {
  #view;
  #link;
  #at = null; // where the mouse is, 0 to 1
  #re = 0;
  #asked = -Infinity; // ms
  #waits = false; // for an answer
  #moved = false; // since it asked
  #timer = 0;

  constructor(view, link) {
    this.#view = view;
    this.#link = link;
    link.on('preview', (preview) => this.#take(preview));
    link.on('closed', () => this.at(null));
    document.addEventListener('visibilitychange', () => document.hidden && this.at(null));
  }

  // The mouse is there, where a click would begin an object; null: it would not.
  at(at) {
    this.#at = at;
    this.#moved = true;
    if (at) {
      this.#plan();
      return;
    }
    clearTimeout(this.#timer);
    this.#re++;
    this.#waits = false;
    this.#view.preview = null;
  }

  #plan() {
    const wait = this.#waits ? patienceMs : this.#moved ? pauseMs : restMs;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#ask(), this.#asked + wait - performance.now());
  }

  #ask() {
    this.#asked = performance.now();
    this.#moved = false;
    this.#waits = true;
    if (this.#view.shown) this.#link.send('look', { ...this.#at, ...this.#view.shown.time, re: ++this.#re });
    this.#plan();
  }

  #take(preview) {
    if (preview.re !== this.#re) return;
    this.#waits = false;
    this.#view.preview = preview;
    this.#plan();
  }
}
