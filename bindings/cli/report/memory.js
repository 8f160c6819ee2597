// Memory in use over time, the classes one above the other, and the budget.

const memory = readMemory();

/** From below: what stays longest lies lowest. */
const STACK = ['persistent', 'gradient', 'leaf', 'activation', 'workspace'];

function stackSums() {
  const sums = [new Float64Array(memory.count)];
  for (const name of STACK) {
    const bytes = memory.bytes[run.classes.indexOf(name)], below = sums[sums.length - 1];
    sums.push(below.map((sum, i) => sum + bytes[i]));
  }
  return sums;
}

const stack = stackSums();

/** The height of the chart: all that the run ever had. */
function mostBytes() {
  let most = 1;
  for (const [, bytes] of run.budgets)
    most = Math.max(most, bytes);
  for (const bytes of stack[STACK.length])
    most = Math.max(most, bytes);
  return most * 1.04;
}

const most = mostBytes();

/** A band between two sums, in steps, over points first to last. */
function drawBand(chart, below, above, first, last, colour) {
  const g = chart.context;
  g.beginPath();
  for (let i = first; i <= last; i++) {
    const y = shareY(chart, above[i] / most);
    g.lineTo(timeX(chart, memory.at[i]), y);
    g.lineTo(timeX(chart, i + 1 < memory.count ? memory.at[i + 1] : run.ns), y);
  }
  for (let i = last; i >= first; i--) {
    const y = shareY(chart, below[i] / most);
    g.lineTo(timeX(chart, i + 1 < memory.count ? memory.at[i + 1] : run.ns), y);
    g.lineTo(timeX(chart, memory.at[i]), y);
  }
  g.fillStyle = colour;
  g.fill();
}

/** The room below the budget, where `full` bytes are as high as the plot. */
function drawFree(chart, full) {
  const g = chart.context;
  g.fillStyle = colours.free;
  run.budgets.forEach(([since, bytes], i) => {
    const until = i + 1 < run.budgets.length ? run.budgets[i + 1][0] : run.ns;
    const x = timeX(chart, since), y = shareY(chart, bytes / full);
    g.fillRect(x, y, timeX(chart, until) - x, shareY(chart, 0) - y);
  });
}

function drawMemory(chart) {
  drawByteAxis(chart, most);
  clipped(chart, () => {
    drawFree(chart, most);
    const first = Math.max(lastAtMost(memory.at, view.from), 0);
    const last = lastAtMost(memory.at, view.to);
    STACK.forEach((name, i) =>
      drawBand(chart, stack[i], stack[i + 1], first, last, colours[name]));
    drawBudget(chart, (bytes) => bytes / most);
  });
}

function describeMemory(chart, at) {
  const i = lastAtMost(memory.at, at), budget = budgetAt(at);
  const used = i >= 0 ? stack[STACK.length][i] : 0;
  const lines = [timeText(at), `in use ${bytesText(used)} of ${bytesText(budget)}`];
  for (const name of [...STACK].reverse()) {
    const bytes = i >= 0 ? memory.bytes[run.classes.indexOf(name)][i] : 0;
    if (bytes > 0)
      lines.push(`${name} ${bytesText(bytes)}`);
  }
  lines.push(`free ${bytesText(Math.max(budget - used, 0))}`);
  return lines.join('\n');
}
