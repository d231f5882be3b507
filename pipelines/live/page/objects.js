// SPDX-License-Identifier: MIT
// The list of objects. Rows stay in place while their values change, so that a name can be edited.

import { colourOf } from './colours.js';

const element = (tag, className, fields = {}) => Object.assign(document.createElement(tag), { className, ...fields });

export class Objects {
  #list;
  #empty;
  #count;
  #ask;
  #rows = new Map();
  selected = 0;

  constructor(list, empty, count, ask) {
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
      gone ||= id === this.selected;
    }
    objects.forEach((object) => this.#update(object));
    // A new object is selected before it comes into the list, with the next tracked frame.
    if (gone) this.select(objects.at(-1)?.id ?? 0);
    this.#empty.hidden = objects.length > 0;
    this.#count.textContent = objects.length;
  }

  select(id) {
    this.selected = id;
    for (const [key, row] of this.#rows) row.item.setAttribute('aria-current', key === id);
    this.#rows.get(id)?.item.scrollIntoView({ block: 'nearest' });
  }

  // The next one or the one before.
  step(by) {
    const ids = [...this.#rows.keys()];
    if (ids.length) this.select(ids[(ids.indexOf(this.selected) + by + ids.length) % ids.length]);
  }

  rename() {
    const name = this.#rows.get(this.selected)?.name;
    name?.focus();
    name?.select();
  }

  #make(id) {
    const row = { item: element('li', ''), chip: element('span', 'chip'), state: element('span', 'state'), score: element('span', 'score'),
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
    act.append(this.#button('↶', `Undo the last prompt of object ${id}`, () => this.#ask('undo', { id })),
      this.#button('×', `Remove object ${id}`, () => this.#ask('remove', { id })));
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
    row.item.className = object.state;
    row.chip.style.background = row.level.style.background = colour;
    row.state.textContent = object.state;
    row.level.style.transform = `scaleX(${Math.min(Math.max(object.iou, 0), 1)})`;
    row.score.textContent = object.iou.toFixed(2);
    row.bar.title = row.score.title = 'How sure the tracker is of the mask, 0 to 1';
    row.kept = object.name;
    if (document.activeElement !== row.name) row.name.value = object.name;
  }
}
