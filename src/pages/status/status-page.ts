// The status page: first the verdict and since when, then what needs a person, then everything that `hostward status` shows, folded.
// In: the daemon's status as plain data. Out: HTML. Facts and words are those of the command.
import { type AttentionGroup, attentionIn, isStandby } from '../../sync/report/attention/attention.ts';
import type { AttentionItem } from '../../sync/report/attention/attention-item.ts';
import type { PageFacts } from '../../sync/report/look/page-facts.ts';
import { datedParts } from '../../sync/report/verdict.ts';
import { isFacts, type StatusJson, say } from '../../sync/report/words.ts';
import { type Html, html } from '../frame/html.ts';
import { type ChartLine, chartHtml } from './chart.ts';
import { blockHtml, factsHtml } from './facts-html.ts';
import { objectLink } from './object-paths.ts';

/** The fields of each section, in order; every other field is in the last one. */
const sections: readonly { id: string; title: string; fields: readonly string[] }[] = [
  {
    id: 'objects',
    title: 'Objects',
    fields: [
      'kind',
      'settings',
      'objects',
      'queue',
      'lag',
      'owner',
      'deletesWithheld',
      'listsInDoubt',
      'eventsForbidden',
      'troubleByState',
      'troubleByPatch',
      'troubleByCause',
      'trouble',
      'contested',
      'unnamedCopies',
      'differences',
      'endpointSlices',
    ],
  },
  { id: 'patches', title: 'Patches', fields: ['patches', 'sandbox'] },
  { id: 'references', title: 'References', fields: ['references'] },
  { id: 'proofs', title: 'Proofs and windows', fields: ['proven', 'windows'] },
  { id: 'management', title: 'Management API', fields: ['management'] },
];

/** Of each group: examples that are shown at once, and those in the fold. */
const [examplesShown, examplesFolded] = [2, 50];

interface Reading {
  asOf: Date;
  /** That the reader has asked, for the commands to copy. */
  address?: string | undefined;
}

export function statusMain(
  status: StatusJson,
  hour: ReturnType<PageFacts['lastHour']>,
  { asOf, address }: Reading,
): Html {
  const { verdict } = status;
  const known = new Set(['verdict', ...sections.flatMap(({ fields }) => fields)]);
  const rest = Object.fromEntries(Object.entries(status).filter(([name]) => !known.has(name)));
  const { groups, sum } = attentionIn(status, address);
  return html`<h1>Status</h1>
${isFacts(verdict) && verdictHtml(verdict, status['uptimeSeconds'])}
<section id="attention" aria-labelledby="attention-title">${attentionHtml(groups, sum, isStandby(status))}</section>
<section id="hour" aria-label="The last hour">${hourHtml(status, hour, asOf)}</section>
${sections.map(({ id, title, fields }) => section(id, title, picked(status, fields)))}${section('daemon', 'Daemon', rest, { texts: toldIn(groups), id: 'attention' })}`;
}

/** A daemon knows nothing of what was before its start, so a time that is no older than the daemon says little. */
function verdictHtml({ isWell, sentence, since, parts, ...more }: StatusJson, uptimeSeconds: unknown): Html {
  return html`<div id="verdict" class="verdict ${isWell === false ? 'bad' : 'good'}" role="status">
<p><strong>${isWell === false ? 'Not well' : 'Well'}:</strong> ${Array.isArray(parts) ? datedParts({ parts }).join('; ') : say(sentence)}</p>
<p class="quiet">${since !== undefined && html`since <time datetime="${say(since)}">${say(since)}</time>; `}is well: ${say(isWell)}${Object.entries(more).map(([name, value]) => html`; ${name}: ${say(value)}`)}${uptimeSeconds !== undefined && html`; the daemon runs for ${say(uptimeSeconds)} s`}</p></div>`;
}

function attentionHtml(groups: readonly AttentionGroup[], sum: number, isStandby: boolean): Html {
  if (sum === 0)
    return html`<h2 id="attention-title">${isStandby ? 'This replica is a standby: the page of the leader knows what needs a person' : 'Nothing needs a person'}</h2>`;
  return html`<h2 id="attention-title">${sum} ${sum === 1 ? 'thing needs' : 'things need'} a person</h2>
<ul class="attention">
${groups.map(groupHtml)}</ul>`;
}

/** Each kind of trouble is seen, however many objects another kind has. */
function groupHtml({ reason, count, isLeast = false, items, listCommand }: AttentionGroup): Html {
  const [first] = items as [AttentionItem];
  if (count === 1) return itemHtml(first);
  const things = first.object === undefined ? 'things' : 'objects';
  const shown = items.slice(0, examplesShown);
  const folded = items.slice(examplesShown, examplesShown + examplesFolded);
  const left = count - shown.length - folded.length;
  return html`<li class="group"><p><strong>${isLeast && 'at least '}${count} ${things}</strong> <span class="reason">${reason}</span></p>
${listCommand !== undefined && html`<p class="remedy">list them: <code>${listCommand}</code></p>\n`}<ul class="attention">
${shown.map(itemHtml)}</ul>
${
  folded.length > 0 &&
  html`<details id="more-${[first.group, first.cause].filter((one) => one !== '').join(' ')}"><summary>${count - shown.length} more</summary><ul class="attention">
${folded.map(itemHtml)}</ul>${left > 0 && html`<p class="quiet">and ${left} that are not listed here</p>`}</details>`
}</li>
`;
}

function itemHtml({ about, object, kind, reason, message, sinceSeconds, remedy, command }: AttentionItem): Html {
  const name = object === undefined ? html`<strong>${about}</strong>` : objectLink(about, object, kind);
  return html`<li><p>${name} <span class="reason">${reason}</span>${sinceSeconds !== undefined && html` <span class="quiet">for ${say(sinceSeconds)} s</span>`}</p>
<p>${message}</p>
<p class="remedy">${remedy}: <code>${command}</code></p></li>
`;
}

function hourHtml(status: StatusJson, hour: ReturnType<PageFacts['lastHour']>, until: Date): Html {
  const line = (name: string, style: 'first' | 'second', valueAt: (point: (typeof hour)[0]) => number | undefined) => ({
    name,
    style,
    points: hour.flatMap((point) => {
      const value = valueAt(point);
      return value === undefined ? [] : [{ at: point.at, value }];
    }),
  });
  const samples = isFacts(status['lag'])
    ? ` under Objects is of the last ${say(status['lag']['samples'])} changes`
    : '';
  return html`<h2>The last hour</h2>
<div class="charts">
${chartHtml({
  title: 'Lag, from an event to the host copy',
  unit: 'ms',
  until,
  lines: [line('p50', 'first', ({ p50Ms }) => p50Ms), line('p99', 'second', ({ p99Ms }) => p99Ms)],
  note: `Each point is of ten seconds, rounded up by half at most${samples === '' ? '' : `; the lag${samples}, and exact`}.`,
})}${chartHtml({ title: 'Writes', unit: 'a second', until, lines: [writesLine(status, hour, until)] })}</div>`;
}

const pointMs = 10_000;

/** Ten seconds without a change have no point, and no write. */
function writesLine({ uptimeSeconds }: StatusJson, hour: ReturnType<PageFacts['lastHour']>, until: Date): ChartLine {
  const untilMs = until.getTime();
  const upMs = typeof uptimeSeconds === 'number' ? uptimeSeconds * 1000 : 0;
  let beforeMs = untilMs - Math.min(upMs, 3_600_000);
  const points: { at: Date; value: number }[] = [];
  const zeros = (...times: number[]) => points.push(...times.map((ms) => ({ at: new Date(ms), value: 0 })));
  for (const { at, writesPerSecond } of hour) {
    const atMs = at.getTime();
    if (atMs - beforeMs > pointMs) zeros(beforeMs, atMs - pointMs);
    points.push({ at, value: writesPerSecond });
    beforeMs = atMs + pointMs;
  }
  if (untilMs - beforeMs > pointMs) zeros(beforeMs, untilMs);
  return { name: 'writes', style: 'first', points, isWhole: true };
}

/** The messages that are seen whole. */
function toldIn(groups: readonly AttentionGroup[]): ReadonlySet<string> {
  const seen = groups.flatMap(({ items }) => items.slice(0, examplesShown + examplesFolded));
  return new Set(seen.map(({ message }) => message));
}

function section(
  id: string,
  title: string,
  facts: StatusJson,
  told?: Parameters<typeof factsHtml>[2],
): Html | undefined {
  const { length } = Object.keys(facts);
  if (length === 0) return undefined;
  const [[name, value]] = Object.entries(facts) as [[string, unknown]];
  const isOne = length === 1 && typeof value === 'object' && value !== null && Object.keys(value).length > 0;
  return html`<details id="${id}" class="section"><summary><h2>${title}</h2></summary>
${isOne ? blockHtml(name, value, 2, told) : factsHtml(facts, 3, told)}</details>
`;
}

function picked(status: StatusJson, fields: readonly string[]): StatusJson {
  return Object.fromEntries(fields.flatMap((name) => (status[name] === undefined ? [] : [[name, status[name]]])));
}
