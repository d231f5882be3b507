// SPDX-License-Identifier: MIT
// Mouse, pen, finger and arrow keys on the picture: objects are selected, prompts are given.

import { $, make } from './dom.js';

const dragPx = 8;
const longMs = 550;
const stage = $('stage');
const cursor = $('cursor'); // of the keyboard
const steps = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
const stepOf = (e) => e.shiftKey ? 0.004 : 0.02; // of the picture

// A mark on the picture; x, y: px of the window.
function setMark(className, x, y, w, h) {
  const mark = make('i', { className }), box = stage.getBoundingClientRect();
  const place = { left: x - box.left, top: y - box.top, width: w, height: h };
  for (const [name, px] of Object.entries(place)) if (px !== undefined) mark.style[name] = `${px}px`;
  mark.addEventListener('animationend', () => mark.remove());
  $('marks').append(mark);
  return mark;
}

// Where a rectangle begins, and its size.
const span = (a, b) => ({ x: Math.min(a.x, b.x), y: Math.min(a.y, b.y), w: Math.abs(a.x - b.x), h: Math.abs(a.y - b.y) });

export class Pointer {
  #view;
  #act;
  #start = null;
  #at = { x: 0.5, y: 0.5 }; // of the cursor
  #keys = false; // the keyboard has gone to the video: a mouse that did leaves the arrows to the list of objects
  tool = 'select'; // what a click does: 'select' an object or begin one, 'add' to the selected one, 'take' away from it, 'zone', 'line'

  // act: prompt(op, fields, correct): op is point or box, coordinates run from 0 to 1; correct: it is for the selected object.
  // select(id): the object that was clicked. look(at): where a click would begin an object; null: nowhere.
  // draw(act): calls act with what 'zone' and 'line' draw.
  constructor(view, act) {
    this.#view = view;
    this.#act = act;
    const events = { down: this.#down, move: this.#move, up: this.#up, cancel: this.#cancel, leave: () => this.#hover(0, null) };
    for (const [name, work] of Object.entries(events)) stage.addEventListener(`pointer${name}`, (e) => work.call(this, e));
    stage.addEventListener('keydown', (e) => this.#key(e));
    stage.addEventListener('focus', () => { this.#keys = !this.#start; });
    stage.addEventListener('blur', () => { cursor.hidden = true; });
    stage.addEventListener('contextmenu', (e) => e.preventDefault());
  }

  #down(e) {
    const at = this.#view.locate(e.clientX, e.clientY);
    if (e.target !== stage || !at || !e.isPrimary || this.#start || e.button === 1) return;
    cursor.hidden = true;
    this.#keys = false;
    stage.setPointerCapture(e.pointerId);
    this.#act.look(null);
    const tool = this.draws ? this.tool : e.button === 2 ? 'take' : e.shiftKey ? 'add' : e.altKey ? 'new' : this.tool;
    const s = this.#start = { at, x: e.clientX, y: e.clientY, time: this.#view.shown.time, box: null, tool,
      hit: tool === 'select' ? this.#view.find(at.x, at.y) : 0, timer: 0 };
    if (e.pointerType === 'touch' && tool === 'select') s.timer = setTimeout(() => this.#press(), longMs);
  }

  get draws() {
    return this.tool === 'zone' || this.tool === 'line';
  }

  #press() {
    this.#point({ ...this.#start, tool: 'take' });
    this.#cancel();
  }

  #hover(id, at) {
    const looks = this.#view.looks;
    this.#act.look(at);
    stage.classList.toggle('over', id > 0);
    if (looks.hovered === id) return;
    looks.hovered = id;
    this.#view.redraw();
  }

  // What a click would do there; null: nothing.
  #aim(at, e) {
    if (this.draws) {
      this.#act.draw((zones) => zones.aim(at));
      return;
    }
    if (this.tool !== 'select') at = null;
    const id = at ? this.#view.find(at.x, at.y) : 0;
    this.#hover(id, e.shiftKey || (id && !e.altKey) ? null : at);
  }

  #key(e) {
    const step = steps[e.key], enters = !cursor.hidden && (e.key === 'Enter' || e.key === ' ');
    if (e.target !== stage || !this.#keys || !this.#view.shown || !(step || enters) || e.ctrlKey || e.metaKey || e.altKey) return;
    e.preventDefault();
    e.stopPropagation();
    const { x, y } = this.#at, [right, down] = (step ?? [0, 0]).map((n) => n * stepOf(e));
    const at = this.#at = { x: Math.min(Math.max(x + right, 0.002), 0.998), y: Math.min(Math.max(y + down, 0.002), 0.998) };
    const px = this.#view.place(at), box = stage.getBoundingClientRect();
    cursor.hidden = false;
    Object.assign(cursor.style, { left: `${px.x - box.left}px`, top: `${px.y - box.top}px` });
    if (step) this.#aim(at, { shiftKey: false, altKey: false });
    else this.#click({ at, ...px, time: this.#view.shown.time, tool: this.tool,
      hit: this.tool === 'select' ? this.#view.find(at.x, at.y) : 0 }, null, true);
  }

  #move(e) {
    const s = this.#start;
    if (this.draws) {
      if (s) s.dragged ||= Math.hypot(e.clientX - s.x, e.clientY - s.y) >= dragPx;
      const at = this.#view.locate(e.clientX, e.clientY), from = s?.dragged ? s.at : null;
      this.#act.draw((zones) => zones.aim(at, from));
      return;
    }
    if (!s) {
      if (e.pointerType !== 'touch') this.#aim(e.target === stage ? this.#view.locate(e.clientX, e.clientY) : null, e);
      return;
    }
    if (s.tool === 'take' || !e.isPrimary) return;
    const { x, y, w, h } = span(s, { x: e.clientX, y: e.clientY });
    if (!s.box && Math.hypot(w, h) < dragPx) return;
    clearTimeout(s.timer);
    s.box?.remove();
    s.box = setMark('box', x, y, w, h);
  }

  #up(e) {
    const s = this.#start;
    if (!s || !e.isPrimary) return;
    clearTimeout(s.timer);
    this.#start = null;
    if (s.box) this.#box(s, e);
    else this.#click(s, s.dragged ? this.#locateInside(e) : null, e.pointerType !== 'touch');
  }

  // end: of a drag that draws. names: there is a keyboard.
  #click(s, end, names) {
    if (this.draws) this.#act.draw((zones) => zones.add(s.at, end, names));
    else if (s.hit) this.#act.select(s.hit);
    else this.#point(s);
  }

  #cancel() {
    clearTimeout(this.#start?.timer);
    this.#start?.box?.remove();
    this.#start = null;
  }

  #point(s) {
    const negative = s.tool === 'take';
    setMark(negative ? 'point negative' : 'point', s.x, s.y);
    this.#act.prompt('point', { ...s.at, positive: !negative, ...s.time }, negative || s.tool === 'add');
  }

  // Where a drag ends that leaves the stage.
  #locateInside(e) {
    const r = stage.getBoundingClientRect();
    const inside = (v, low, high) => Math.min(Math.max(v, low + 1), high - 1);
    return this.#view.locate(inside(e.clientX, r.left, r.right), inside(e.clientY, r.top, r.bottom));
  }

  #box(s, e) {
    const end = this.#locateInside(e);
    s.box.classList.add('sent');
    if (!end) return;
    const box = span(s.at, end);
    if (box.w >= 0.005 && box.h >= 0.005) this.#act.prompt('box', { ...box, ...s.time }, s.tool === 'add');
  }
}
