// SPDX-License-Identifier: MIT
// The saves of a camera: made under a name, listed with their dates, restored.

import { $, stamp } from './dom.js';

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const autosave = 'kept';

export class Saves {
  #ask;
  #tell;

  constructor(ask, tell) {
    this.#ask = ask;
    this.#tell = tell;
    $('save-form').addEventListener('submit', (e) => {
      e.preventDefault();
      this.save($('save-name').value.trim());
    });
  }

  async save(name = '') {
    const reply = await this.#ask('save', name ? { name } : {});
    if (reply.type !== 'done') return;
    $('save-name').value = '';
    this.#tell('The objects are saved.');
    this.#update();
  }

  // The newest one if none is named.
  async restore(save) {
    const reply = await this.#ask('restore', save ? { save } : {});
    if (reply.type === 'done') this.#tell('The objects are restored.');
  }

  toggle() {
    $('saves').hidden = !$('saves').hidden;
    $('open-saves').setAttribute('aria-expanded', !$('saves').hidden);
    this.#update();
  }

  async #update() {
    if ($('saves').hidden) return;
    const reply = await this.#ask('saves');
    if (reply.type === 'saves') $('save-list').replaceChildren(...reply.saves.map((s) => this.#make(s)));
  }

  #make({ save, name, time, objects }) {
    const row = stamp('save-row'), count = objects ? `, ${objects} object${objects > 1 ? 's' : ''}` : '';
    row.title.textContent = name || (save === autosave ? 'Autosave' : 'Save');
    row.when.textContent = `${dates.format(time * 1000)}${count}`;
    row.restore.addEventListener('click', () => this.restore(save));
    return row.item;
  }
}
