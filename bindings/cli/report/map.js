// Addresses over time: a rectangle a block. What is blank is free: many narrow gaps are
// fragmentation. A line up or down is a block that was moved.

const blocks = readBlocks();
const moves = readMoves();
const cells = readCells();
const highest = Math.max(run.map.top * run.unit, run.budgets[0][1], 1) * 1.02;

let cellPicture = null;

function rgbOf(colour) {
  const number = parseInt(colour.slice(1), 16);
  return [number >> 16, (number >> 8) & 255, number & 255];
}

/** The cells as a picture, a pixel each, to be stretched: its first row is the highest address. */
function pictureCells() {
  const {columns, rows, levels} = run.map, picture = document.createElement('canvas');
  picture.width = columns;
  picture.height = rows;
  const g = picture.getContext('2d'), image = g.createImageData(columns, rows);
  const palette = run.classes.map((name) => rgbOf(colours[name]));
  for (let row = 0; row < rows; row++) {
    for (let column = 0; column < columns; column++) {
      const code = cells[row * columns + column];
      if (code === 0)
        continue;
      const [red, green, blue] = palette[Math.floor((code - 1) / levels)];
      const share = ((code - 1) % levels + 1) / levels;
      const at = ((rows - 1 - row) * columns + column) * 4;
      image.data.set([red, green, blue, Math.round(40 + 215 * share)], at);
    }
  }
  g.putImageData(image, 0, 0);
  return picture;
}

function drawCells(chart) {
  const g = chart.context, x = timeX(chart, 0);
  cellPicture = cellPicture || pictureCells();
  g.imageSmoothingEnabled = false;
  const y = shareY(chart, run.map.top * run.unit / highest);
  g.drawImage(cellPicture, x, y, timeX(chart, run.ns) - x, shareY(chart, 0) - y);
}

/** By class, so that colours seldom change. */
function drawBlocks(chart) {
  const g = chart.context, right = MARGIN.left + chart.plot;
  for (let kind = 0; kind < run.classes.length; kind++) {
    g.fillStyle = colours[run.classes[kind]];
    for (let i = 0; i < blocks.count; i++) {
      if (blocks.kind[i] !== kind || blocks.end[i] < view.from || blocks.begin[i] > view.to)
        continue;
      const x = Math.max(timeX(chart, blocks.begin[i]), MARGIN.left);
      const width = Math.min(timeX(chart, blocks.end[i]), right) - x;
      const y = shareY(chart, (blocks.low[i] + blocks.size[i]) / highest);
      const height = blocks.size[i] / highest * chart.tall;
      const gap = width > 3 && height > 3 ? 0.6 : 0;
      g.fillRect(x, y, Math.max(width - gap, 0.5), Math.max(height - gap, 0.5));
    }
  }
}

function drawMoves(chart) {
  const g = chart.context;
  g.strokeStyle = g.fillStyle = colours.text;
  g.lineWidth = 1;
  g.globalAlpha = 0.8;
  for (const move of moves) {
    if (move.at < view.from || move.at > view.to)
      continue;
    const x = timeX(chart, move.at);
    const from = shareY(chart, (move.from + move.size / 2) / highest);
    const to = shareY(chart, (move.to + move.size / 2) / highest);
    const head = Math.min(Math.abs(to - from), 6) * Math.sign(to - from);
    g.beginPath();
    g.moveTo(x, from);
    g.lineTo(x, to);
    g.stroke();
    g.beginPath();
    g.moveTo(x, to);
    g.lineTo(x - 3, to - head);
    g.lineTo(x + 3, to - head);
    g.fill();
  }
  g.globalAlpha = 1;
}

function drawMap(chart) {
  drawByteAxis(chart, highest);
  clipped(chart, () => {
    drawFree(chart, highest);
    if (cells !== null)
      drawCells(chart);
    drawBlocks(chart);
    drawMoves(chart);
    drawBudget(chart, (bytes) => bytes / highest);
  });
}

/** The block there, the last listed first; -1: none that is listed. */
function findBlock(at, address) {
  for (let i = 0; i < blocks.count; i++) {
    if (blocks.begin[i] <= at && at < blocks.end[i] && blocks.low[i] <= address &&
        address < blocks.low[i] + blocks.size[i])
      return i;
  }
  return -1;
}

function describeCell(at, address) {
  if (cells === null || address >= run.map.top * run.unit)
    return 'free';
  const {columns, rows, levels} = run.map;
  const column = Math.min(Math.floor(at / run.ns * columns), columns - 1);
  const row = Math.min(Math.floor(address / (run.map.top * run.unit) * rows), rows - 1);
  const code = cells[row * columns + column];
  if (code === 0)
    return 'free';
  const share = Math.round(((code - 1) % levels + 1) / levels * 100);
  return `small blocks, up to ${share}% full, most of it ` +
    run.classes[Math.floor((code - 1) / levels)];
}

function describeMap(chart, at, y) {
  const address = (chart.height - MARGIN.bottom - y) / chart.tall * highest;
  const lines = [timeText(at), `address ${bytesText(Math.max(address, 0))}`];
  const i = findBlock(at, address);
  if (i < 0)
    return [...lines, describeCell(at, address)].join('\n');
  lines.push(`${run.classes[blocks.kind[i]]} of ${bytesText(blocks.size[i])}`);
  lines.push(`at ${blocks.low[i]}, to ${blocks.low[i] + blocks.size[i]}`);
  if (blocks.op[i] > 0)
    lines.push(`for ${opName(blocks.op[i])}`);
  if (blocks.value[i] > 0)
    lines.push(`value ${blocks.value[i]}`);
  lines.push(`${timeText(blocks.begin[i])} to ${timeText(blocks.end[i])}` +
    ` (${timeText(blocks.end[i] - blocks.begin[i])})`);
  if (blocks.moved[i])
    lines.push('moved here');
  return lines.join('\n');
}
