// SPDX-License-Identifier: MIT
// The saves of a camera: made under a name, listed with their dates, restored.

const dates = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'short' });
const autosave = 'kept';

export class Saves {
  #panel;
  #list;
  #name;
  #ask;
  #tell;

  constructor(panel, form, name, list, ask, tell) {
    this.#panel = panel;
    this.#list = list;
    this.#name = name;
    this.#ask = ask;
    this.#tell = tell;
    form.addEventListener('submit', (e) => {
      e.preventDefault();
      this.save(name.value.trim());
    });
  }

  async save(name = '') {
    const reply = await this.#ask('save', name ? { name } : {});
    if (reply.type !== 'done') return;
    this.#name.value = '';
    this.#tell('The objects are saved.');
    this.update();
  }

  // The newest one if none is named.
  async restore(save) {
    const reply = await this.#ask('restore', save ? { save } : {});
    if (reply.type === 'done') this.#tell('The objects are restored.');
  }

  toggle() {
    this.#panel.hidden = !this.#panel.hidden;
    this.update();
  }

  async update() {
    if (this.#panel.hidden) return;
    const reply = await this.#ask('saves');
    if (reply.type !== 'saves') return;
    this.#list.replaceChildren(...reply.saves.map((s) => this.#make(s)));
  }

  #make({ save, name, time, objects }) {
    const item = document.createElement('li'), button = document.createElement('button');
    const title = document.createElement('b'), when = document.createElement('span');
    title.textContent = name || (save === autosave ? 'Autosave' : 'Save');
    when.textContent = `${dates.format(time * 1000)}${objects ? `, ${objects} object${objects > 1 ? 's' : ''}` : ''}`;
    Object.assign(button, { type: 'button', textContent: 'Restore', title: 'Replace the objects by these' });
    button.addEventListener('click', () => this.restore(save));
    item.append(title, when, button);
    return item;
  }
}
