// What the three charts share: a canvas with axes, a hair line, a tip, and a range to drag.

const MARGIN = {left: 92, right: 14, top: 12, bottom: 30};
const FONT = '14px system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif';

const tip = document.getElementById('tip');

let colours = {};

/** Colours are those of the style sheet, which knows whether it is dark. */
function readColours() {
  const style = getComputedStyle(document.documentElement);
  const names = ['ground', 'panel', 'text', 'muted', 'line', 'free', 'alarm', 'evicted',
                 ...run.classes, ...run.works];
  colours = {};
  for (const name of names)
    colours[name] = style.getPropertyValue('--' + name.replace(' ', '-')).trim();
}

/** 1, 2 or 5 times a power of ten. */
function niceStep(span, count) {
  const raw = span / count, power = 10 ** Math.floor(Math.log10(raw));
  const factor = raw / power;
  return power * (factor <= 1 ? 1 : factor <= 2 ? 2 : factor <= 5 ? 5 : 10);
}

/** As few digits as tell neighbours apart. */
function tickText(ns, step) {
  if (ns === 0)
    return '0';
  const units = [['s', 1e9], ['ms', 1e6], ['us', 1e3], ['ns', 1]];
  const [name, size] = units.find(([, unit]) => Math.max(ns, step) >= unit) || units[3];
  const digits = Math.max(0, Math.ceil(-Math.log10(step / size) - 1e-9));
  return `${(ns / size).toFixed(Math.min(digits, 9))} ${name}`;
}

/** A power of two, at most four steps of it to `most`. */
function byteStep(most) {
  return 2 ** Math.max(0, Math.ceil(Math.log2(most / 5)));
}

function timeX(chart, at) {
  return MARGIN.left + (at - view.from) / (view.to - view.from) * chart.plot;
}

function xTime(chart, x) {
  return view.from + (x - MARGIN.left) / chart.plot * (view.to - view.from);
}

/** A height within the plot: 0 is its foot, 1 its top. */
function shareY(chart, share) {
  return chart.height - MARGIN.bottom - share * chart.tall;
}

/** The canvas has as many pixels as the screen shows. */
function resize(chart) {
  const box = chart.canvas.getBoundingClientRect(), ratio = window.devicePixelRatio || 1;
  chart.width = Math.max(box.width, 200);
  chart.height = Math.max(box.height, 80);
  chart.plot = chart.width - MARGIN.left - MARGIN.right;
  chart.tall = chart.height - MARGIN.top - MARGIN.bottom;
  const width = Math.round(chart.width * ratio), height = Math.round(chart.height * ratio);
  if (chart.canvas.width !== width || chart.canvas.height !== height) {
    chart.canvas.width = width;
    chart.canvas.height = height;
  }
  chart.context.setTransform(ratio, 0, 0, ratio, 0, 0);
}

function drawTimeAxis(chart) {
  const g = chart.context, step = niceStep(view.to - view.from, Math.max(chart.plot / 130, 2));
  const foot = chart.height - MARGIN.bottom;
  g.textAlign = 'center';
  g.textBaseline = 'top';
  for (let i = Math.ceil(view.from / step); i * step <= view.to; i++) {
    const at = i * step, x = timeX(chart, at);
    g.fillStyle = colours.line;
    g.fillRect(x, foot, 1, 5);
    g.fillStyle = colours.muted;
    g.fillText(tickText(at, step), Math.min(Math.max(x, MARGIN.left + 10), chart.width - 40),
               foot + 8);
  }
}

/** Lines and numbers for bytes from 0 to `most`. */
function drawByteAxis(chart, most) {
  const g = chart.context, step = byteStep(most);
  g.textAlign = 'right';
  g.textBaseline = 'middle';
  for (let bytes = 0; bytes <= most; bytes += step) {
    const y = shareY(chart, bytes / most);
    g.fillStyle = colours.line;
    g.fillRect(MARGIN.left, y, chart.plot, 1);
    g.fillStyle = colours.muted;
    g.fillText(bytesText(bytes).replace('.00', ''), MARGIN.left - 8, y);
  }
}

/** Where iterations ended, and what found no memory. */
function drawMarks(chart) {
  const g = chart.context, foot = chart.height - MARGIN.bottom;
  g.save();
  g.setLineDash([2, 4]);
  g.strokeStyle = colours.text;
  for (const [, , end] of run.iterations) {
    const x = timeX(chart, end);
    g.beginPath();
    g.moveTo(x, MARGIN.top);
    g.lineTo(x, foot);
    g.stroke();
  }
  g.setLineDash([]);
  g.lineWidth = 2;
  g.strokeStyle = g.fillStyle = colours.alarm;
  g.textBaseline = 'top';
  for (const oom of run.ooms) {
    const x = timeX(chart, oom[0]);
    g.beginPath();
    g.moveTo(x, MARGIN.top);
    g.lineTo(x, foot);
    g.stroke();
    const left = x + 110 > chart.width;
    g.textAlign = left ? 'right' : 'left';
    g.fillText('out of memory', left ? x - 5 : x + 5, MARGIN.top + 2);
  }
  g.restore();
}

/** The budget as a dashed line, where `share` tells the height of so many bytes. */
function drawBudget(chart, share) {
  const g = chart.context;
  g.save();
  g.setLineDash([7, 4]);
  g.lineWidth = 2;
  g.strokeStyle = colours.text;
  g.beginPath();
  run.budgets.forEach(([since, bytes], i) => {
    const until = i + 1 < run.budgets.length ? run.budgets[i + 1][0] : run.ns;
    const y = shareY(chart, share(bytes));
    g.lineTo(timeX(chart, since), y);
    g.lineTo(timeX(chart, until), y);
  });
  g.stroke();
  g.restore();
}

/** Draws with everything outside the plot cut off. */
function clipped(chart, draw) {
  const g = chart.context;
  g.save();
  g.beginPath();
  g.rect(MARGIN.left, MARGIN.top, chart.plot, chart.tall);
  g.clip();
  draw();
  g.restore();
}

function drawChart(chart) {
  const g = chart.context;
  resize(chart);
  g.clearRect(0, 0, chart.width, chart.height);
  g.font = FONT;
  chart.draw(chart);
  clipped(chart, () => drawMarks(chart));
  drawTimeAxis(chart);
}

/* --- pointer --------------------------------------------------------------------------------- */

function placeTip(event, text) {
  tip.hidden = text === '';
  tip.textContent = text;
  if (tip.hidden)
    return;
  const box = tip.getBoundingClientRect();
  const x = event.clientX + 16 + box.width < innerWidth ? event.clientX + 16
                                                         : event.clientX - box.width - 16;
  const y = Math.min(event.clientY + 14, innerHeight - box.height - 4);
  tip.style.left = `${Math.max(x, 4)}px`;
  tip.style.top = `${Math.max(y, 4)}px`;
}

function moveHairs(at) {
  for (const chart of view.charts) {
    const x = timeX(chart, at);
    chart.hair.hidden = x < MARGIN.left || x > MARGIN.left + chart.plot;
    chart.hair.style.left = `${x}px`;
  }
}

function hideHairs() {
  tip.hidden = true;
  for (const chart of view.charts)
    chart.hair.hidden = true;
}

function onMove(chart, event) {
  const box = chart.canvas.getBoundingClientRect();
  const x = event.clientX - box.left, y = event.clientY - box.top;
  if (chart.dragFrom !== null) {
    const from = Math.max(Math.min(x, chart.dragFrom), MARGIN.left);
    const to = Math.min(Math.max(x, chart.dragFrom), MARGIN.left + chart.plot);
    chart.range.hidden = to - from < 4;
    chart.range.style.left = `${from}px`;
    chart.range.style.width = `${Math.max(to - from, 0)}px`;
    return;
  }
  if (x < MARGIN.left || x > MARGIN.left + chart.plot || y < MARGIN.top ||
      y > chart.height - MARGIN.bottom) {
    hideHairs();
    return;
  }
  const at = xTime(chart, x);
  moveHairs(at);
  placeTip(event, chart.describe(chart, at, y));
}

/** Ends dragging: what was dragged over is what is shown. */
function onRelease(chart, event) {
  const x = event.clientX - chart.canvas.getBoundingClientRect().left;
  if (chart.dragFrom !== null && Math.abs(x - chart.dragFrom) >= 4) {
    const ends = [xTime(chart, x), xTime(chart, chart.dragFrom)].sort((a, b) => a - b);
    show(ends[0], ends[1]);
  }
  chart.dragFrom = null;
  chart.range.hidden = true;
}

function onWheel(chart, event) {
  if (!event.ctrlKey && !event.shiftKey)
    return;
  const turn = event.deltaY !== 0 ? event.deltaY : event.deltaX;
  const x = event.clientX - chart.canvas.getBoundingClientRect().left;
  zoom(turn > 0 ? 1.25 : 0.8, xTime(chart, x));
  event.preventDefault();
}

function overlay(place, name) {
  const element = document.createElement('div');
  element.className = name;
  element.hidden = true;
  place.append(element);
  return element;
}

/** A chart on the canvas of that id. `draw(chart)` and `describe(chart, time, y)` are its own. */
function addChart(id, draw, describe) {
  const canvas = document.getElementById(id), place = canvas.parentElement;
  const chart = {canvas, context: canvas.getContext('2d'), draw, describe, dragFrom: null,
                 hair: overlay(place, 'hair'), range: overlay(place, 'range')};
  canvas.addEventListener('pointermove', (event) => onMove(chart, event));
  canvas.addEventListener('pointerdown', (event) => {
    chart.dragFrom = event.clientX - canvas.getBoundingClientRect().left;
    canvas.setPointerCapture(event.pointerId);
    hideHairs();
  });
  canvas.addEventListener('pointerup', (event) => onRelease(chart, event));
  canvas.addEventListener('pointercancel', (event) => onRelease(chart, event));
  canvas.addEventListener('pointerleave', hideHairs);
  canvas.addEventListener('dblclick', (event) =>
    zoom(4, xTime(chart, event.clientX - canvas.getBoundingClientRect().left)));
  canvas.addEventListener('wheel', (event) => onWheel(chart, event), {passive: false});
  canvas.addEventListener('keydown', onKey);
  view.charts.push(chart);
  return chart;
}
