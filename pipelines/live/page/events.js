// SPDX-License-Identifier: MIT
// The events of a camera with their pictures and clips, the newest first, as the API tells them.

const [grid, card, link, count, nav, fault] = ['grid', 'card', 'link', 'count', 'cameras', 'fault'].map((id) => document.getElementById(id));
const most = 200; // cards
const clipMs = 45000; // a clip is there by then, or never
const when = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
let camera = new URLSearchParams(location.search).get('camera');
let waits = []; // cards of events whose clips may still come: {number, li, since}

// A video in the place of the picture.
function play(li, href) {
  const video = Object.assign(document.createElement('video'), { src: href, controls: true, autoplay: true, muted: true, loop: true });
  video.setAttribute('aria-label', `Clip: ${li.querySelector('b').textContent}`);
  li.querySelector('img, video').replaceWith(video);
}

function showClip(li, href, number) {
  const clip = li.querySelector('.clip'), [button, a] = clip.children;
  clip.hidden = false;
  button.onclick = () => play(li, href);
  Object.assign(a, { href, download: `${camera}-${number}.mp4` });
}

const addressOf = (file) => `api/cameras/${camera}/${file}`;

function make(e) {
  const li = card.content.firstElementChild.cloneNode(true), name = e.name || `object ${e.object}`;
  const what = e.zone && e.kind === 'left' ? 'left *' : grid.dataset[e.kind] ?? e.kind;
  li.querySelector('b').textContent = name;
  li.querySelector('.says').textContent = what.replace('*', () => e.zone) + (e.direction ? `, ${e.direction.replaceAll('-', ' ')}` : '');
  Object.assign(li.querySelector('time'), { dateTime: e.time, textContent: when.format(new Date(e.time)) });
  if (e.picture) li.querySelector('img').src = addressOf(e.picture);
  if (e.clip) showClip(li, addressOf(e.clip), e.number);
  else waits.push({ number: e.number, li, since: Date.now() });
  return li;
}

async function ask(path) {
  const answer = await fetch(path, { signal: AbortSignal.timeout(8000) }).catch(() => ({}));
  if (answer.status === 401) location.reload();
  return answer.ok ? answer.json() : null;
}

function showCameras(cameras) {
  if (!cameras.some((c) => c.name === camera)) camera = cameras[0]?.name;
  nav.replaceChildren(...cameras.map(({ name }) => {
    const a = Object.assign(document.createElement('a'), { href: `events?camera=${name}`, textContent: name });
    if (name === camera) a.setAttribute('aria-current', 'page');
    return a;
  }));
}

async function look() {
  if (document.hidden) return;
  const events = camera && await ask(`api/cameras/${camera}/events?limit=${most}`);
  link.lastElementChild.textContent = link.dataset[document.body.dataset.state = events ? 'live' : 'lost'];
  if (!events) return;
  const newest = Number(grid.firstElementChild?.dataset.number ?? 0);
  for (const e of events.events.filter(({ number }) => number > newest).reverse()) {
    const li = make(e);
    li.dataset.number = e.number;
    grid.prepend(li);
  }
  while (grid.children.length > most) grid.lastElementChild.remove();
  const clips = new Map(events.events.filter((e) => e.clip).map((e) => [e.number, e.clip]));
  for (const { number, li } of waits) if (clips.has(number)) showClip(li, addressOf(clips.get(number)), number);
  waits = waits.filter(({ number, since }) => !clips.has(number) && Date.now() - since < clipMs);
  count.textContent = events.kept;
  fault.hidden = !events.fault;
  fault.textContent = events.fault;
}

const cameras = await ask('api/cameras');
if (cameras) showCameras(cameras.cameras);
look();
setInterval(look, 2000);
