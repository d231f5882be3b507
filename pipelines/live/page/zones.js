// SPDX-License-Identifier: MIT
// Zones and lines: drawn over the picture corner by corner, listed with their counts.

import { $, stamp } from './dom.js';
import { editName, selectName, showName } from './names.js';

const nearPx = 12; // a click so near to a corner means that corner
const arrows = ['→', '↘', '↓', '↙', '←', '↖', '↑', '↗'];
const says = {
  zone: 'Click the corners, the first one again at the end; or drag a rectangle.',
  line: 'Click both ends, or drag from one to the other.',
};
const stage = $('stage');

const apart = (a, b) => Math.hypot((a.x - b.x) * stage.clientWidth, (a.y - b.y) * stage.clientHeight);

// What a drag draws.
const drag = (kind, a, b) => kind === 'line' ? [a, b] : [a, { x: b.x, y: a.y }, b, { x: a.x, y: b.y }];

// What is right of a line for one who looks from its first end to the second is on that side of the screen, and the other one.
function sidesOf([a, b]) {
  const right = Math.atan2((b.x - a.x) * stage.clientWidth, (a.y - b.y) * stage.clientHeight);
  const i = Math.round(right / (Math.PI / 4)) + 8;
  return [arrows[i % 8], arrows[(i + 4) % 8]];
}

export class Zones {
  #ask;
  #view;
  #zones = new Map(); // name -> {kind, points, fixed, count, row}
  #done;
  #draft = null; // {kind, points, aim: where the next ones would be}

  // done: called when one has been drawn.
  constructor(ask, view, done) {
    this.#done = done;
    this.#ask = ask;
    this.#view = view;
  }

  // The program's zones.
  show(zones) {
    const before = this.#zones;
    this.#zones = new Map(zones.map(({ name, kind, points, fixed }) => {
      const corners = [];
      for (let i = 0; i < points.length; i += 2) corners.push({ x: points[i], y: points[i + 1] });
      const zone = { name, kind, fixed, points: corners, count: before.get(name)?.count };
      zone.row = before.get(name)?.row ?? this.#make(zone);
      return [name, zone];
    }));
    for (const [name, { row }] of before) if (!this.#zones.has(name)) row.item.remove();
    this.#draw();
  }

  // Those of a state.
  count(counts) {
    for (const { name, ...count } of counts) {
      const zone = this.#zones.get(name);
      if (!zone) continue;
      const [right, left] = zone.kind === 'line' ? sidesOf(zone.points) : [];
      zone.count = zone.kind === 'line' ? `${right} ${count.toRight}  ${left} ${count.toLeft}` : `${count.inside}`;
      zone.row.count.textContent = zone.kind === 'line' ? `${zone.count} crossed` : `${count.inside} inside, ${count.entered} entered`;
    }
    this.#draw();
  }

  // kind: 'zone' or 'line'; anything else ends what was begun.
  begin(kind) {
    this.#draft = kind in says ? { kind, points: [], aim: [] } : null;
    this.#draw();
  }

  get draws() {
    return !!this.#draft;
  }

  // The mouse is there, or dragged from another place.
  aim(at, from) {
    if (at) this.#draft.aim = from && !this.#draft.points.length ? drag(this.#draft.kind, from, at) : [at];
    this.#draw();
  }

  // A corner, or a drag. names: if that ends it, its name can be typed at once.
  add(at, to, names) {
    const { kind, points } = this.#draft;
    if (to && !points.length) points.push(...drag(kind, at, to));
    else if (points.length && (apart(at, points.at(-1)) < nearPx || (points.length > 2 && apart(at, points[0]) < nearPx))) to = at;
    else points.push(at);
    if (to || (kind === 'line' && points.length > 1)) this.finish(names);
    else this.#draw();
  }

  back() {
    this.#draft.points.pop();
    this.#draw();
  }

  // The program may refuse it: then it can still be changed.
  async finish(names = false) {
    const draft = this.#draft, name = this.#findName(draft.kind);
    draft.aim = [];
    if (!await this.#send({ name, kind: draft.kind, points: draft.points })) return;
    this.#done();
    if (names) selectName(this.#zones.get(name)?.row.name);
  }

  async #send({ kind, name, points }, was) {
    const text = points.map(({ x, y }) => `${x.toFixed(4)}:${y.toFixed(4)}`).join(' ');
    const reply = await this.#ask('zone', { kind, name, points: text, ...(was === undefined ? {} : { was }) });
    return reply.type === 'done';
  }

  #findName(kind) {
    for (let i = 1; ; i++) if (!this.#zones.has(`${kind} ${i}`)) return `${kind} ${i}`;
  }

  #make({ name, fixed }) {
    const row = stamp('zone-row', name);
    showName(row.name, name);
    row.name.readOnly = fixed;
    row.remove.hidden = fixed;
    editName(row.name, async (other) => {
      if (!await this.#send({ ...this.#zones.get(name), name: other }, name)) showName(row.name, name);
    });
    row.remove.addEventListener('click', () => this.#ask('unzone', { name }));
    $('zone-list').append(row.item);
    return row;
  }

  #draw() {
    const draft = this.#draft;
    this.#view.looks.shapes = [...this.#zones.values()].map(({ name, kind, points, count }) =>
      ({ points, closed: kind === 'zone', text: count === undefined ? name : `${name} · ${count}` }));
    if (draft) this.#view.looks.shapes.push({ points: [...draft.points, ...draft.aim], closed: draft.kind === 'zone', draft: true });
    $('draft').hidden = !draft;
    if (draft) $('draft').firstElementChild.textContent = says[draft.kind];
    this.#view.redraw();
  }
}
