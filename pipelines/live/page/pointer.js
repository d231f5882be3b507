// SPDX-License-Identifier: MIT
// Mouse, pen and finger on the picture become prompts.

const dragPx = 8;
const longMs = 550;

export class Pointer {
  #stage;
  #marks;
  #video;
  #act;
  #start = null;

  // act(op, fields): op is point or box, coordinates run from 0 to 1.
  constructor(stage, marks, video, act) {
    this.#stage = stage;
    this.#marks = marks;
    this.#video = video;
    this.#act = act;
    stage.addEventListener('pointerdown', (e) => this.#down(e));
    stage.addEventListener('pointermove', (e) => this.#move(e));
    stage.addEventListener('pointerup', (e) => this.#up(e));
    stage.addEventListener('pointercancel', () => this.#cancel());
    stage.addEventListener('contextmenu', (e) => e.preventDefault());
  }

  #down(e) {
    const at = this.#video.locate(e.clientX, e.clientY);
    if (!at || !e.isPrimary || this.#start || e.button === 1) return;
    this.#stage.setPointerCapture(e.pointerId);
    this.#start = { at, x: e.clientX, y: e.clientY, time: this.#video.time, box: null,
      negative: e.button === 2, add: e.shiftKey,
      timer: e.pointerType === 'touch' ? setTimeout(() => this.#press(), longMs) : 0 };
  }

  #press() {
    this.#point({ ...this.#start, negative: true });
    this.#cancel();
  }

  #move(e) {
    const s = this.#start;
    if (!s || s.negative || !e.isPrimary) return;
    if (!s.box && Math.hypot(e.clientX - s.x, e.clientY - s.y) < dragPx) return;
    clearTimeout(s.timer);
    s.box ??= this.#mark('box');
    const r = this.#stage.getBoundingClientRect();
    const left = Math.min(s.x, e.clientX) - r.left, top = Math.min(s.y, e.clientY) - r.top;
    Object.assign(s.box.style, { left: `${left}px`, top: `${top}px`,
      width: `${Math.abs(e.clientX - s.x)}px`, height: `${Math.abs(e.clientY - s.y)}px` });
  }

  #up(e) {
    const s = this.#start;
    if (!s || !e.isPrimary) return;
    clearTimeout(s.timer);
    this.#start = null;
    if (!s.box) {
      this.#point(s);
      return;
    }
    const r = this.#stage.getBoundingClientRect();
    const inside = (v, low, high) => Math.min(Math.max(v, low + 1), high - 1);
    const end = this.#video.locate(inside(e.clientX, r.left, r.right), inside(e.clientY, r.top, r.bottom));
    s.box.classList.add('sent');
    s.box.addEventListener('animationend', () => s.box.remove());
    if (!end || Math.abs(end.x - s.at.x) < 0.005 || Math.abs(end.y - s.at.y) < 0.005) return;
    this.#act('box', { x: Math.min(s.at.x, end.x), y: Math.min(s.at.y, end.y),
      w: Math.abs(end.x - s.at.x), h: Math.abs(end.y - s.at.y), ...s.time });
  }

  #cancel() {
    if (!this.#start) return;
    clearTimeout(this.#start.timer);
    this.#start.box?.remove();
    this.#start = null;
  }

  #point(s) {
    const r = this.#stage.getBoundingClientRect();
    const mark = this.#mark(s.negative ? 'point negative' : 'point');
    Object.assign(mark.style, { left: `${s.x - r.left}px`, top: `${s.y - r.top}px` });
    mark.addEventListener('animationend', () => mark.remove());
    this.#act('point', { ...s.at, positive: !s.negative, ...s.time }, s.add || s.negative);
  }

  #mark(kind) {
    const mark = document.createElement('i');
    mark.className = kind;
    this.#marks.append(mark);
    return mark;
  }
}
