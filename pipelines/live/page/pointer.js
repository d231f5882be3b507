// SPDX-License-Identifier: MIT
// Mouse, pen and finger on the picture: objects are selected, prompts are given.

const dragPx = 8;
const longMs = 550;

export class Pointer {
  #stage;
  #marks;
  #view;
  #act;
  #select;
  #look;
  #start = null;
  tool = 'select'; // what a click does: 'select' an object or begin one, 'add' to the selected one, 'take' away from it

  // act(op, fields, correct): op is point or box, coordinates run from 0 to 1; correct: it is for the selected object.
  // select(id): the object that was clicked. look(at): where a click would begin an object; null: nowhere.
  constructor(stage, marks, view, act, select, look) {
    this.#stage = stage;
    this.#marks = marks;
    this.#view = view;
    this.#act = act;
    this.#select = select;
    this.#look = look;
    stage.addEventListener('pointerdown', (e) => this.#down(e));
    stage.addEventListener('pointermove', (e) => this.#move(e));
    stage.addEventListener('pointerup', (e) => this.#up(e));
    stage.addEventListener('pointercancel', () => this.#cancel());
    stage.addEventListener('pointerleave', () => this.#hover(0, null));
    stage.addEventListener('contextmenu', (e) => e.preventDefault());
  }

  #down(e) {
    const at = this.#view.locate(e.clientX, e.clientY);
    if (e.target !== this.#stage || !at || !e.isPrimary || this.#start || e.button === 1) return;
    this.#stage.setPointerCapture(e.pointerId);
    this.#look(null);
    const tool = e.button === 2 ? 'take' : e.shiftKey ? 'add' : e.altKey ? 'new' : this.tool;
    const s = this.#start = { at, x: e.clientX, y: e.clientY, time: this.#view.shown.time, box: null, tool,
      hit: tool === 'select' ? this.#view.find(at.x, at.y) : 0, timer: 0 };
    if (e.pointerType === 'touch' && tool === 'select') s.timer = setTimeout(() => this.#press(), longMs);
  }

  #press() {
    this.#point({ ...this.#start, tool: 'take' });
    this.#cancel();
  }

  #hover(id, at) {
    const looks = this.#view.looks;
    this.#look(at);
    this.#stage.classList.toggle('over', id > 0);
    if (looks.hovered === id) return;
    looks.hovered = id;
    this.#view.redraw();
  }

  #move(e) {
    const s = this.#start;
    if (!s) {
      if (e.pointerType === 'touch') return;
      const at = e.target === this.#stage && this.tool === 'select' ? this.#view.locate(e.clientX, e.clientY) : null;
      const id = at ? this.#view.find(at.x, at.y) : 0;
      this.#hover(id, e.shiftKey || (id && !e.altKey) ? null : at);
      return;
    }
    if (s.tool === 'take' || !e.isPrimary) return;
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
      if (s.hit) this.#select(s.hit);
      else this.#point(s);
      return;
    }
    const r = this.#stage.getBoundingClientRect();
    const inside = (v, low, high) => Math.min(Math.max(v, low + 1), high - 1);
    const end = this.#view.locate(inside(e.clientX, r.left, r.right), inside(e.clientY, r.top, r.bottom));
    s.box.classList.add('sent');
    s.box.addEventListener('animationend', () => s.box.remove());
    if (!end || Math.abs(end.x - s.at.x) < 0.005 || Math.abs(end.y - s.at.y) < 0.005) return;
    this.#act('box', { x: Math.min(s.at.x, end.x), y: Math.min(s.at.y, end.y),
      w: Math.abs(end.x - s.at.x), h: Math.abs(end.y - s.at.y), ...s.time }, s.tool === 'add');
  }

  #cancel() {
    if (!this.#start) return;
    clearTimeout(this.#start.timer);
    this.#start.box?.remove();
    this.#start = null;
  }

  #point(s) {
    const r = this.#stage.getBoundingClientRect(), negative = s.tool === 'take';
    const mark = this.#mark(negative ? 'point negative' : 'point');
    Object.assign(mark.style, { left: `${s.x - r.left}px`, top: `${s.y - r.top}px` });
    mark.addEventListener('animationend', () => mark.remove());
    this.#act('point', { ...s.at, positive: !negative, ...s.time }, negative || s.tool === 'add');
  }

  #mark(kind) {
    const mark = document.createElement('i');
    mark.className = kind;
    this.#marks.append(mark);
    return mark;
  }
}
