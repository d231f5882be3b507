// SPDX-License-Identifier: MIT
// The picture with its masks: which frame is shown when, with which masks.

import { $, make, resize } from './dom.js';
import { Drawing } from './drawing.js';

const exact = 0.6; // ms: masks and frame are of the same time
const mostHeld = 32e6; // pixels of frames that wait for their masks
const mostMasks = 128;
const rateSpan = 2000; // ms
const mostDelays = 32;
const stalePreview = 1500; // ms from the frame that is shown

const isOlder = (a, b) => a.rtp !== undefined ? ((a.rtp - b.rtp) | 0) < 0 : a.us < b.us;
const stage = $('stage');
const picture = $('picture');
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];

// ms that a frame is newer than masks.
function since(time, masks) {
  if (time.rtp !== undefined) return ((time.rtp - masks.rtp) | 0) / 90;
  return time.us === undefined ? 0 : (time.us - masks.us) / 1000;
}

export class View {
  #mode = 'sync';
  #held = []; // frames that wait for their masks, the oldest first: {canvas, time, came}
  #pool = [];
  #masks = []; // the oldest first
  #arrivals = []; // ms, of masks
  #wait = 0; // ms between masks
  #offset = null; // ms of this page when the program's time was 0
  #now = null; // {us, rtp}: a moment in both times of the program
  #delays = [];
  #shownAt = 0; // ms
  #gone = false;
  #asked = false;
  looks = new Drawing($('overlay'));
  shown = null; // {time, masks, width, height}
  film = null; // is called with where the picture lies whenever it was drawn; with null: it is another one

  constructor() {
    new ResizeObserver(() => this.redraw()).observe(stage);
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => this.redraw());
  }

  // Another camera, or its video begins anew.
  reset() {
    this.film?.(null);
    this.#held.splice(0).forEach((frame) => this.#pool.push(frame.canvas));
    this.#masks = [];
    this.#arrivals = [];
    this.#delays = [];
    this.#offset = this.#now = this.shown = null;
    this.looks.forget();
    stage.classList.remove('shown');
    this.redraw();
  }

  // sync: each frame with its own masks; live: the newest of both.
  set mode(mode) {
    this.#mode = mode;
    this.#delays = [];
    this.#catchUp();
  }

  get mode() {
    return this.#mode;
  }

  // What a click would take; null: nothing is asked for.
  set preview(preview) {
    this.looks.preview = preview;
    this.redraw();
  }

  // Objects of the program's state, by id; gone: the camera gives nothing.
  setObjects(objects, gone) {
    this.#gone = gone;
    this.looks.objects = new Map(objects.map((o) => [o.id, o]));
    this.redraw();
  }

  // A frame that has come; its time is {rtp}, {us}, or empty if it is not known. source: what canvases draw.
  addFrame(source, time, width, height) {
    const own = this.#find(time);
    if (this.#isLive(time)) {
      this.#show(source, time, this.#choose(time), width, height);
    } else if (own) {
      this.#show(source, time, own, width, height);
    } else {
      this.#hold(source, time, width, height);
      if (performance.now() - Math.max(this.#shownAt, this.#held[0].came) > this.#patience) this.#catchUp();
    }
  }

  addMasks(masks) {
    const now = performance.now();
    this.setClock(masks.now, now);
    if (!masks.objects.length || !masks.us) this.#masks = [];
    else this.#note(now);
    this.#now = { us: masks.us, rtp: masks.rtp };
    this.#masks.push(masks);
    if (this.#masks.length > mostMasks) this.#masks.shift();
    if (this.#mode === 'live' || !masks.objects.length) this.#catchUp();
    else this.#release(masks);
  }

  // The program's time, us, which has just come.
  setClock(us, now = performance.now()) {
    const offset = now - us / 1000;
    // The fastest message counts; a clock that drifts is followed.
    this.#offset = this.#offset === null ? offset : Math.min(offset, this.#offset + 0.02);
  }

  // Object at a point of the picture (0 to 1) that is seen and not locked; 0: none.
  find(x, y) {
    return this.#gone || !this.shown?.masks ? 0 : this.looks.find(this.shown.masks, x, y);
  }

  // Where a point of the window lies in the picture, 0 to 1; null: beside it.
  locate(x, y) {
    const box = stage.getBoundingClientRect();
    if (!this.shown) return null;
    const { left, top, width, height } = this.#fit(box);
    const at = { x: (x - box.left - left) / width, y: (y - box.top - top) / height };
    return at.x >= 0 && at.x < 1 && at.y >= 0 && at.y < 1 ? at : null;
  }

  // The reverse.
  place({ x, y }) {
    const box = stage.getBoundingClientRect(), { left, top, width, height } = this.#fit(box);
    return { x: box.left + left + x * width, y: box.top + top + y * height };
  }

  // ms that the picture is behind the camera, ms that its masks are behind it, tracked frames per second. null: not known.
  get figures() {
    const { shown } = this, now = performance.now();
    this.#arrivals = this.#arrivals.filter((t) => now - t < rateSpan);
    const masked = !this.#gone && shown?.masks?.objects.length > 0;
    return { delay: this.#delays.length ? median(this.#delays) : null,
      age: masked ? Math.max(since(shown.time, shown.masks), 0) : null,
      rate: this.#arrivals.length * 1000 / rateSpan };
  }

  redraw() {
    if (this.#asked) return;
    this.#asked = true;
    requestAnimationFrame(() => this.#draw());
  }

  // Where the picture lies in the stage.
  #fit(box) {
    const scale = Math.min(box.width / this.shown.width, box.height / this.shown.height);
    const width = this.shown.width * scale, height = this.shown.height * scale;
    return { left: (box.width - width) / 2, top: (box.height - height) / 2, width, height };
  }

  #note(now) {
    if (this.#arrivals.length) {
      const wait = now - this.#arrivals.at(-1);
      this.#wait = this.#wait ? this.#wait + (wait - this.#wait) / 8 : wait;
    }
    this.#arrivals.push(now);
  }

  // Frames do not wait where there is nothing to wait for.
  #isLive(time) {
    const last = this.#masks.at(-1);
    return this.#mode === 'live' || this.#gone || !last?.objects.length || (time.rtp === undefined && time.us === undefined);
  }

  #find(time) {
    return this.#masks.findLast((m) => m.us && Math.abs(since(time, m)) < exact);
  }

  // The newest that are not newer than the frame.
  #choose(time) {
    return this.#masks.findLast((m) => !m.us || since(time, m) > -exact) ?? this.#masks.at(-1) ?? null;
  }

  #hold(source, time, width, height) {
    const canvas = this.#pool.pop() ?? make('canvas');
    resize(canvas, width, height).drawImage(source, 0, 0, width, height);
    this.#held.push({ canvas, time, came: performance.now() });
    // A tracker that takes long: every second one may be the one that it takes.
    if (this.#held.length > Math.max(mostHeld / (width * height), 4)) {
      this.#held = this.#held.filter((frame, i) => i % 2 || !this.#pool.push(frame.canvas));
      this.#pool.length = Math.min(this.#pool.length, 4);
    }
  }

  // Shows the frame that the masks are of, if it has come. If it got lost on its way, the masks that come next have one.
  #release(masks) {
    const i = this.#held.findIndex((frame) => Math.abs(since(frame.time, masks)) < exact);
    if (i >= 0) this.#showHeld(i, masks);
    else if (performance.now() - this.#shownAt > this.#patience) this.#catchUp();
  }

  get #patience() {
    return Math.max(1000, 4 * this.#wait);
  }

  #showHeld(i, masks) {
    const { canvas, time } = this.#held[i];
    this.#show(canvas, time, masks, canvas.width, canvas.height);
  }

  // Shows the newest frame.
  #catchUp() {
    const i = this.#held.length - 1;
    if (i >= 0) this.#showHeld(i, this.#choose(this.#held[i].time));
    else if (this.shown) this.shown.masks = this.#choose(this.shown.time);
    this.redraw();
  }

  #show(source, time, masks, width, height) {
    resize(picture, width, height).drawImage(source, 0, 0, width, height);
    this.shown = { time, masks, width, height };
    this.#masks.splice(0, Math.max(this.#masks.indexOf(masks), 0)); // frames come in order
    this.#shownAt = performance.now();
    while (this.#held.length && (this.#held[0].canvas === source || isOlder(this.#held[0].time, time)))
      this.#pool.push(this.#held.shift().canvas);
    stage.classList.add('shown');
    this.#noteDelay(time);
    this.#draw();
  }

  #noteDelay(time) {
    const us = time.us ?? (this.#now && time.rtp !== undefined ? this.#now.us + since(time, this.#now) * 1000 : undefined);
    if (us === undefined || this.#offset === null) return;
    this.#delays.push(performance.now() - this.#offset - us / 1000);
    if (this.#delays.length > mostDelays) this.#delays.shift();
  }

  #draw() {
    this.#asked = false;
    const box = stage.getBoundingClientRect();
    if (!this.shown) {
      this.looks.clear(box);
      return;
    }
    const { masks, time } = this.shown, { preview } = this.looks;
    const age = masks ? Math.max(since(time, masks), 0) : 0;
    if (preview && Math.abs(since(time, preview)) > stalePreview) this.looks.preview = null;
    this.looks.draw(box, this.#fit(box), masks, age, this.#gone);
    this.film?.(this.#fit(box));
  }
}
