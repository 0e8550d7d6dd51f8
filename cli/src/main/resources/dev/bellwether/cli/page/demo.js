// The demo: the seat, a row for each candidate, and what one can do to it.
import { age, ask, length, make, mayAct, order, say, text } from './page.js';
import { drawAxis, drawTrack, palette } from './timeline.js';

const $ = id => document.getElementById(id);

/** A point in time, from the beginning: 1:07. */
function clock(ms) {
  const seconds = Math.floor(ms / 1000);
  return Math.floor(seconds / 60) + ':' + String(seconds % 60).padStart(2, '0');
}

const isDead = row => row.state === 'dead';
const isHurt = row => Boolean(row.cut) || row.slow;

/**
 * What can be done to a candidate: id, words, what it does, when, and what kind. Those of one pair share a place: one of them is shown.
 * Those of the menu stand behind "More".
 */
const DOES = [
  { id: 'kill', words: 'Kill', does: 'kill -9', when: row => !isDead(row), pair: 'life', bad: true },
  { id: 'start', words: 'Start', does: 'start it again', when: isDead, pair: 'life' },
  { id: 'freeze', words: 'Freeze', does: 'stop its process (SIGSTOP)', when: row => !isDead(row) && !row.frozen, pair: 'time' },
  { id: 'thaw', words: 'Wake', does: 'let its process run on (SIGCONT)', when: row => row.frozen, pair: 'time' },
  { id: 'cut', words: 'Cut off', does: 'cut its network, both ways', when: row => !isDead(row) && !isHurt(row), pair: 'net', network: true },
  { id: 'heal', words: 'Reconnect', does: 'restore its network', when: row => !isDead(row) && isHurt(row), pair: 'net', network: true },
  { id: 'resign', words: 'Ask it to hand over', does: 'it finishes its work and leaves', menu: true,
    when: row => !isDead(row) && !row.frozen && row.state !== 'not standing' },
  { id: 'cut-requests', words: 'Lose what it sends', does: 'what it sends is lost', menu: true, network: true,
    when: row => !isDead(row) && row.cut !== 'requests' },
  { id: 'cut-answers', words: 'Lose what is sent to it', does: 'what is sent to it is lost', menu: true, network: true,
    when: row => !isDead(row) && row.cut !== 'answers' },
  { id: 'slow', words: 'Slow its network by 150 ms', does: '150 ms more each way', menu: true, network: true, when: row => !isDead(row) && !row.slow },
];

/** What a term was ended by, by the action before its end. */
const ENDINGS = {
  kill: 'killed', freeze: 'frozen', cut: 'cut off', 'cut-requests': 'cut off', 'cut-answers': 'cut off', slow: 'slow network',
  resign: 'handed over',
};

/** What stands above a row where it was done. */
const MARKS = {
  kill: 'kill', freeze: 'freeze', thaw: 'wake', cut: 'cut off', 'cut-requests': 'sends lost', 'cut-answers': 'answers lost',
  heal: 'reconnect', slow: 'slow', resign: 'hand over', start: 'start',
};

/** How long after an action the end of a term is put down to it. */
const LATEST = 4;

export class DemoView {
  constructor(main, store) {
    this.store = store;
    this.rows = new Map();
    this.window = 30000;
    this.colours = palette();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { this.colours = palette(); });
    document.addEventListener('click', event => closeMenus(event.target));
    document.addEventListener('keydown', event => event.key === 'Escape' && closeMenus(null));
    this.build(main);
  }

  build(main) {
    const demo = this.store.one('demo');
    this.lease = demo.lease;
    document.title = 'Bellwether: demo';
    text($('where'), `demo on ${demo.engine}`);
    this.leader = figure('Leads now', 'leader');
    this.vacancy = figure('Nobody led, the last time', 'vacancy');
    this.overlap = figure('Two led at once', 'overlap');
    this.killLeader = make('button', { class: 'main', type: 'button', id: 'kill-leader', onclick: () => this.killTheLeader() }, 'Kill the leader');
    const start = make('button', { type: 'button', id: 'start-another', onclick: () => order({ action: 'start' }) }, 'Start another');
    start.disabled = !mayAct();
    const reach = make('select', { id: 'reach', onchange: event => { this.window = Number(event.target.value); } },
      make('option', { value: 15000 }, '15 s'), make('option', { value: 30000, selected: true }, '30 s'),
      make('option', { value: 120000 }, '2 min'), make('option', { value: 600000 }, '10 min'));
    this.axis = make('canvas', { 'aria-hidden': 'true' });
    this.seat = { canvas: make('canvas', { 'aria-hidden': 'true' }), state: make('div', { class: 'state' }) };
    this.list = make('ul', { class: 'rows', 'aria-label': 'The seat and its candidates' },
      make('li', { class: 'row axis', 'aria-hidden': 'true' }, make('div', { class: 'who' }, 'minutes'), this.axis, make('div', { class: 'does' })),
      make('li', { class: 'row theseat' }, make('div', { class: 'who' }, make('div', { class: 'name' }, 'the seat'), this.seat.state), this.seat.canvas,
        make('div', { class: 'does note' }, 'green: somebody leads, with the token; red: nobody leads, why, and for how long')));
    this.table = make('tbody');
    main.append(
      make('p', { class: 'intro' }, 'Three processes want one seat. Kill the leader: another leads about '
        + `${demo.lease / 1000} s later, and never two at once.`),
      make('div', { class: 'bar' }, this.killLeader, start, make('span', { class: 'grow' }), make('label', { for: 'reach' }, 'Show the last'), reach),
      make('dl', { class: 'figures' }, this.leader.box, this.vacancy.box, this.overlap.box),
      this.list,
      make('div', { class: 'scroll' }, make('table', {}, make('caption', {}, 'Who led'),
        make('thead', {}, make('tr', {}, ...['from', 'leader', 'token', 'led for', 'ended by', 'then nobody for'].map(head => make('th', { scope: 'col' }, head)))),
        this.table)));
  }

  async killTheLeader() {
    if (this.leads) {
      await order({ action: 'kill', name: this.leads.name });
    }
  }

  changed(objects) {
    const rows = [...this.store.of('row').values()].sort((a, b) => a.place - b.place);
    for (const row of rows) {
      this.row(row);
    }
    if (this.store.one('server')) {
      this.server(this.store.one('server'));
    }
    this.leads = rows.find(row => row.state === 'leading');
    this.figures(this.store.one('figures'));
    this.killLeader.disabled = !mayAct() || !this.leads || this.leads.frozen;
    if (objects.some(object => ['term', 'vacancy', 'gone', 'mark'].includes(object.is))) {
      this.changes();
    }
  }

  figures(figures) {
    if (!figures) {
      return;
    }
    const vacancies = [...this.store.of('vacancy').values()];
    const last = vacancies.at(-1);
    this.vacantSince = figures.vacantSince;
    text(this.leader.value, this.leads ? this.leads.name : 'electing…');
    text(this.leader.more, this.leads ? 'token ' + this.leads.token : 'the seat is free when the lease is over');
    this.leader.box.classList.toggle('good', Boolean(this.leads));
    text(this.overlap.value, figures.overlapNanos === 0 ? '0 ns' : length(figures.overlapNanos / 1e6));
    text(this.overlap.more, figures.overlapNanos === 0 ? 'never so far' : 'this must never be: please report it');
    this.overlap.box.classList.toggle('good', figures.overlapNanos === 0);
    this.overlap.box.classList.toggle('off', figures.overlapNanos !== 0);
    text(this.vacancy.value, last ? length(last.to - last.from) : 'not yet');
    text(this.vacancy.more, last ? `the longest of ${vacancies.length}: ${length(Math.max(...vacancies.map(one => one.to - one.from)))}`
      : 'kill the leader to see it');
  }

  row(row) {
    let shown = this.rows.get(row.name);
    if (!shown) {
      shown = this.newRow(row);
    }
    const states = [row.state === 'leading' ? `leads, token ${row.token}` : isDead(row) ? 'dead' : row.state];
    if (row.frozen) {
      states.push('frozen');
    }
    if (row.cut) {
      states.push({ both: 'cut off', requests: 'what it sends is lost', answers: 'what is sent to it is lost' }[row.cut]);
    }
    if (row.slow) {
      states.push('slow');
    }
    text(shown.state, states.join(', '));
    shown.item.classList.toggle('leads', row.state === 'leading');
    shown.item.classList.toggle('frozen', row.frozen);
    shown.item.classList.toggle('cut', Boolean(row.cut));
    shown.item.classList.toggle('dead', isDead(row));
    shown.item.dataset.state = row.state;
    offer(shown.buttons, row);
  }

  newRow(row) {
    const network = this.store.one('demo').network;
    const buttons = DOES.filter(does => network || !does.network).map(does => [make('button', {
      type: 'button', class: does.bad ? 'bad' : undefined, 'aria-label': `${does.words}: ${row.name}, ${does.does}`, 'data-action': does.id,
      onclick: () => order({ action: does.id, name: row.name }),
    }, does.words), does]);
    const shown = this.place(row.name, buttons);
    const before = [...this.rows.keys()].filter(name => name !== '').length;
    this.list.insertBefore(shown.item, this.list.children[2 + before] || null);
    this.rows.set(row.name, shown);
    return shown;
  }

  server(server) {
    let shown = this.rows.get('');
    if (!shown) {
      const kill = make('button', { type: 'button', class: 'bad', 'data-action': 'kill-server', 'aria-label': `Kill: ${server.name}`,
        onclick: async () => {
          if (await ask(`Kill the ${server.name}?`, 'kill -9. Until it runs again, nobody can be elected. Start it with the button in its place.', 'Kill it')) {
            order({ action: 'kill-server' });
          }
        } }, 'Kill');
      const start = make('button', { type: 'button', 'data-action': 'start-server', 'aria-label': `Start: ${server.name}`,
        onclick: () => order({ action: 'start-server' }) }, 'Start');
      shown = this.place(server.name, [[kill, { pair: 'life', when: one => one.state === 'serving' }],
        [start, { pair: 'life', when: one => one.state === 'dead' }]]);
      shown.item.classList.add('server');
      this.list.append(shown.item);
      this.rows.set('', shown);
    }
    text(shown.state, server.state);
    shown.item.classList.toggle('dead', server.state === 'dead');
    offer(shown.buttons, server);
  }

  place(name, buttons) {
    const state = make('div', { class: 'state' });
    const canvas = make('canvas', { 'aria-hidden': 'true' });
    const plain = buttons.filter(([, does]) => !does.menu).map(([button]) => button);
    const menu = buttons.filter(([, does]) => does.menu).map(([button]) => button);
    const more = menu.length === 0 ? [] : [make('details', { class: 'menu' }, make('summary', { 'aria-label': `More for ${name}` }, 'More'),
      make('div', { class: 'items' }, ...menu))];
    const item = make('li', { class: 'row', 'data-name': name }, make('div', { class: 'who' }, make('div', { class: 'name' }, name), state), canvas,
      make('div', { class: 'does', role: 'group', 'aria-label': `What to do to ${name}` }, ...plain, ...more));
    return { item, state, canvas, buttons };
  }

  /** The terms in order, each with what ended it and for how long nobody led then. */
  terms() {
    const terms = [...this.store.of('term').values()].sort((a, b) => a.from - b.from);
    const after = new Map([...this.store.of('vacancy').values()].map(one => [one.token, one]));
    const marks = [...this.store.of('mark').values()];
    const outages = [...this.store.of('span').values()].filter(span => span.row === '' && span.kind === 'dead');
    return terms.map((term, i) => {
      const next = terms[i + 1];
      const gap = next ? after.get(next.token) : term.over && this.vacantSince !== undefined ? { from: this.vacantSince } : undefined;
      return { ...term, gap, ending: term.over || next ? this.ending(term, marks, outages) : '' };
    });
  }

  /** The last thing that was done to the leader before its term ended, if it was not long before. */
  ending(term, marks, outages) {
    const since = term.to - LATEST * this.lease;
    const done = marks.filter(mark => mark.row === term.row && ENDINGS[mark.action] && mark.at >= Math.max(since, term.from)
      && mark.at <= term.to + this.lease).at(-1);
    if (done) {
      return ENDINGS[done.action];
    }
    const server = this.store.one('server');
    const outage = outages.some(span => span.from <= term.to && (span.to ?? Infinity) >= since);
    return outage && server ? `${server.name} killed` : 'lost the seat';
  }

  /** The table, newest first, and a word for those who listen. */
  changes() {
    const terms = this.terms().reverse().slice(0, 12);
    const lines = terms.map(term => [clock(term.from), term.row, String(term.token), term.ending ? length(term.to - term.from) : 'leads',
      term.ending, term.gap?.to !== undefined ? length(term.gap.to - term.gap.from) : '']);
    const key = JSON.stringify(lines);
    if (key === this.told) {
      return;
    }
    this.told = key;
    this.table.replaceChildren(...lines.map(cells => make('tr', {}, ...cells.map(cell => make('td', {}, cell)))));
    const newest = terms[0];
    if (newest && newest.id !== this.announced) {
      this.announced = newest.id;
      const gap = terms[1]?.gap;
      say(`${newest.row} leads, token ${newest.token}${gap?.to === undefined ? '' : ', vacant for ' + length(gap.to - gap.from)}`);
    }
  }

  draw() {
    const to = this.store.now();
    const from = to - this.window;
    const byRow = (kind, name) => [...this.store.of(kind).values()].filter(one => one.row === name);
    drawAxis(this.axis, from, to, this.colours, tick => tick < 0 ? '' : clock(tick));
    this.drawSeat(from, to);
    for (const [name, shown] of this.rows) {
      const spans = byRow('span', name).map(span => ({ ...span, to: Math.min(span.to ?? Infinity, to) }));
      const terms = byRow('term', name).map(term => ({ ...term, label: term.token }));
      const marks = byRow('mark', name).map(mark => ({ at: mark.at, text: MARKS[mark.action] || mark.action }));
      drawTrack(shown.canvas, { alive: true, since: marks[0]?.at || 0, terms, spans, marks }, from, to, this.colours);
    }
  }

  /** All terms in one row, and between them the gaps, each with its cause and its length; that of now is counted live. */
  drawSeat(from, to) {
    const terms = this.terms();
    const gaps = terms.filter(term => term.gap && term.gap.from < to)
      .map(term => ({ kind: 'gap', from: term.gap.from, to: Math.min(term.gap.to ?? to, to), ending: term.ending }));
    const marks = gaps.map(gap => ({ at: gap.from, text: `${gap.ending}: ${length(Math.max(0, gap.to - gap.from))}` }));
    drawTrack(this.seat.canvas, { terms: terms.map(term => ({ ...term, label: `${term.row}, ${term.token}` })), spans: gaps, marks }, from, to, this.colours);
    const gap = gaps.at(-1);
    const vacant = !this.leads && gap && gap.to === to;
    text(this.seat.state, this.leads ? `${this.leads.name} leads` : vacant ? `electing for ${age(to - gap.from)}` : 'electing');
  }
}

/**
 * Shows what can be done now: of a pair the one that is possible, or the first. The focus does not get lost: it goes to what has taken the
 * place of what had it.
 */
function offer(buttons, subject) {
  const possible = new Map(buttons.map(([button, does]) => [button, does.when(subject)]));
  const seen = new Set();
  for (const [button, does] of buttons) {
    const focused = document.activeElement === button;
    const pair = buttons.filter(([, other]) => does.pair && other.pair === does.pair);
    const first = !seen.has(does.pair);
    seen.add(does.pair);
    button.disabled = !possible.get(button) || !mayAct();
    button.hidden = pair.length > 1 && !possible.get(button) && (!first || pair.some(([other]) => possible.get(other)));
    if (focused && (button.disabled || button.hidden)) {
      const next = pair.map(([other]) => other).find(other => possible.get(other))
        || buttons.map(([other]) => other).find(other => possible.get(other));
      queueMicrotask(() => (next || document.body).focus());
    }
  }
}

function closeMenus(target) {
  for (const menu of document.querySelectorAll('details.menu[open]')) {
    if (!target || !menu.contains(target) || target.closest('.items')) {
      menu.open = false;
    }
  }
}

function figure(title, id) {
  const value = make('dd', { id });
  const more = make('dd', { class: 'more', id: id + '-more' });
  return { box: make('div', { class: 'figure' }, make('dt', {}, title), value, more), value, more };
}
