// The outbox: how much waits and for how long, who publishes each shard, and what is parked or blocked, with its reason.
import { age, ask, make, mayAct, order, say, text } from './page.js';
import { drawAxis, fresh, palette, scale } from './timeline.js';

const $ = id => document.getElementById(id);
const MINUTE = 60000;

const count = new Intl.NumberFormat('en');
const short = new Intl.NumberFormat('en', { notation: 'compact', maximumFractionDigits: 1 });

function clock(ms) {
  return new Date(ms).toLocaleTimeString();
}

/** What can be drawn over time: of a sample, and in words. */
const DRAWN = {
  backlog: ['Backlog', sample => sample.backlog, value => short.format(value)],
  oldest: ['Age of the oldest', sample => sample.oldest, value => age(value)],
  rate: ['Records per second', sample => sample.rate, value => short.format(value)],
};

/** How far back, what the server has kept for it, and how far its samples are apart. */
const REACHES = {
  300000: ['last 5 minutes', 'recent', 1000],
  3600000: ['last hour', 'hour', 15000],
  86400000: ['last day', 'day', 180000],
};

const WAITS = {
  key: 'its key',
  topic: 'its topic',
  partition: 'its partition',
  shard: 'the whole shard',
};

export class OutboxView {
  constructor(main, store) {
    this.store = store;
    this.about = store.one('outbox');
    this.window = 300000;
    this.drawn = 'backlog';
    this.colours = palette();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { this.colours = palette(); });
    this.build(main);
  }

  build(main) {
    this.complaint = make('p', { class: 'notice', role: 'alert', hidden: true });
    this.figures = Object.fromEntries(['backlog', 'oldest', 'rate', 'blocked', 'parked'].map(name => [name, figure(name)]));
    const what = make('select', { id: 'drawn', 'aria-label': 'What to draw', onchange: event => { this.drawn = event.target.value; } },
      ...Object.entries(DRAWN).map(([value, [words]]) => make('option', { value }, words)));
    const reach = make('select', { id: 'outbox-reach', 'aria-label': 'How far back', onchange: event => { this.window = Number(event.target.value); } },
      ...Object.entries(REACHES).map(([value, [words]]) => make('option', { value }, words)));
    this.reading = make('p', { class: 'count' });
    this.chart = make('canvas', { class: 'chart', 'aria-hidden': 'true',
      onpointermove: event => { this.pointed = event.offsetX; }, onpointerleave: () => { this.pointed = undefined; } });
    this.axis = make('canvas', { class: 'chart-axis', 'aria-hidden': 'true' });
    this.shards = make('tbody');
    this.blocked = make('tbody');
    this.parked = make('tbody');
    this.topics = make('div', { class: 'topics' });
    this.blockedPart = make('div', { hidden: true }, table('Blocked: these wait in the table, and hold back others', ['id', 'topic', 'what waits', 'for', 'reason'], this.blocked));
    this.parkedPart = make('div', { hidden: true },
      make('h2', { id: 'parked-title' }, 'Parked: these could not be published'), this.topics,
      table('', ['id', 'topic', 'parked', 'reason', ''], this.parked));
    main.append(this.complaint, make('dl', { class: 'figures' }, ...Object.values(this.figures).map(one => one.box)),
      make('div', { class: 'bar' }, what, reach, make('span', { class: 'grow' }), this.reading),
      make('div', { class: 'plot' }, this.chart, this.axis),
      table('Shards', ['shard', 'published by', 'for', 'heard', 'rate', 'published'], this.shards), this.blockedPart, this.parkedPart);
  }

  /** It is what is shown from now on. */
  appear() {
    const { on, table: name, readOnly } = this.about;
    document.title = `Bellwether: outbox ${name}`;
    text($('where'), `table ${name} on ${on}${readOnly ? ' (read-only)' : ''}`);
    $('looking').hidden = readOnly || mayAct();
  }

  changed(objects) {
    const kinds = new Set(objects.map(object => object.is));
    const answer = this.store.one('outbox-answer');
    this.unknown = answer?.unknownSince;
    text(this.complaint, this.unknown === undefined ? '' : `${answer.complaint}. You see how things stood at ${clock(this.unknown)}.`);
    this.complaint.hidden = this.unknown === undefined;
    this.showState(); // also if nothing has changed: ages go on
    this.showBlocked();
    if (kinds.has('parked') || kinds.has('outbox-state')) {
      this.showParked();
    }
  }

  showState() {
    const state = this.store.one('outbox-state');
    const shards = [...this.store.of('shard').values()].sort((a, b) => a.shard - b.shard);
    if (!state) {
      return;
    }
    const unserved = shards.filter(shard => !shard.served);
    const nobody = unserved.length > 0 || shards.length === 0;
    this.figures.backlog.set((state.exact ? '' : '~') + count.format(state.backlog), state.exact ? 'rows in the table' : 'rows, by the estimate of the database');
    this.figures.oldest.set(state.backlog ? age(state.oldest) : '–', 'the oldest has been waiting', state.oldest > MINUTE);
    this.figures.rate.set(count.format(Math.round(state.rate)) + '/s', nobody ? words(shards, unserved) : 'published', nobody);
    this.figures.blocked.set(count.format(state.blocked), 'hold back others', state.blocked > 0);
    this.figures.parked.set(count.format(state.parked), 'wait until they are requeued', state.parked > 0);
    fill(this.shards, shards.map(shard => ({
      class: shard.served ? '' : 'off',
      cells: [String(shard.shard), shard.served ? shard.leader : shard.leader ? `nobody; last was ${shard.leader}` : 'nobody yet', shard.served ? age(Date.now() - shard.since) : '–',
        shard.silent < 5000 ? 'now' : age(shard.silent) + ' ago', shard.served ? count.format(Math.round(shard.rate)) + '/s' : '–', count.format(shard.published)],
    })), 'No relay has led this outbox yet.', 6);
    const told = unserved.map(shard => shard.shard).join();
    if (this.told !== undefined && told !== this.told) {
      say(unserved.length ? words(shards, unserved) : 'All shards are published.');
    }
    this.told = told;
  }

  showBlocked() {
    const records = this.store.one('blocked')?.records ?? [];
    this.blockedPart.hidden = records.length === 0;
    fill(this.blocked, records.map(one => ({
      cells: [String(one.id), one.topic, WAITS[one.waits] + (one.waits === 'shard' ? ` ${one.shard}` : ''), age(Date.now() - Date.parse(one.since)), { reason: one.reason }],
    })));
  }

  showParked() {
    const parked = this.store.one('parked');
    const total = this.store.one('outbox-state')?.parked ?? 0;
    if (!parked) {
      return;
    }
    this.parkedPart.hidden = parked.records.length === 0;
    const acts = !this.about.readOnly;
    text($('parked-title'), `Parked: ${parked.records.length < total ? `the first ${parked.records.length} of ${count.format(total)} that` : 'these'} could not be published`);
    const key = JSON.stringify([parked.topics, parked.more]);
    if (this.topicsFor !== key) {
      this.topicsFor = key;
      this.topics.replaceChildren(...(acts ? parked.topics : []).map(({ topic, count: of }) => make('button', { type: 'button', class: 'bad', disabled: !mayAct(), 'data-topic': topic,
        onclick: () => this.requeueTopic(topic) }, parked.more ? `Requeue all of ${topic}…` : `Requeue ${of === 1 ? 'the one' : `all ${count.format(of)}`} of ${topic}…`)));
    }
    fill(this.parked, parked.records.map(one => ({
      cells: [String(one.id), one.topic, new Date(one.parked).toLocaleString(), { reason: one.reason },
        acts ? { words: 'Requeue…', id: one.id, act: () => this.requeue(one) } : ''],
    })));
  }

  async requeue(record) {
    if (await ask(`Requeue record ${record.id}?`, `It goes to the end of the table, and comes after those of its key that were published since. Event ${record.eventId} of topic ${record.topic}.`, 'Requeue')) {
      if (await order({ action: 'requeue', id: record.id })) {
        say(`Record ${record.id} has been requeued.`);
      }
    }
  }

  async requeueTopic(topic) {
    if (await ask(`Requeue all that is parked of ${topic}?`, 'They go to the end of the table, the oldest first, and come after those of their keys that were published since. If the reason is still there, they are parked again.', 'Requeue')) {
      if (await order({ action: 'requeue-topic', topic })) {
        say(`The records of ${topic} have been requeued.`);
      }
    }
  }

  draw() {
    const to = this.unknown ?? this.store.now();
    const from = to - this.window;
    const [, kind, apart] = REACHES[this.window];
    const samples = [...this.store.of(kind).values()].filter(sample => sample.at >= from - 2 * apart).sort((a, b) => a.at - b.at);
    const [, value, format] = DRAWN[this.drawn];
    const gap = 3 * Math.max(apart, this.about.refresh);
    const near = plot(this.chart, { samples, value, format, from, to, gap, pointed: this.pointed }, this.colours);
    drawAxis(this.axis, from, to, this.colours, tick => new Date(tick).toLocaleTimeString([], { hour: '2-digit', minute: '2-digit', second: this.window < 600000 ? '2-digit' : undefined }));
    text(this.reading, near ? `${clock(near.at)}: ${format(value(near))}` : samples.length ? `most: ${format(Math.max(...samples.map(value)))}` : '');
  }
}

/** Who is missing, in words. */
function words(shards, unserved) {
  if (shards.length === 0) {
    return 'nobody has led yet';
  }
  return unserved.length === shards.length ? 'nobody publishes' : `nobody publishes shard ${unserved.map(one => one.shard).join(', ')}`;
}

/** A figure that can be bad. */
function figure(name) {
  const title = make('dt', {}, { backlog: 'Backlog', oldest: 'Oldest', rate: 'Rate', blocked: 'Blocked', parked: 'Parked' }[name]);
  const value = make('dd', { id: 'outbox-' + name }, '–');
  const more = make('dd', { class: 'more' });
  const box = make('div', { class: 'figure' }, title, value, more);
  return { box, set(what, about, bad = false) {
    text(value, what);
    text(more, about);
    box.classList.toggle('off', bad);
  } };
}

/** Draws values over time; returns the sample that is pointed at. */
function plot(canvas, { samples, value, format, from, to, gap, pointed }, colours) {
  const pen = fresh(canvas);
  if (!pen) {
    return undefined;
  }
  const x = scale(canvas, from, to);
  const top = 16;
  const bottom = canvas.clientHeight - 4;
  const most = nice(Math.max(1, ...samples.map(value)));
  const y = of => bottom - of / most * (bottom - top);
  pen.font = '11px system-ui, "DejaVu Sans", sans-serif';
  for (const part of [1, 0.5]) {
    pen.fillStyle = colours.line;
    pen.fillRect(0, Math.round(y(most * part)), canvas.clientWidth, 1);
    pen.fillStyle = colours.faint;
    pen.textAlign = 'left';
    pen.fillText(format(most * part), 4, Math.round(y(most * part)) - 3);
  }
  pen.fillStyle = colours.line;
  pen.fillRect(0, bottom, canvas.clientWidth, 1);
  for (const run of runs(samples, gap)) {
    const line = new Path2D();
    run.forEach((sample, i) => (i === 0 ? line.moveTo(x(sample.at), y(value(sample))) : line.lineTo(x(sample.at), y(value(sample)))));
    const area = new Path2D(line);
    area.lineTo(x(run[run.length - 1].at), bottom);
    area.lineTo(x(run[0].at), bottom);
    pen.fillStyle = colours.lead;
    pen.globalAlpha = 0.18;
    pen.fill(area);
    pen.globalAlpha = 1;
    pen.strokeStyle = colours.lead;
    pen.lineWidth = 2;
    pen.lineJoin = 'round';
    pen.stroke(line);
  }
  if (pointed === undefined || samples.length === 0) {
    return undefined;
  }
  const near = samples.reduce((best, one) => (Math.abs(x(one.at) - pointed) < Math.abs(x(best.at) - pointed) ? one : best));
  pen.fillStyle = colours.mark;
  pen.fillRect(Math.round(x(near.at)), top, 1, bottom - top);
  pen.beginPath();
  pen.arc(x(near.at), y(value(near)), 3.5, 0, 7);
  pen.fill();
  return near;
}

/** Where nothing was seen for a while, nothing is drawn. */
function runs(samples, gap) {
  const found = [];
  for (const sample of samples) {
    const last = found[found.length - 1];
    if (last && sample.at - last[last.length - 1].at <= gap) {
      last.push(sample);
    } else {
      found.push([sample]);
    }
  }
  return found;
}

/** The next of 1, 2, 5, 10, 20, 50… */
function nice(most) {
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 2, 5, 10].map(one => one * power).find(one => one >= most);
}

/** Puts lines into a table, if they are others than before: a cell is a text, a reason, or what a button does. */
function fill(body, lines, nothing = '', columns = 1) {
  const key = JSON.stringify(lines);
  if (body.dataset.key === key) {
    return;
  }
  body.dataset.key = key;
  const heads = [...body.closest('table').querySelectorAll('thead tr > *')].map(head => head.textContent);
  const rows = lines.map(line => make('tr', { class: line.class || false, role: 'row' }, ...line.cells.map((cell, i) => make('td', { class: cell.reason ? 'reason' : false, role: 'cell', 'data-head': heads[i] },
    cell.act ? make('button', { type: 'button', disabled: !mayAct(), 'data-id': cell.id, 'aria-label': `Requeue record ${cell.id}`, onclick: cell.act }, cell.words)
      : cell.reason ?? cell))));
  body.replaceChildren(...(rows.length || !nothing ? rows : [make('tr', { role: 'row' }, make('td', { role: 'cell', colspan: columns }, nothing))]));
}

function table(caption, heads, body) {
  // the roles are said, since a narrow page lays rows out as blocks
  return make('div', { class: 'scroll' }, make('table', { class: 'plain', role: 'table' }, ...(caption ? [make('caption', {}, caption)] : []),
    make('thead', {}, make('tr', { role: 'row' }, ...heads.map(head => (head ? make('th', { scope: 'col', role: 'columnheader' }, head) : make('td'))))), body));
}
