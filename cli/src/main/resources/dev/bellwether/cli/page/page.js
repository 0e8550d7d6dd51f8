// The page: receives the state from the server, keeps it, and hands it to the view that shows it.
import { ConsoleView } from './console.js';
import { DemoView } from './demo.js';
import { OutboxView } from './outbox.js';

const $ = id => document.getElementById(id);

/** Makes an element: `make('button', {class: 'bad'}, 'Kill')`. */
export function make(name, attributes = {}, ...children) {
  const one = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith('on')) {
      one.addEventListener(key.slice(2), value);
    } else if (value === true) {
      one.setAttribute(key, '');
    } else if (value !== false && value !== undefined) {
      one.setAttribute(key, value);
    }
  }
  one.append(...children);
  return one;
}

/** Changes a text only if it is another, so that nobody is told the same twice. */
export function text(element, words) {
  if (element.textContent !== words) {
    element.textContent = words;
  }
}

/** One way to write a length of time everywhere: 0.4 ms, 85 ms, 1.92 s, 43 s, 5 min 3 s, 2 h 5 min. */
export function length(ms) {
  if (ms < 10) {
    return (ms === 0 ? '0' : ms.toFixed(1)) + ' ms';
  }
  if (ms < 1000) {
    return Math.round(ms) + ' ms';
  }
  return ms < 10000 ? (ms / 1000).toFixed(2) + ' s' : age(ms);
}

/** The same for what goes on growing, in whole seconds. */
export function age(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const minutes = Math.floor(seconds / 60);
  const hours = Math.floor(minutes / 60);
  if (minutes < 1) {
    return seconds + ' s';
  }
  if (hours < 1) {
    return `${minutes} min ${seconds % 60} s`;
  }
  return hours < 48 ? `${hours} h ${minutes % 60} min` : `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

const TOKEN = /^#token=([\w-]+)$/;

/** The token comes in the address, and does not stay there. */
function takeToken() {
  const match = TOKEN.exec(location.hash);
  if (match) {
    sessionStorage.setItem('token', match[1]);
    history.replaceState(null, '', location.pathname);
  }
  return sessionStorage.getItem('token');
}

const token = takeToken();

/** Has something done. Complains on the page if it is refused. */
export async function order(words) {
  let complaint = 'Nobody answers.';
  try {
    const answer = await fetch('/order', {
      method: 'POST',
      headers: { 'X-Bellwether-Token': token || '' },
      body: new URLSearchParams(words),
    });
    if (answer.ok) {
      return true;
    }
    complaint = (await answer.text()).trim();
    if (answer.status === 403) {
      sessionStorage.removeItem('token');
      $('looking').hidden = false;
    }
  } catch (e) {
    // nobody answers
  }
  refuse(complaint);
  return false;
}

export const mayAct = () => Boolean(token);

let refusal;

function refuse(complaint) {
  text($('refused'), complaint);
  $('refused').hidden = false;
  clearTimeout(refusal);
  refusal = setTimeout(() => { $('refused').hidden = true; }, 6000);
}

/** Tells those who listen rather than look. */
export function say(words) {
  text($('said'), words);
}

/** Asks before something that cannot be taken back. */
export function ask(title, words, yes) {
  text($('ask-title'), title);
  text($('ask-text'), words);
  text($('ask-yes'), yes);
  const dialog = $('ask');
  return new Promise(resolve => {
    // not by the event that it has closed, which may come when the next question stands already
    const answer = given => {
      dialog.close();
      resolve(given);
    };
    $('ask-yes').onclick = () => answer(true);
    $('ask-no').onclick = () => answer(false);
    dialog.oncancel = () => resolve(false);
    dialog.showModal();
  });
}

/** What the server has told, by kind and id; and what the time is there. */
class Store {
  constructor() {
    this.kinds = new Map();
    this.byId = new Map();
    this.samples = [];
  }

  of(kind) {
    return this.kinds.get(kind) || new Map();
  }

  one(kind) {
    return this.of(kind).get(kind + ':');
  }

  take(batch) {
    if (batch.fresh) {
      this.kinds.clear();
      this.byId.clear();
    }
    this.samples.push(batch.now - performance.now());
    if (this.samples.length > 30) {
      this.samples.shift();
    }
    this.ahead = Math.max(...this.samples);
    for (const object of batch.objects) {
      const before = this.byId.get(object.id);
      if (object.is === 'gone') {
        if (before) {
          this.kinds.get(before.is).delete(object.id);
        }
        this.byId.delete(object.id);
      } else {
        this.byId.set(object.id, object);
        if (!this.kinds.has(object.is)) {
          this.kinds.set(object.is, new Map());
        }
        this.kinds.get(object.is).set(object.id, object);
      }
    }
  }

  /** What is drawn is a little late, so that nothing arrives after its time. While nothing is heard, time stands still. */
  now() {
    return (this.stoppedAt ?? performance.now()) + (this.ahead || 0) - 350;
  }
}

const store = new Store();
/** What there is to see: by the kind of the object that stands for it, and under which name in the address. */
const KINDS = { demo: [DemoView, 'Demo'], console: [ConsoleView, 'Elections'], outbox: [OutboxView, 'Outbox'] };
const views = new Map();
let shown;

function show(batch) {
  if (batch.fresh && views.size > 0) {
    location.reload(); // what the views have kept is of another run, or has gaps
    return;
  }
  store.take(batch);
  for (const [kind, [View]] of Object.entries(KINDS)) {
    if (!views.has(kind) && store.one(kind)) {
      const place = make('div', {});
      $('main').append(place);
      views.set(kind, { place, view: new View(place, store) });
      choose();
    }
  }
  for (const { view } of views.values()) {
    view.changed(batch.objects);
  }
}

/** Which of several views is shown stands in the address. */
function choose() {
  const wanted = location.hash.slice(1);
  shown = views.has(wanted) ? wanted : [...views.keys()][0];
  for (const [kind, { place }] of views) {
    place.hidden = kind !== shown;
  }
  $('views').hidden = views.size < 2;
  $('views').replaceChildren(...[...views.keys()].map(kind =>
    make('a', { href: '#' + kind, 'aria-current': kind === shown ? 'page' : false }, KINDS[kind][1])));
  views.get(shown)?.view.appear?.();
  dispatchEvent(new Event('resize'));
}

addEventListener('hashchange', () => {
  if (TOKEN.test(location.hash)) {
    takeToken();
    location.reload(); // the views were made for those who may only look
  } else {
    choose();
  }
});

/** The server sends something every second. After this long in which nothing came, what is shown may be wrong. */
const SILENCE = 5000;
let heardAt = performance.now();
let heardTime = new Date();
let connected = false;
let over = false;

function listen() {
  const events = new EventSource('/events');
  events.onopen = () => { connected = true; };
  events.onerror = () => { connected = false; };
  events.onmessage = message => {
    heardAt = performance.now();
    heardTime = new Date();
    show(JSON.parse(message.data));
    freshen();
  };
  events.addEventListener('over', () => {
    over = true;
    events.close();
    freshen();
  });
  setInterval(freshen, 250);
}

/** What is not known is not shown as if it were: the page goes grey, its clocks stop, and its buttons are off. */
function freshen() {
  const silent = performance.now() - heardAt;
  const stale = over || (!connected && silent > 1500) || silent > SILENCE;
  store.stoppedAt = stale ? heardAt : undefined;
  document.body.classList.toggle('stale', stale);
  switchOff(stale);
  const asOf = heardTime.toLocaleTimeString();
  const silentBackend = Boolean(store.one(shown === 'outbox' ? 'outbox-answer' : 'backend')?.complaint);
  text($('live'), over ? `ended at ${asOf}` : stale ? `no connection: as of ${asOf}` : silentBackend ? `the ${shown === 'outbox' ? 'database' : 'backend'} does not answer`
    : connected ? 'live' : 'connecting');
  $('live').classList.toggle('on', connected && !stale && !silentBackend);
  text($('ended'), over ? `The command that served this page has ended. You see how things stood at ${asOf}.`
    : `The command that serves this page does not answer. You see how things stood at ${asOf}. Trying again.`);
  $('ended').hidden = !stale;
}

let focused;

/** What is off loses the focus. It has it again when it is on, unless somebody has put it elsewhere. */
function switchOff(off) {
  const main = $('main');
  if (off && !main.disabled) {
    focused = main.contains(document.activeElement) ? document.activeElement : undefined;
  }
  main.disabled = off;
  if (!off && focused) {
    if (document.activeElement === document.body) {
      focused.focus({ preventScroll: true });
    }
    focused = undefined;
  }
}

const still = matchMedia('(prefers-reduced-motion: reduce)');
let drawn = 0;

/** Draws thirty times a second; once a second for those who want no motion. */
function draw(time) {
  if (shown && time - drawn >= (still.matches ? 1000 : 30)) {
    drawn = time;
    views.get(shown).view.draw();
  }
  requestAnimationFrame(draw);
}

$('looking').hidden = mayAct();
listen();
requestAnimationFrame(draw);
