'use strict';

// The run, as the page's data block holds it: report_page.c and its neighbours write it. Long lists
// are flat lists of numbers, times in them differences to the time before.

const run = JSON.parse(document.getElementById('data').textContent);

/** Bytes and times for people, as text.c writes them. */
function bytesText(bytes) {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];
  let unit = 0;
  for (; bytes >= 1023.995 && unit + 1 < units.length; unit++)
    bytes /= 1024;
  return (unit > 0 ? bytes.toFixed(2) : String(bytes)) + ' ' + units[unit];
}

function timeText(ns) {
  const units = ['ns', 'us', 'ms', 's'];
  let unit = 0;
  for (; ns >= 999.995 && unit + 1 < units.length; unit++)
    ns /= 1000;
  return (unit > 0 ? ns.toFixed(2) : String(Math.round(ns))) + ' ' + units[unit];
}

/** Name of an op, by the number of a list, in which 0 is none. */
function opName(number, none) {
  return number > 0 ? run.names[number - 1] : none;
}

/** Points in time, and the bytes of each class from then on. */
function readMemory() {
  const flat = run.memory.flat, width = run.classes.length + 1;
  const count = flat.length / width;
  const memory = {count, at: new Float64Array(count), bytes: []};
  for (let c = 0; c + 1 < width; c++)
    memory.bytes.push(new Float64Array(count));
  for (let i = 0, now = 0; i < count; i++) {
    now += flat[i * width];
    memory.at[i] = now;
    for (let c = 0; c + 1 < width; c++) {
      const before = i > 0 ? memory.bytes[c][i - 1] : 0;
      memory.bytes[c][i] = before + flat[i * width + 1 + c] * run.unit;
    }
  }
  return memory;
}

/** Rectangles, in the order in which the blocks went. */
function readBlocks() {
  const flat = run.map.blocks, width = 7, count = flat.length / width;
  const blocks = {
    count,
    begin: new Float64Array(count), end: new Float64Array(count),
    low: new Float64Array(count), size: new Float64Array(count),
    kind: new Uint8Array(count), moved: new Uint8Array(count),
    op: new Uint16Array(count), value: new Float64Array(count),
  };
  for (let i = 0, end = 0; i < count; i++) {
    const at = i * width;
    end += flat[at];
    blocks.end[i] = end;
    blocks.begin[i] = end - flat[at + 1];
    blocks.low[i] = flat[at + 2] * run.unit;
    blocks.size[i] = flat[at + 3] * run.unit;
    blocks.kind[i] = flat[at + 4] & 7;
    blocks.moved[i] = flat[at + 4] >> 3;
    blocks.op[i] = flat[at + 5];
    blocks.value[i] = flat[at + 6];
  }
  return blocks;
}

function readMoves() {
  const flat = run.map.moved, width = 4, moves = [];
  for (let i = 0, at = 0; i < flat.length; i += width) {
    at += flat[i];
    moves.push({at, from: flat[i + 1] * run.unit, to: flat[i + 2] * run.unit,
                size: flat[i + 3] * run.unit});
  }
  return moves;
}

/** Cells of the map that stand for blocks too small to be listed; null where all are listed. */
function readCells() {
  if (run.map.cells === undefined)
    return null;
  const cells = new Uint8Array(run.map.columns * run.map.rows);
  let at = 0;
  for (const part of run.map.cells.matchAll(/(\d*)([.a-z])/g)) {
    const count = part[1] === '' ? 1 : Number(part[1]);
    const code = part[2] === '.' ? 0 : part[2].charCodeAt(0) - 96;
    cells.fill(code, at, at + count);
    at += count;
  }
  return cells;
}

/** Pieces of work of one stream; those of a kind from `bundle` on stand for several. */
function readLane(stream) {
  const flat = stream.flat, width = 6, count = flat.length / width;
  const lane = {
    name: stream.name, count,
    begin: new Float64Array(count), end: new Float64Array(count),
    work: new Uint8Array(count), bundle: new Uint8Array(count), op: new Uint16Array(count),
    value: new Float64Array(count), bytes: new Float64Array(count),
  };
  for (let i = 0, now = 0; i < count; i++) {
    const at = i * width;
    lane.begin[i] = now + flat[at];
    now = lane.end[i] = lane.begin[i] + flat[at + 1];
    lane.work[i] = flat[at + 2] & 7;
    lane.bundle[i] = flat[at + 2] >> 3;
    lane.op[i] = flat[at + 3];
    lane.value[i] = flat[at + 4];
    lane.bytes[i] = flat[at + 5];
  }
  return lane;
}

function readEvictions() {
  const flat = run.evicted, evictions = [];
  for (let i = 0, at = 0; i < flat.length; i += 3) {
    at += flat[i];
    evictions.push({at, count: flat[i + 1], bytes: flat[i + 2]});
  }
  return evictions;
}

/** The last index whose number is at most `at`; -1 when all are more. Numbers never fall. */
function lastAtMost(numbers, at) {
  let low = 0, high = numbers.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (numbers[middle] <= at)
      low = middle + 1;
    else
      high = middle;
  }
  return low - 1;
}

/** The budget at a time. */
function budgetAt(at) {
  let bytes = 0;
  for (const [since, budget] of run.budgets) {
    if (since <= at)
      bytes = budget;
  }
  return bytes;
}
