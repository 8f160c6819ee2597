// What the three streams did, and when values were evicted.

const lanes = run.streams.map(readLane);
const evictions = readEvictions();
const mostEvicted = evictions.reduce((sum, one) => Math.max(sum, one.bytes), 1);

let hatching = null;

/** For waits: told apart without colour. */
function hatch(chart) {
  const tile = document.createElement('canvas');
  tile.width = tile.height = 6;
  const g = tile.getContext('2d');
  g.strokeStyle = colours.wait;
  g.lineWidth = 1.4;
  g.beginPath();
  for (const from of [-3, 3, 9]) {
    g.moveTo(from - 3, 9);
    g.lineTo(from + 9, -3);
  }
  g.stroke();
  return chart.context.createPattern(tile, 'repeat');
}

/** Top and height of a lane; the last is that of the evictions. */
function laneBox(chart, index) {
  const each = chart.tall / (lanes.length + 1);
  return [MARGIN.top + each * index + 3, each - 6];
}

function drawLane(chart, lane, index) {
  const g = chart.context, [y, height] = laneBox(chart, index);
  const first = Math.max(lastAtMost(lane.end, view.from), 0);
  for (let i = first; i < lane.count && lane.begin[i] <= view.to; i++) {
    const x = timeX(chart, lane.begin[i]), width = timeX(chart, lane.end[i]) - x;
    const work = run.works[lane.work[i]];
    g.fillStyle = work === 'wait' ? hatching : colours[work];
    g.fillRect(x, y, Math.max(width - (width > 4 ? 0.6 : 0), 0.4), height);
  }
}

function drawEvictions(chart) {
  const g = chart.context, [y, height] = laneBox(chart, lanes.length);
  g.fillStyle = colours.evicted;
  for (const one of evictions) {
    if (one.at < view.from || one.at > view.to)
      continue;
    const tall = Math.max(height * Math.sqrt(one.bytes / mostEvicted), 4);
    g.fillRect(timeX(chart, one.at) - 0.75, y + height - tall, 1.5, tall);
  }
}

function drawStreams(chart) {
  const g = chart.context;
  hatching = hatching || hatch(chart);
  [...lanes.map((lane) => lane.name), 'evictions'].forEach((name, index) => {
    const [y, height] = laneBox(chart, index);
    g.fillStyle = colours.panel;
    g.fillRect(MARGIN.left, y, chart.plot, height);
    g.fillStyle = colours.muted;
    g.textAlign = 'right';
    g.textBaseline = 'middle';
    g.fillText(name, MARGIN.left - 8, y + height / 2);
  });
  clipped(chart, () => {
    lanes.forEach((lane, index) => drawLane(chart, lane, index));
    drawEvictions(chart);
  });
}

function describePiece(lane, i) {
  const work = run.works[lane.work[i]], ns = lane.end[i] - lane.begin[i];
  if (lane.bundle[i])
    return [`${lane.value[i]} short pieces, most of the time ${work}`,
            `${timeText(lane.bytes[i])} of work in ${timeText(ns)}`];
  const lines = [`${work} ${opName(lane.op[i], '')}`, timeText(ns)];
  if (lane.value[i] > 0)
    lines.push(`value ${lane.value[i]}`);
  if (lane.bytes[i] > 0)
    lines.push(bytesText(lane.bytes[i]));
  return lines;
}

function describeEvictions(chart, at) {
  const near = 4 / chart.plot * (view.to - view.from);
  let count = 0, bytes = 0;
  for (const one of evictions) {
    if (Math.abs(one.at - at) <= near) {
      count += one.count;
      bytes += one.bytes;
    }
  }
  return count > 0 ? [`${count} evicted here, ${bytesText(bytes)}`] : ['nothing evicted here'];
}

function describeStreams(chart, at, y) {
  const index = Math.min(Math.floor((y - MARGIN.top) / chart.tall * (lanes.length + 1)),
                         lanes.length);
  if (index === lanes.length)
    return [timeText(at), ...describeEvictions(chart, at)].join('\n');
  const lane = lanes[index], i = lastAtMost(lane.begin, at);
  const lines = i >= 0 && at <= lane.end[i] ? describePiece(lane, i) : ['idle'];
  return [timeText(at), ...lines].join('\n');
}
