// SPDX-License-Identifier: MIT
// What a download would hold, and the links to it.

import { $, say } from './dom.js';

const endings = { coco: 'json', lines: 'jsonl' };

const size = (bytes) => bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;

function span(seconds) {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

// Of a camera's state; hello says where the program keeps things.
export function showAnnotations(camera, a, { folder, keepTracks }) {
  for (const [id, ending] of Object.entries(endings)) {
    const href = `annotations/${encodeURIComponent(camera)}.${ending}`;
    if (!a.frames) $(id).removeAttribute('href');
    else if ($(id).getAttribute('href') !== href) $(id).href = href;
  }
  say($('kept'), a.frames ? `${a.frames} tracked frames in ${span(a.seconds)}, ${size(a.bytes)}` +
    (a.forgotten ? '; older ones are given up' : '') : a.mostBytes ? 'Tracked frames are kept for a download.' :
    'No annotations are kept.');
  const kinds = [...(a.mostBytes ? [`annotations (at most ${size(a.mostBytes)})`] : []), 'saves',
    ...(keepTracks ? ['objects with their names (every minute)'] : [])];
  say($('where'), `Kept over restarts in ${folder} of the server: ${kinds.join(', ')}.`);
  $('loss').hidden = !a.lost;
  say($('loss'), `${a.lost} frames are missing. ${a.fault}`);
}
