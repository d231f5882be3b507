// SPDX-License-Identifier: MIT
// The colours that samoverlay draws slots with.
const colours = ['#ff3b30', '#00c7ff', '#ffd60a', '#bf5af2', '#30d158', '#ff9500', '#0a5cff',
  '#ff2d92', '#64ffda', '#a2845e', '#c6ff00', '#8e8eff'];

export const colourOf = (slot) => colours[(slot + colours.length - 1) % colours.length];
