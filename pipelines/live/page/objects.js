// SPDX-License-Identifier: MIT
// The list of objects. Rows stay in place while their values change, so that a name can be edited.

import { colourOf } from './colours.js';

const element = (tag, className, fields = {}) => Object.assign(document.createElement(tag), { className, ...fields });

const states = ['new', 'tracked', 'occluded', 'lost', 'found'];
const looks = ['fill', 'outline', 'hidden'];
const lookNames = { fill: 'filled', outline: 'outline only', hidden: 'hidden' };
const eye = 'M1.5 8s2.4-4.5 6.5-4.5S14.5 8 14.5 8 12.1 12.5 8 12.5 1.5 8 1.5 8zM8 6a2 2 0 1 0 0 4 2 2 0 0 0 0-4z';
const padlock = 'M4.5 7V5.2a3.5 3.5 0 0 1 7 0V7M3.5 7h9v6.5h-9z';

function makeIcon(path, className) {
  const svg = document.createElementNS('http://www.w3.org/2000/svg', 'svg');
  const shape = document.createElementNS(svg.namespaceURI, 'path');
  for (const [name, value] of Object.entries({ viewBox: '0 0 16 16', 'aria-hidden': 'true', class: className }))
    svg.setAttribute(name, value);
  shape.setAttribute('d', path);
  svg.append(shape);
  return svg;
}

export class Objects {
  #list;
  #empty;
  #count;
  #ask;
  #view;
  #rows = new Map();
  selected = 0;

  // view: what draws them.
  constructor(list, empty, count, ask, view) {
    this.#view = view;
    this.#list = list;
    this.#empty = empty;
    this.#count = count;
    this.#ask = ask;
  }

  show(objects) {
    const ids = new Set(objects.map((o) => o.id));
    let gone = false;
    for (const [id, row] of this.#rows) {
      if (ids.has(id)) continue;
      row.item.remove();
      this.#rows.delete(id);
      this.#view.looks.styles.delete(id);
      gone ||= id === this.selected;
    }
    objects.forEach((object) => this.#update(object));
    // A new object is selected before it comes into the list, with the next tracked frame.
    if (gone) this.select(objects.at(-1)?.id ?? 0);
    this.#empty.hidden = objects.length > 0;
    this.#count.textContent = objects.length;
  }

  select(id) {
    this.selected = this.#view.looks.selected = id;
    this.#view.redraw();
    for (const [key, row] of this.#rows) row.item.setAttribute('aria-current', key === id);
    this.#rows.get(id)?.item.scrollIntoView({ block: 'nearest' });
  }

  // The next one or the one before.
  step(by) {
    const { ids } = this;
    if (ids.length) this.select(ids[(ids.indexOf(this.selected) + by + ids.length) % ids.length]);
  }

  get ids() {
    return [...this.#rows.keys()];
  }

  isLocked(id) {
    return this.#view.looks.styleOf(id).locked;
  }

  // Filled, outline only, hidden, and filled again.
  cycleLook(id) {
    const style = this.#view.looks.styleOf(id), i = looks.indexOf(style.look);
    this.#setStyle(id, { ...style, look: looks[(i + 1) % looks.length] });
  }

  toggleLock(id) {
    const style = this.#view.looks.styleOf(id);
    this.#setStyle(id, { ...style, locked: !style.locked });
  }

  #setStyle(id, style) {
    const row = this.#rows.get(id);
    if (!row) return;
    this.#view.looks.styles.set(id, style);
    this.#view.redraw();
    row.look.firstChild.setAttribute('class', style.look);
    row.look.title = `${lookNames[style.look]} (H)`;
    row.look.setAttribute('aria-label', `Object ${id}: ${lookNames[style.look]}`);
    row.lock.setAttribute('aria-pressed', style.locked);
    row.item.classList.toggle('locked', style.locked);
    row.item.classList.toggle('unseen', style.look === 'hidden');
    row.change.forEach((button) => { button.disabled = style.locked; });
    row.name.readOnly = style.locked;
  }

  rename() {
    const name = this.#rows.get(this.selected)?.name;
    name?.focus();
    name?.select();
  }

  #make(id) {
    const row = { item: element('li', ''), chip: element('span', 'chip'), state: element('span', 'state'),
      score: element('span', 'score'),
      name: element('input', '', { maxLength: 64, placeholder: `object ${id}`, spellcheck: false }),
      bar: element('div', 'bar'), level: element('i', '') };
    const act = element('span', 'act');
    row.name.setAttribute('aria-label', `Name of object ${id}`);
    const commit = () => {
      const name = row.name.value.trim();
      if (name !== row.kept) this.#ask('rename', { id, name });
      row.kept = name;
    };
    row.name.addEventListener('blur', commit);
    row.name.addEventListener('keydown', (e) => {
      if (e.key === 'Escape') row.name.value = row.kept;
      if (e.key === 'Enter') commit(); // a window in the background has no blur events
      if (e.key === 'Enter' || e.key === 'Escape') row.name.blur();
      e.stopPropagation();
    });
    row.look = this.#button('', `Object ${id}: ${lookNames.fill}`, () => this.cycleLook(id));
    row.look.append(makeIcon(eye, 'fill'));
    row.lock = this.#button('', `Lock object ${id} against clicks and changes in this page (K)`, () => this.toggleLock(id));
    row.lock.append(makeIcon(padlock, 'lock'));
    row.lock.setAttribute('aria-pressed', false);
    row.change = [this.#button('↶', `Undo the last prompt of object ${id} (U)`, () => this.#ask('undo', { id })),
      this.#button('×', `Remove object ${id}`, () => this.#ask('remove', { id }))];
    act.append(row.look, row.lock, ...row.change);
    row.bar.append(row.level);
    row.item.append(row.chip, row.name, row.state, act, row.bar, row.score);
    row.item.addEventListener('click', () => this.select(id));
    this.#list.append(row.item);
    this.#rows.set(id, row);
    row.item.setAttribute('aria-current', id === this.selected);
    return row;
  }

  #button(text, label, act) {
    const button = element('button', '', { textContent: text, title: label, type: 'button' });
    button.setAttribute('aria-label', label);
    button.addEventListener('click', (e) => {
      e.stopPropagation();
      act();
    });
    return button;
  }

  #update(object) {
    const row = this.#rows.get(object.id) ?? this.#make(object.id);
    const colour = colourOf(object.slot);
    row.item.classList.remove(...states);
    row.item.classList.add(object.state);
    row.chip.style.background = row.level.style.background = colour;
    row.state.textContent = object.state;
    row.level.style.transform = `scaleX(${Math.min(Math.max(object.iou, 0), 1)})`;
    row.score.textContent = object.iou.toFixed(2);
    row.bar.title = row.score.title = 'How sure the tracker is of the mask, 0 to 1';
    row.kept = object.name;
    if (document.activeElement !== row.name) row.name.value = object.name;
  }
}
