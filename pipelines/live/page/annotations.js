// SPDX-License-Identifier: MIT
// What a download would hold, and the links to it.

import { $, say } from './dom.js';

const size = (bytes) => bytes < 1e6 ? `${Math.ceil(bytes / 1e3)} kB` : `${(bytes / 1e6).toFixed(bytes < 1e7 ? 1 : 0)} MB`;

const many = (n, word) => `${n} ${word}${n === 1 ? '' : 's'}`;

function span(seconds) {
  if (seconds < 120) return `${Math.round(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

// A link without a file leads nowhere.
function link(id, camera, ending, exists) {
  const href = `annotations/${encodeURIComponent(camera)}.${ending}`;
  if (!exists) $(id).removeAttribute('href');
  else if ($(id).getAttribute('href') !== href) $(id).href = href;
}

function tell({ frames, bytes, seconds, pictures, pictureBytes, forgotten, mostBytes }) {
  if (!frames) return mostBytes ? 'Tracked frames are kept for a download.' : 'No annotations are kept.';
  return `${many(frames, 'tracked frame')} in ${span(seconds)}, ${size(bytes)}` + (pictures ? `, with ${many(pictures, 'picture')}, ${size(pictureBytes)}` : '') +
    (forgotten ? '; older ones are given up' : '');
}

// Of a camera's state; hello says where the program keeps things.
export function showAnnotations(camera, a, { folder, keepTracks }) {
  for (const form of ['coco', 'yolo', 'davis']) link(`${form}-set`, camera, `${form}.zip`, a.pictures);
  link('coco', camera, 'json', a.frames);
  link('lines', camera, 'jsonl', a.frames);
  say($('kept'), tell(a));
  const kinds = [...(a.mostBytes ? [`annotations (at most ${size(a.mostBytes)})`] : []),
    ...(a.mostPictureBytes ? [`pictures (at most ${size(a.mostPictureBytes)})`] : []), 'saves',
    ...(keepTracks ? ['objects with their names (every minute)'] : [])];
  say($('where'), `Kept over restarts in ${folder} of the server: ${kinds.join(', ')}.`);
  const lost = [...(a.lost ? [`Missing: ${many(a.lost, 'frame')}. ${a.fault}`] : []), ...(a.lostPictures ? [`Missing: ${many(a.lostPictures, 'picture')}.`] : [])];
  $('loss').hidden = !lost.length;
  say($('loss'), lost.join(' '));
}
