// The demo: a row for each candidate, and what one can do to it.
import { ask, make, mayAct, order, say, text } from './page.js';
import { drawAxis, drawBars, drawTrack, palette } from './timeline.js';

const $ = id => document.getElementById(id);

/** Words for a time that was measured. */
function millis(ms) {
  return ms < 100 ? ms.toFixed(1) + ' ms' : Math.round(ms).toLocaleString('en').replaceAll(',', '\u202f') + ' ms';
}

function nanos(ns) {
  return ns < 1e6 ? ns + ' ns' : millis(ns / 1e6);
}

/** A point in time, from the beginning: 1:07. */
function clock(ms) {
  const seconds = Math.floor(ms / 1000);
  return Math.floor(seconds / 60) + ':' + String(seconds % 60).padStart(2, '0');
}

const SHORT = {
  kill: 'kill', freeze: 'freeze', thaw: 'thaw', cut: 'cut', 'cut-requests': 'mute', 'cut-answers': 'deafen', heal: 'heal', slow: 'slow',
  resign: 'resign', start: 'start',
};

/** What can be done to a candidate: id, label, what it means, and when. */
const DOES = [
  ['kill', 'Kill', 'kill -9', row => row.state !== 'dead', 'bad'],
  ['start', 'Start', 'start it again', row => row.state === 'dead'],
  ['freeze', 'Freeze', 'SIGSTOP', row => row.state !== 'dead' && !row.frozen],
  ['thaw', 'Thaw', 'SIGCONT', row => row.frozen],
  ['resign', 'Resign', 'ask it to hand over in order', row => row.state !== 'dead' && !row.frozen && row.state !== 'not standing'],
  ['cut', 'Cut off', 'nothing passes, either way', row => row.state !== 'dead' && row.cut !== 'both', 'network'],
  ['cut-requests', 'Mute', 'what it sends is lost', row => row.state !== 'dead' && row.cut !== 'requests', 'network'],
  ['cut-answers', 'Deafen', 'what it is sent is lost', row => row.state !== 'dead' && row.cut !== 'answers', 'network'],
  ['slow', 'Slow', '150 ms more, each way', row => row.state !== 'dead' && !row.slow, 'network'],
  ['heal', 'Heal', 'its network is as before', row => row.state !== 'dead' && (row.cut || row.slow), 'network'],
];

export class DemoView {
  constructor(main, store) {
    this.store = store;
    this.rows = new Map();
    this.window = 30000;
    this.colours = palette();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { this.colours = palette(); });
    this.build(main);
  }

  build(main) {
    const demo = this.store.one('demo');
    document.title = 'Bellwether: demo';
    text($('where'), `three candidates and one seat, on ${demo.engine}; lease ${demo.lease / 1000} s`);
    this.leader = figure('Leader', 'leader');
    this.overlap = figure('Overlap so far', 'overlap');
    this.vacancy = figure('Last vacancy', 'vacancy', true);
    this.killLeader = make('button', { class: 'main', type: 'button', id: 'kill-leader', onclick: () => this.killTheLeader() }, 'Kill the leader');
    const start = make('button', { type: 'button', id: 'start-another', onclick: () => order({ action: 'start' }) }, 'Start another');
    start.disabled = !mayAct();
    const reach = make('select', { id: 'reach', onchange: event => { this.window = Number(event.target.value); } },
      make('option', { value: 15000 }, '15 s'), make('option', { value: 30000, selected: true }, '30 s'),
      make('option', { value: 120000 }, '2 min'), make('option', { value: 600000 }, '10 min'));
    this.axis = make('canvas', { 'aria-hidden': 'true' });
    this.list = make('ul', { class: 'rows', 'aria-label': 'Candidates' },
      make('li', { class: 'row axis', 'aria-hidden': 'true' }, make('div', { class: 'who' }, 'since the beginning'), this.axis, make('div', { class: 'does' })));
    this.table = make('tbody');
    main.append(
      make('dl', { class: 'figures' }, this.leader.box, this.overlap.box, this.vacancy.box),
      make('div', { class: 'bar' }, this.killLeader, start, make('span', { class: 'grow' }), make('label', { for: 'reach' }, 'Show the last'), reach),
      this.list, this.legend(),
      make('div', { class: 'scroll' }, make('table', {}, make('caption', {}, 'Who led'),
        make('thead', {}, make('tr', {}, ...['from', 'leader', 'token', 'vacant before', 'overlap so far'].map(head => make('th', { scope: 'col' }, head)))),
        this.table)));
  }

  legend() {
    const samples = [
      ['leading, with its token', { alive: true, terms: [{ from: 8, to: 100, label: '7' }] }],
      ['standing by', { alive: true }],
      ['frozen', { alive: true, spans: [{ kind: 'frozen', from: 5, to: 95 }] }],
      ['cut off', { alive: true, spans: [{ kind: 'cut', from: 0, to: 100 }] }],
      ['slow', { alive: true, spans: [{ kind: 'slow', from: 0, to: 100 }] }],
      ['dead', { alive: true, spans: [{ kind: 'dead', from: 0, to: 100 }] }],
    ];
    this.samples = samples.map(([words, track]) => ({ track, canvas: make('canvas', { 'aria-hidden': 'true' }), words }));
    return make('ul', { class: 'legend', 'aria-label': 'What the colours mean' }, ...this.samples.map(one => make('li', {}, one.canvas, one.words)));
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
    if (objects.some(object => object.is === 'term' || object.is === 'vacancy' || object.is === 'gone')) {
      this.changes();
    }
  }

  figures(figures) {
    if (!figures) {
      return;
    }
    const vacancies = [...this.store.of('vacancy').values()];
    const last = vacancies.at(-1);
    text(this.leader.value, this.leads ? this.leads.name : 'nobody');
    text(this.leader.more, this.leads ? 'token ' + this.leads.token : '');
    this.leader.box.classList.toggle('good', Boolean(this.leads));
    text(this.overlap.value, nanos(figures.overlapNanos));
    text(this.overlap.more, figures.overlapNanos === 0 ? 'never have two led at once' : 'two have led at once');
    this.overlap.box.classList.toggle('good', figures.overlapNanos === 0);
    this.overlap.box.classList.toggle('off', figures.overlapNanos !== 0);
    text(this.vacancy.value, last ? millis(last.to - last.from) : 'none');
    text(this.vacancy.more, last ? `${vacancies.length} so far, the longest ${millis(Math.max(...vacancies.map(one => one.to - one.from)))}` : 'so far');
    this.vacancies = vacancies.map(one => one.to - one.from);
  }

  row(row) {
    let shown = this.rows.get(row.name);
    if (!shown) {
      shown = this.newRow(row);
    }
    const states = [row.state === 'leading' ? `leading, token ${row.token}` : row.state];
    if (row.frozen) {
      states.push('frozen');
    }
    if (row.cut) {
      states.push({ both: 'cut off', requests: 'mute', answers: 'deaf' }[row.cut]);
    }
    if (row.slow) {
      states.push('slow');
    }
    text(shown.state, states.join(', '));
    shown.item.classList.toggle('leads', row.state === 'leading');
    shown.item.classList.toggle('frozen', row.frozen);
    shown.item.classList.toggle('cut', Boolean(row.cut));
    shown.item.classList.toggle('dead', row.state === 'dead');
    shown.item.dataset.state = row.state;
    for (const [button, when] of shown.buttons) {
      swap(button, when(row));
    }
  }

  newRow(row) {
    const network = this.store.one('demo').network;
    const buttons = DOES.filter(does => does[4] !== 'network' || network).map(([action, label, title, when, kind]) => {
      const button = make('button', {
        type: 'button', class: kind === 'bad' ? 'bad' : undefined, title, 'aria-label': `${label} ${row.name}: ${title}`, 'data-action': action,
        onclick: () => order({ action, name: row.name }),
      }, label);
      return [button, when];
    });
    const shown = this.place(row.name, buttons);
    const before = [...this.rows.keys()].filter(name => name !== '').length;
    this.list.insertBefore(shown.item, this.list.children[1 + before] || null);
    this.rows.set(row.name, shown);
    return shown;
  }

  server(server) {
    let shown = this.rows.get('');
    if (!shown) {
      const kill = make('button', { type: 'button', class: 'bad', 'data-action': 'kill-server', 'aria-label': `Kill the ${server.name}`,
        onclick: async () => {
          if (await ask(`Kill the ${server.name}?`, 'kill -9. While it is away nobody can be elected; start it again with the button beside.', 'Kill it')) {
            order({ action: 'kill-server' });
          }
        } }, 'Kill');
      const start = make('button', { type: 'button', 'data-action': 'start-server', 'aria-label': `Start the ${server.name}`,
        onclick: () => order({ action: 'start-server' }) }, 'Start');
      shown = this.place(server.name, [[kill, one => one.state === 'serving'], [start, one => one.state === 'dead']]);
      shown.item.classList.add('server');
      this.list.append(shown.item);
      this.rows.set('', shown);
    }
    text(shown.state, server.state);
    shown.item.classList.toggle('dead', server.state === 'dead');
    for (const [button, when] of shown.buttons) {
      swap(button, when(server));
    }
  }

  place(name, buttons) {
    const state = make('div', { class: 'state' });
    const canvas = make('canvas', { 'aria-hidden': 'true' });
    const item = make('li', { class: 'row', 'data-name': name }, make('div', { class: 'who' }, make('div', { class: 'name' }, name), state), canvas,
      make('div', { class: 'does', role: 'group', 'aria-label': `What to do to ${name}` }, ...buttons.map(([button]) => button)));
    return { item, state, canvas, buttons };
  }

  /** The table, newest first, and a word for those who listen. */
  changes() {
    const before = new Map([...this.store.of('vacancy').values()].map(one => [one.token, one]));
    const terms = [...this.store.of('term').values()].sort((a, b) => b.from - a.from).slice(0, 12);
    const lines = terms.map(term => {
      const vacant = before.get(term.token);
      return [clock(term.from), term.row, String(term.token), vacant ? millis(vacant.to - vacant.from) : '–', nanos(term.overlapNanos)];
    });
    const key = JSON.stringify(lines);
    if (key === this.told) {
      return;
    }
    this.told = key;
    this.table.replaceChildren(...lines.map(cells => make('tr', {}, ...cells.map(cell => make('td', {}, cell)))));
    const newest = terms[0];
    if (newest && newest.id !== this.announced) {
      this.announced = newest.id;
      say(`${newest.row} leads, token ${newest.token}${lines[0][3] === '–' ? '' : ', vacant for ' + lines[0][3]}`);
    }
  }

  draw() {
    const to = this.store.now();
    const from = to - this.window;
    const byRow = (kind, name) => [...this.store.of(kind).values()].filter(one => one.row === name);
    drawAxis(this.axis, from, to, this.colours, tick => tick < 0 ? '' : clock(tick));
    for (const [name, shown] of this.rows) {
      const spans = byRow('span', name).map(span => ({ ...span, to: span.to ?? Infinity }));
      const terms = byRow('term', name).map(term => ({ ...term, label: term.token }));
      const marks = byRow('mark', name).map(mark => ({ at: mark.at, text: SHORT[mark.action] || mark.action }));
      drawTrack(shown.canvas, { alive: true, since: marks[0]?.at || 0, terms, spans: clip(spans, to), marks }, from, to, this.colours);
    }
    for (const sample of this.samples) {
      drawTrack(sample.canvas, sample.track, 0, 100, this.colours);
    }
    if (this.vacancies) {
      drawBars(this.vacancy.canvas, this.vacancies, 'faint', this.colours);
    }
  }
}

function clip(spans, to) {
  return spans.map(span => ({ ...span, to: Math.min(span.to, to) }));
}

/** Shows what can be done now. The focus does not get lost: it goes to what has taken the place of what had it. */
function swap(button, possible) {
  const off = !possible || !mayAct();
  if (button.disabled !== off) {
    const focused = document.activeElement === button;
    button.disabled = off;
    if (focused && off) {
      const next = [...button.parentElement.children].find(one => !one.disabled);
      queueMicrotask(() => (next || document.body).focus());
    }
  }
}

function figure(title, id, bars) {
  const value = make('dd', { id });
  const more = make('dd', { class: 'more', id: id + '-more' });
  const canvas = bars ? make('canvas', { 'aria-hidden': 'true' }) : undefined;
  const box = make('div', { class: 'figure' }, make('dt', {}, title), value, more, ...(canvas ? [canvas] : []));
  return { box, value, more, canvas };
}
