// Puts the charts on the page, and again when its width or its colours change.
const single = { division, share, jain, delay, loss, utilization };

function optionOf(box, c) {
  const [kind, index] = box.dataset.chart.split('-');
  if (kind === 'flows') return flows(runs[+index], box, c);
  if (kind === 'time') return time(runs[+index], box, c);
  if (kind === 'state') return state(runs[+index], box, c);
  return single[kind](box, c);
}

function draw(box, c) {
  const option = optionOf(box, c);
  box.style.height = option.height + 'px';
  delete option.height;
  const chart = charts.get(box) || echarts.init(box, null, { renderer: 'svg' });
  charts.set(box, chart);
  chart.resize();
  chart.setOption(option, { notMerge: true });
}

const boxes = [...document.querySelectorAll('[data-chart]')];
function drawAll() {
  const c = palette();
  for (const box of boxes) draw(box, c);
  for (const legend of document.querySelectorAll('[data-legend]')) {
    const bars = legend.closest('section').querySelector('[data-chart^="flows"]');
    const fair = bars && runs.some((run) => run.flows.some((f) => f.fair !== null));
    legend.innerHTML = groups.map((g) => '<span><i style="background:' + c.of[g.name] + '"></i>' + escape(g.name) + '</span>').join('') +
      (fair ? '<span><i class="tick"></i>fair share</span>' : '');
  }
  document.documentElement.dataset.ready = charts.size;
}

function choices() {
  for (const choice of document.querySelectorAll('[data-choice]')) {
    choice.addEventListener('click', (event) => {
      const value = event.target.dataset.value;
      if (!value) return;
      chosen[choice.dataset.choice] = value;
      for (const button of choice.children) button.setAttribute('aria-pressed', String(button.dataset.value === value));
      const c = palette();
      for (const box of boxes) if (box.dataset.chart.startsWith('flows')) draw(box, c);
    });
  }
}

// Widths decide how labels are cut, so a new width draws anew.
const main = document.querySelector('main');
let width = main.clientWidth;
new ResizeObserver(() => {
  if (main.clientWidth === width) return;
  width = main.clientWidth;
  drawAll();
}).observe(main);

// Paper wants the light colours, and the charts as wide as they will stand there; A4 within its margins has 688 px.
function paper(on) {
  document.documentElement.classList.toggle('paper', on);
  main.style.width = on ? '688px' : '';
  width = main.clientWidth;
  drawAll();
}
window.addEventListener('beforeprint', () => paper(true));
window.addEventListener('afterprint', () => paper(false));
window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', drawAll);

choices();
drawAll();
