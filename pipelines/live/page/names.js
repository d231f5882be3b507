// SPDX-License-Identifier: MIT
// Fields with names of things, which the program has and anybody may change.

const kept = new WeakMap(); // field -> the program's name

// commit(name): somebody has written another one.
export function editName(field, commit) {
  const take = () => {
    const name = field.value.trim();
    if (name !== kept.get(field)) commit(name);
    kept.set(field, name);
  };
  field.addEventListener('blur', take);
  field.addEventListener('keydown', (e) => {
    if (e.key === 'Escape') field.value = kept.get(field);
    if (e.key === 'Enter') take(); // a window in the background has no blur events
    if (e.key === 'Enter' || e.key === 'Escape') field.blur();
    e.stopPropagation();
  });
}

// The program's name, unless somebody is editing it.
export function showName(field, name) {
  kept.set(field, name);
  if (document.activeElement !== field) field.value = name;
}

// undefined: there is none.
export function selectName(field) {
  field?.focus();
  field?.select();
}
