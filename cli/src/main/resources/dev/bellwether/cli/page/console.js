// The console: all elections of a backend, and one of them from near.
import { age, ask, length, make, mayAct, order, say, text } from './page.js';
import { drawAxis, drawTrack, palette } from './timeline.js';

const $ = id => document.getElementById(id);
const ROW = 58;
const SPARE = 6;

function clock(ms) {
  return new Date(ms).toLocaleTimeString();
}

export class ConsoleView {
  constructor(main, store) {
    this.store = store;
    this.window = 300000;
    this.words = '';
    this.kind = 'all';
    this.shown = [];
    this.rows = new Map();
    this.terms = new Map();
    this.colours = palette();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { this.colours = palette(); });
    this.build(main);
    addEventListener('scroll', () => this.place(), { passive: true });
    addEventListener('resize', () => this.place());
  }

  build(main) {
    const about = this.store.one('console');
    this.about = about;
    this.search = make('input', { type: 'search', id: 'search', placeholder: 'Search elections and leaders', 'aria-label': 'Search elections and leaders',
      oninput: event => { this.words = event.target.value.toLowerCase(); this.choose(); } });
    const kinds = make('select', { id: 'kind', 'aria-label': 'Which elections', onchange: event => { this.kind = event.target.value; this.choose(); } },
      make('option', { value: 'all' }, 'all'), make('option', { value: 'led' }, 'led'), make('option', { value: 'vacant' }, 'vacant'),
      make('option', { value: 'changed' }, 'changed since this page runs'));
    const reach = make('select', { id: 'reach', 'aria-label': 'How far back', onchange: event => { this.window = Number(event.target.value); } },
      make('option', { value: 60000 }, 'last minute'), make('option', { value: 300000, selected: true }, 'last 5 minutes'),
      make('option', { value: 3600000 }, 'last hour'), make('option', { value: 86400000 }, 'last day'));
    this.count = make('p', { class: 'count', role: 'status' });
    this.axis = make('canvas', { 'aria-hidden': 'true' });
    this.list = make('ul', { class: 'rows seats', 'aria-label': 'Elections' });
    this.near = make('section', { class: 'near', 'aria-label': 'One election', hidden: true });
    this.complaint = make('p', { class: 'notice', role: 'alert', hidden: true });
    this.nothing = make('div', { class: 'empty', hidden: true }, make('h2', {}, 'No elections here yet'),
      make('p', {}, 'They appear as soon as somebody stands. Try it from a terminal:'),
      make('pre', {}, `bellwether run billing --on '${about.on}' -- sleep 60`));
    main.append(this.complaint,
      make('div', { class: 'bar' }, this.search, kinds, reach, make('span', { class: 'grow' }), this.count),
      make('div', { class: 'beside' }, make('div', { class: 'all' },
        make('div', { class: 'row seat axis', 'aria-hidden': 'true' }, make('div', { class: 'who' }), this.axis), this.nothing, this.list), this.near));
    this.list.addEventListener('keydown', event => this.walk(event));
  }

  /** It is what is shown from now on. */
  appear() {
    document.title = 'Bellwether: ' + this.about.on;
    text($('where'), this.about.on + (this.about.readOnly ? ' (read-only)' : ''));
    $('looking').hidden = this.about.readOnly || mayAct();
  }

  changed(objects) {
    let seats = false;
    for (const object of objects) {
      if (object.is === 'seat' || object.is === 'gone') {
        seats = true;
      }
      if (object.is === 'term') {
        this.remember(object);
        this.announce(object);
      } else if (object.is === 'gone' && object.id.startsWith('term:')) {
        this.forget(object.id);
      }
    }
    const backend = this.store.one('backend');
    const unknown = backend?.unknownSince;
    text(this.complaint, unknown === undefined ? ''
      : `${backend.complaint}. It is not known who leads: you see how things stood at ${clock(unknown)}.`);
    this.complaint.hidden = unknown === undefined;
    if (seats || unknown !== this.unknown || (backend && !this.looked)) {
      this.looked = Boolean(backend);
      this.unknown = unknown;
      this.choose();
    }
    if (this.name && objects.some(object => object.row === this.name || object.name === this.name)) {
      this.look();
    }
  }

  remember(term) {
    if (!this.terms.has(term.row)) {
      this.terms.set(term.row, new Map());
    }
    this.terms.get(term.row).set(term.id, term);
  }

  forget(id) {
    for (const terms of this.terms.values()) {
      terms.delete(id);
    }
  }

  /** Only of the one that is looked at from near: two thousand would be noise. */
  announce(term) {
    if (term.row === this.name && term.to === undefined) {
      say(`${term.leader} leads ${term.row}, token ${term.token}`);
    }
  }

  choose() {
    const kinds = { all: () => true, led: seat => seat.leader, vacant: seat => seat.known && !seat.leader, changed: seat => seat.changes > 0 };
    const seats = [...this.store.of('seat').values()];
    this.shown = seats
      .filter(seat => kinds[this.kind](seat) && (!this.words || seat.name.toLowerCase().includes(this.words) || seat.leader.toLowerCase().includes(this.words)))
      .sort((a, b) => Boolean(a.leader) - Boolean(b.leader) || (a.name < b.name ? -1 : 1));
    const vacant = seats.filter(seat => seat.known && !seat.leader).length;
    text(this.count, `${this.shown.length} of ${seats.length} elections, ${vacant} vacant`);
    this.nothing.hidden = !this.looked || seats.length > 0 || this.unknown !== undefined;
    this.list.style.height = Math.max(1, this.shown.length) * ROW + 'px';
    this.place();
  }

  /** Of thousands of rows, only those exist that are seen, and the one that has the focus: it keeps that. */
  place() {
    const top = this.list.getBoundingClientRect().top;
    const first = Math.max(0, Math.floor(-top / ROW) - SPARE);
    const last = Math.min(this.shown.length, Math.ceil((innerHeight - top) / ROW) + SPARE);
    const focused = document.activeElement;
    const places = this.shown.slice(first, last).map((seat, i) => first + i);
    const at = this.list.contains(focused) ? this.shown.findIndex(seat => seat.name === focused.dataset.name) : -1;
    if (at >= 0 && !places.includes(at)) {
      places.push(at);
      places.sort((a, b) => a - b);
    }
    const wanted = new Map(places.map(i => [this.shown[i].name, i]));
    for (const [name, row] of this.rows) {
      if (!wanted.has(name)) {
        row.item.remove();
        this.rows.delete(name);
      }
    }
    let before = null;
    for (const [name, i] of wanted) {
      const row = this.rows.get(name) || this.newRow(name);
      this.fill(row, this.shown[i], i);
      const place = before ? before.nextSibling : this.list.firstChild;
      if (row.item !== place) {
        this.list.insertBefore(row.item, place);
      }
      before = row.item;
    }
    if (at >= 0 && document.activeElement !== focused) {
      focused.focus({ preventScroll: true }); // an element that is moved loses it
    }
  }

  newRow(name) {
    const title = make('button', { type: 'button', class: 'name link', 'data-name': name, onclick: () => this.approach(name) }, name);
    const state = make('div', { class: 'state' });
    const canvas = make('canvas', { 'aria-hidden': 'true' });
    const item = make('li', { class: 'row seat' }, make('div', { class: 'who' }, title, state), canvas);
    const row = { item, state, canvas, title };
    this.rows.set(name, row);
    return row;
  }

  fill(row, seat, i) {
    row.item.style.top = i * ROW + 'px';
    row.item.setAttribute('aria-setsize', this.shown.length);
    row.item.setAttribute('aria-posinset', i + 1);
    row.item.classList.toggle('leads', Boolean(seat.leader) && this.unknown === undefined);
    row.item.classList.toggle('dead', seat.known && !seat.leader && this.unknown === undefined);
    row.item.classList.toggle('unknown', !seat.known || this.unknown !== undefined);
    row.title.setAttribute('aria-current', seat.name === this.name ? 'true' : 'false');
    row.seat = seat;
    text(row.state, words(seat, this.store.now(), this.unknown));
  }

  /** Arrow keys go from one to the next, also to those that are not on the screen. */
  walk(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const name = event.target.dataset?.name;
    if (!step || !name) {
      return;
    }
    event.preventDefault();
    const next = this.shown[this.shown.findIndex(seat => seat.name === name) + step];
    if (next) {
      const at = this.list.getBoundingClientRect().top + this.shown.indexOf(next) * ROW;
      if (at < 0 || at + ROW > innerHeight) {
        scrollBy(0, at < 0 ? at : at + ROW - innerHeight);
        this.place();
      }
      this.rows.get(next.name)?.title.focus();
    }
  }

  approach(name) {
    this.name = name;
    this.place();
    this.look();
    clearInterval(this.looking);
    this.looking = setInterval(() => this.look(), 2000);
  }

  leave() {
    clearInterval(this.looking);
    const name = this.name;
    this.name = undefined;
    this.near.hidden = true;
    this.nearFor = undefined;
    this.rows.get(name)?.title.focus();
    this.place();
  }

  async look() {
    const name = this.name;
    try {
      const answer = await fetch('/election?' + new URLSearchParams({ name }));
      const said = answer.ok ? await answer.json() : (await answer.text()).trim();
      if (name === this.name) {
        this.openNear(name);
        if (answer.ok) {
          this.showNear(said);
        } else {
          this.doubtNear(said);
        }
      }
    } catch (e) {
      // the events say that nobody answers
    }
  }

  openNear(name) {
    if (this.nearFor !== name) {
      this.nearFor = name;
      this.lastSeen = '';
      this.buildNear(name);
    }
    this.near.hidden = false;
  }

  /** What it shows was so at the last answer, and nothing can be ordered by it. */
  doubtNear(why) {
    text(this.nearState, `Unknown: ${why}.${this.lastSeen && ' At the last answer: ' + this.lastSeen}`);
    delete this.candidates.dataset.key;
    for (const button of this.near.querySelectorAll('#stand-down, .hand-over')) {
      button.disabled = true;
    }
  }

  showNear(state) {
    const leader = state.leader;
    this.near.classList.toggle('ended', state.ended);
    this.lastSeen = state.ended ? 'It has ended: nobody may stand.' : leader
      ? `${leader.candidate} leads, token ${leader.token}, since ${new Date(leader.since).toLocaleString()}` : 'Nobody leads.';
    text(this.nearState, this.lastSeen);
    const candidates = state.candidates.map(one => [one.id, one.leads ? 'leads' : one.heard ? 'stands by, last heard ' + age(Date.now() - Date.parse(one.heard)) + ' ago' : 'stands by', String(one.priority),
      Object.entries(one.metadata).map(([key, value]) => `${key}=${value}`).join(' ') || '–',
      this.standDown && leader && !one.leads && mayAct() ? { button: 'Hand over…', act: () => this.orderHandOver(state.name, one.id) } : '']);
    fill(this.candidates, candidates.length ? candidates : [['nobody', '', '', '', '']]);
    const terms = [...(this.terms.get(state.name) || new Map()).values()].sort((a, b) => b.from - a.from);
    fill(this.changes, terms.slice(0, 12).map((term, i) => {
      const earlier = terms[i + 1];
      const vacant = earlier && earlier.to !== undefined ? length(Math.max(0, term.from - earlier.to)) : '–';
      return [clock(term.from), term.leader, String(term.token), vacant, term.to === undefined ? 'leads' : length(term.to - term.from)];
    }));
    if (this.standDown) {
      this.standDown.disabled = !leader || !mayAct();
    }
  }

  buildNear(name) {
    this.nearState = make('p', { id: 'near-state' });
    this.candidates = make('tbody');
    this.changes = make('tbody');
    this.standDown = this.about.readOnly ? null : make('button', { type: 'button', class: 'bad', id: 'stand-down', onclick: () => this.orderStandDown(name) }, 'Stand down…');
    this.near.replaceChildren(
      make('div', { class: 'bar' }, make('h2', { tabindex: '-1', id: 'near-name' }, name), make('span', { class: 'grow' }),
        ...(this.standDown ? [this.standDown] : []),
        make('button', { type: 'button', onclick: () => this.leave() }, 'Close')),
      this.nearState,
      make('div', { class: 'tables' },
        table('Candidates', ['id', 'state', 'priority', 'metadata', ''], this.candidates),
        table('Changes seen', ['from', 'leader', 'token', 'vacant before', 'for'], this.changes)));
    if (this.near.getBoundingClientRect().top < 0) {
      this.near.scrollIntoView({ block: 'start' });
    }
    $('near-name').focus();
  }

  async orderStandDown(name) {
    const leader = this.store.of('seat').get('seat:' + name)?.leader;
    if (await ask(`Have ${leader || 'the leader'} stand down?`, `The leader of ${name} ends its work and hands over; if nobody else stands, it leads again a lease later.`, 'Stand down')) {
      if (await order({ action: 'stand-down', name })) {
        say('The order has been given.');
      }
    }
  }

  async orderHandOver(name, to) {
    if (await ask(`Hand over to ${to}?`, `${to} gets ready while the leader of ${name} leads on; then it takes the seat. If it is not ready within 30 seconds, the leader leads on.`, 'Hand over')) {
      if (await order({ action: 'hand-over', name, to })) {
        say(`${to} leads.`);
      }
    }
  }

  draw() {
    const to = this.store.now();
    const from = to - this.window;
    drawAxis(this.axis, from, to, this.colours, tick => new Date(tick).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: this.window < 600000 ? '2-digit' : undefined }));
    const unknown = [...this.store.of('unknown').values()].map(one => ({ kind: 'unknown', from: one.from, to: one.to ?? to }));
    for (const row of this.rows.values()) {
      const terms = [...(this.terms.get(row.seat.name) || new Map()).values()];
      drawTrack(row.canvas, { alive: false, spans: unknown, terms: terms.map(term => ({ from: term.from, to: term.to ?? to, label: term.leader })) },
        from, to, this.colours);
      text(row.state, words(row.seat, to, this.unknown));
    }
  }
}

function words(seat, now, unknown) {
  if (!seat.known) {
    return 'unknown';
  }
  if (unknown !== undefined) {
    return `unknown; ${seat.leader || 'nobody'} led as of ${clock(unknown)}`;
  }
  return seat.leader ? `${seat.leader}, token ${seat.token}, for ${age(now - seat.since)}` : 'nobody leads';
}

function fill(body, lines) {
  const key = JSON.stringify(lines);
  if (body.dataset.key !== key) {
    body.dataset.key = key;
    body.replaceChildren(...lines.map(cells => make('tr', {}, ...cells.map(cell => make('td', {}, cell.button ? make('button', { type: 'button', class: 'hand-over', onclick: cell.act }, cell.button) : cell)))));
  }
}

function table(caption, heads, body) {
  return make('div', { class: 'scroll' }, make('table', {}, make('caption', {}, caption),
    make('thead', {}, make('tr', {}, ...heads.map(head => make('th', { scope: 'col' }, head)))), body));
}
