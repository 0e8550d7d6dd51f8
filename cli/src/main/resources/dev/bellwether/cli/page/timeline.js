// Draws who was what, when, on a canvas. Times are milliseconds on the server's axis.

const KINDS = ['lead', 'lead-ink', 'frozen', 'cut', 'slow', 'dead', 'line', 'faint', 'mark', 'ink', 'bad', 'paper'];

/** The colours of the page as they are now, light or dark. */
export function palette() {
  const style = getComputedStyle(document.documentElement);
  return Object.fromEntries(KINDS.map(kind => [kind, style.getPropertyValue('--' + kind).trim()]));
}

/** Makes the canvas as sharp as the screen, and empty; returns its context, or null while it is not shown. */
export function fresh(canvas) {
  const { clientWidth: width, clientHeight: height } = canvas;
  if (width === 0 || height === 0) {
    return null;
  }
  const scale = window.devicePixelRatio || 1;
  if (canvas.width !== Math.round(width * scale) || canvas.height !== Math.round(height * scale)) {
    canvas.width = Math.round(width * scale);
    canvas.height = Math.round(height * scale);
  }
  const pen = canvas.getContext('2d');
  pen.setTransform(scale, 0, 0, scale, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}

/** How times become places. */
export function scale(canvas, from, to) {
  const width = canvas.clientWidth;
  return time => (time - from) / (to - from) * width;
}

const STEPS = [1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200, 21600, 43200, 86400].map(seconds => seconds * 1000);

/** Whole steps of time, not closer than about seventy pixels. */
function ticks(canvas, from, to) {
  const most = Math.max(2, canvas.clientWidth / 70);
  const step = STEPS.find(one => (to - from) / one <= most) || 86400000;
  const found = [];
  for (let tick = Math.ceil(from / step) * step; tick <= to; tick += step) {
    found.push(tick);
  }
  return found;
}

export function drawAxis(canvas, from, to, colours, words) {
  const pen = fresh(canvas);
  if (!pen) {
    return;
  }
  const x = scale(canvas, from, to);
  pen.font = '11px system-ui, "DejaVu Sans", sans-serif';
  pen.fillStyle = colours.faint;
  pen.textAlign = 'center';
  for (const tick of ticks(canvas, from, to)) {
    const text = words(tick);
    const half = pen.measureText(text).width / 2;
    if (x(tick) > half && x(tick) < canvas.clientWidth - half) {
      pen.fillText(text, x(tick), 12);
    }
  }
}

/**
 * Draws one row. A track has terms {from, to, label}, spans {from, to, kind} and marks {at, text}; `alive` says whether somebody stands
 * by where nothing else is.
 */
export function drawTrack(canvas, track, from, to, colours) {
  const pen = fresh(canvas);
  if (!pen) {
    return;
  }
  const width = canvas.clientWidth;
  const height = canvas.clientHeight;
  const x = scale(canvas, from, to);
  const top = Math.round(height * 0.28);
  const bottom = height - 5;
  const middle = (top + bottom) / 2;

  pen.fillStyle = colours.line;
  for (const tick of ticks(canvas, from, to)) {
    pen.fillRect(Math.round(x(tick)), top - 3, 1, bottom - top + 6);
  }
  const shown = (track.spans || []).filter(span => span.to > from && span.from < to);
  const dead = shown.filter(span => span.kind === 'dead');
  if (track.alive) {
    standingBy(pen, x, dead, Math.max(from, track.since || from), to, middle, colours);
  }
  for (const span of shown) {
    const left = Math.max(0, x(span.from));
    const right = Math.min(width, x(span.to));
    if (span.kind === 'frozen') {
      hatch(pen, left, right, top - 4, bottom + 4, colours.frozen, 7);
    } else if (span.kind === 'gap') {
      hatch(pen, left, right, top, bottom, colours.bad, 6);
    } else if (span.kind === 'dead') {
      pen.strokeStyle = colours.dead;
      pen.setLineDash([2, 4]);
      line(pen, left, middle, right, middle);
      pen.setLineDash([]);
    }
  }
  for (const term of track.terms || []) {
    if (term.to > from && term.from < to) {
      lead(pen, x, term, width, top, bottom, colours);
    }
  }
  for (const span of shown) {
    const left = Math.max(0, x(span.from));
    const right = Math.min(width, x(span.to));
    if (span.kind === 'frozen') {
      pen.strokeStyle = colours.frozen;
      pen.lineWidth = 1.5;
      pen.strokeRect(left, top - 4, Math.max(1, right - left), bottom - top + 8);
    } else if (span.kind === 'unknown') {
      pen.fillStyle = colours.paper;
      pen.globalAlpha = 0.75;
      pen.fillRect(left, top - 1, Math.max(1, right - left), bottom - top + 2);
      pen.globalAlpha = 1;
      hatch(pen, left, right, top, bottom, colours.dead, 9);
    } else if (span.kind === 'cut' || span.kind === 'slow') {
      const at = span.kind === 'cut' ? bottom + 3 : top - 3;
      pen.strokeStyle = colours[span.kind];
      pen.lineWidth = 3;
      pen.setLineDash(span.kind === 'cut' ? [6, 4] : [2, 3]);
      line(pen, left, at, Math.max(left + 1, right), at);
      pen.setLineDash([]);
    }
  }
  marks(pen, x, (track.marks || []).filter(mark => mark.at >= from && mark.at <= to), top, bottom, colours);
}

function standingBy(pen, x, dead, from, to, middle, colours) {
  pen.strokeStyle = colours.faint;
  pen.lineWidth = 2;
  let at = from;
  for (const span of [...dead].sort((a, b) => a.from - b.from)) {
    if (span.from > at) {
      line(pen, x(at), middle, x(span.from), middle);
    }
    at = Math.max(at, span.to);
  }
  if (at < to) {
    line(pen, x(at), middle, x(to), middle);
  }
}

function lead(pen, x, term, width, top, bottom, colours) {
  const left = Math.max(-4, x(term.from));
  const right = Math.min(width + 4, Math.max(x(term.to), x(term.from) + 2));
  pen.fillStyle = colours.lead;
  pen.beginPath();
  pen.roundRect(left, top, right - left, bottom - top, Math.min(4, (right - left) / 2));
  pen.fill();
  pen.font = '600 12px system-ui, "DejaVu Sans", sans-serif';
  pen.textAlign = 'left';
  const text = String(term.label);
  const start = Math.max(left, 0) + 5;
  if (start + pen.measureText(text).width + 4 < Math.min(right, width)) {
    pen.fillStyle = colours['lead-ink'];
    pen.fillText(text, start, (top + bottom) / 2 + 4);
  }
}

function hatch(pen, left, right, top, bottom, colour, gap) {
  pen.save();
  pen.beginPath();
  pen.rect(left, top, Math.max(1, right - left), bottom - top);
  pen.clip();
  pen.strokeStyle = colour;
  pen.globalAlpha = 0.55;
  pen.lineWidth = 1.5;
  const height = bottom - top;
  for (let at = left - height; at < right; at += gap) {
    line(pen, at, bottom, at + height, top);
  }
  pen.restore();
}

function marks(pen, x, all, top, bottom, colours) {
  pen.font = '11px system-ui, "DejaVu Sans", sans-serif';
  pen.textAlign = 'left';
  pen.lineWidth = 1.5;
  let free = -Infinity;
  for (const mark of all) {
    const at = x(mark.at);
    pen.strokeStyle = colours.mark;
    line(pen, at, 2, at, bottom);
    if (at + 3 > free) {
      pen.fillStyle = colours.mark;
      pen.fillText(mark.text, at + 3, 10);
      free = at + 8 + pen.measureText(mark.text).width;
    }
  }
}

function line(pen, fromX, fromY, toX, toY) {
  pen.beginPath();
  pen.moveTo(fromX, fromY);
  pen.lineTo(toX, toY);
  pen.stroke();
}
