// SPDX-License-Identifier: MIT
// The list of objects. Rows stay in place while their values change, so that a name can be edited.

import { colourOf } from './colours.js';
import { $, stamp } from './dom.js';
import { editName, selectName, showName } from './names.js';

const looks = { fill: 'filled', outline: 'outline only', hidden: 'hidden' };

export class Objects {
  #ask;
  #view;
  #rows = new Map(); // id -> parts
  selected = 0;

  // view: what draws them.
  constructor(ask, view) {
    this.#ask = ask;
    this.#view = view;
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
    $('empty').hidden = objects.length > 0;
    $('count').textContent = objects.length;
  }

  select(id) {
    this.selected = this.#view.looks.selected = id;
    this.#view.redraw();
    for (const [key, { item }] of this.#rows) item.setAttribute('aria-current', key === id);
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
    const names = Object.keys(looks), now = names.indexOf(this.#view.looks.styleOf(id).look);
    this.#setStyle(id, { look: names[(now + 1) % names.length] });
  }

  toggleLock(id) {
    this.#setStyle(id, { locked: !this.isLocked(id) });
  }

  #setStyle(id, change) {
    const row = this.#rows.get(id), { look, locked } = { ...this.#view.looks.styleOf(id), ...change };
    if (!row) return;
    this.#view.looks.styles.set(id, { look, locked });
    this.#view.redraw();
    row.look.firstElementChild.setAttribute('class', look);
    row.look.title = `${looks[look]} (H)`;
    row.look.setAttribute('aria-label', `Object ${id}: ${looks[look]}`);
    row.lock.setAttribute('aria-pressed', locked);
    row.item.classList.toggle('locked', locked);
    row.item.classList.toggle('unseen', look === 'hidden');
    row.undo.disabled = row.remove.disabled = row.name.readOnly = locked;
  }

  rename() {
    selectName(this.#rows.get(this.selected)?.name);
  }

  #make(id) {
    const row = stamp('object-row', id);
    row.name.placeholder = `object ${id}`;
    editName(row.name, (name) => this.#ask('rename', { id, name }));
    const acts = { look: () => this.cycleLook(id), lock: () => this.toggleLock(id), undo: () => this.#ask('undo', { id }),
      remove: () => this.#ask('remove', { id }) };
    row.item.addEventListener('click', (e) => {
      const act = acts[e.target.closest('button')?.dataset.part] ?? (() => this.select(id));
      act();
    });
    row.item.setAttribute('aria-current', id === this.selected);
    $('objects').append(row.item);
    this.#rows.set(id, row);
    this.#setStyle(id, {});
    return row;
  }

  #update({ id, slot, state, iou, name }) {
    const row = this.#rows.get(id) ?? this.#make(id);
    if (row.state.textContent) row.item.classList.remove(row.state.textContent);
    row.item.classList.add(state);
    row.chip.style.background = row.level.style.background = colourOf(slot);
    row.state.textContent = state;
    row.level.style.transform = `scaleX(${Math.min(Math.max(iou, 0), 1)})`;
    row.score.textContent = iou.toFixed(2);
    showName(row.name, name);
  }
}
