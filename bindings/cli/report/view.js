// The time that all charts show. Whatever changes it has them drawn again.

const view = {from: 0, to: Math.max(run.ns, 1), charts: [], waiting: false};

function drawAll() {
  if (view.waiting)
    return;
  view.waiting = true;
  requestAnimationFrame(() => {
    view.waiting = false;
    for (const chart of view.charts)
      drawChart(chart);
    document.getElementById('shown').textContent =
      `${timeText(view.from)} to ${timeText(view.to)} of ${timeText(run.ns)}`;
  });
}

function show(from, to) {
  const all = Math.max(run.ns, 1), least = Math.min(all, Math.max(20, all * 1e-8));
  const width = Math.min(Math.max(to - from, least), all);
  view.from = Math.min(Math.max((from + to - width) / 2, 0), all - width);
  view.to = view.from + width;
  drawAll();
}

/** A factor below 1 shows less; `at` stays where it is. */
function zoom(factor, at) {
  show(at - (at - view.from) * factor, at + (view.to - at) * factor);
}

function pan(share) {
  const step = (view.to - view.from) * share, all = Math.max(run.ns, 1);
  const by = Math.min(Math.max(step, -view.from), all - view.to);
  show(view.from + by, view.to + by);
}

function onKey(event) {
  const middle = (view.from + view.to) / 2;
  const actions = {
    ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2),
    '+': () => zoom(0.5, middle), '=': () => zoom(0.5, middle), '-': () => zoom(2, middle),
    '0': () => show(0, run.ns), Escape: () => show(0, run.ns),
  };
  if (!(event.key in actions) || event.ctrlKey || event.metaKey || event.altKey)
    return;
  actions[event.key]();
  event.preventDefault();
}

/** Buttons above the charts: the whole run, and each iteration that is known. */
function setUpView() {
  const select = document.getElementById('iteration');
  for (const [number, from, to] of run.iterations) {
    const option = document.createElement('option');
    option.textContent = `iteration ${number}`;
    option.value = `${from} ${to}`;
    select.append(option);
  }
  select.hidden = run.iterations.length === 0;
  select.addEventListener('change', () => {
    const [from, to] = select.value.split(' ').map(Number);
    show(from, to);
  });
  const buttons = {
    whole: () => { select.selectedIndex = 0; show(0, run.ns); },
    nearer: () => zoom(0.5, (view.from + view.to) / 2),
    farther: () => zoom(2, (view.from + view.to) / 2),
  };
  for (const name in buttons)
    document.getElementById(name).addEventListener('click', buttons[name]);
}
