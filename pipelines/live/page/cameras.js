// SPDX-License-Identifier: MIT
// The grid of cameras: what the API tells of them, every two seconds while somebody looks.

const everyMs = 2000;
const $ = (id) => document.getElementById(id);
const cards = new Map(); // by name
const words = { live: 'live', waiting: 'waiting for its first picture', gone: 'camera gone', failed: 'tracker failed' };

function makeCard(name) {
  const card = $('card').content.firstElementChild.cloneNode(true);
  card.querySelector('a').href = `camera/${name}/`;
  card.querySelector('b').textContent = name;
  return card;
}

// The picture that is shown stays until the next one is there.
async function renew(image, name) {
  const next = new Image();
  next.src = `api/cameras/${name}/picture.jpg?${Date.now()}`;
  if (await next.decode().then(() => true, () => false)) image.src = next.src;
}

function set(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

function show(card, c) {
  card.dataset.state = c.state;
  set(card.querySelector('.state'), words[c.state]);
  const frames = `${c.received.toFixed(1)} frames a second`;
  set(card.querySelector('.figures'), c.state !== 'live' ? '' : !c.objects ? `nothing is tracked, ${frames}` :
    `${c.seen} of ${c.objects} object${c.objects > 1 ? 's' : ''} seen, ${Math.min(c.tracked, c.received).toFixed(1)} of ${frames} tracked`);
  set(card.querySelector('.fault'), c.fault);
  if (c.state !== 'waiting') renew(card.querySelector('img'), c.name);
}

function showState(state, text) {
  document.body.dataset.state = state;
  set($('link').lastElementChild, text);
}

async function look() {
  if (document.hidden) return;
  const answer = await fetch('api/cameras').catch(() => null);
  if (answer?.status === 401) location.reload();
  if (!answer?.ok) return showState('lost', 'connection lost: what is shown is old');
  const { cameras } = await answer.json();
  for (const [name, card] of cards) {
    if (cameras.some((c) => c.name === name)) continue;
    card.remove();
    cards.delete(name);
  }
  for (const c of cameras) {
    if (!cards.has(c.name)) {
      cards.set(c.name, makeCard(c.name));
      $('grid').append(cards.get(c.name));
    }
    show(cards.get(c.name), c);
  }
  $('none').hidden = cameras.length > 0;
  set($('count'), `${cameras.length}`);
  showState('live', 'live');
}

look();
setInterval(look, everyMs);
document.addEventListener('visibilitychange', look);
