// Shows what the server answered: the objects as differences, what each patch did, and the messages about objects that are not written.
import type { VNode } from 'preact';
import { useState } from 'preact/hooks';
import type { ChangedObject, Mark, PatchMatch, PatchReport, RoundTrip, Way } from '../../playground-api.ts';
import { html } from './html.ts';

/** Unchanged lines that are shown around a change. */
const around = 3;
/** A shorter run of unchanged lines is shown whole, because the note in its place would be as long. */
const foldedFrom = 4;
const shownCharacters = 200;

export function WayResult({
  way,
  roundTrips,
  unchanged,
}: {
  way: Way;
  roundTrips: readonly RoundTrip[];
  unchanged: string;
}): VNode {
  return html`
    ${way.notes.map((message) => html`<p class="message">${message}</p>`)}
    ${way.objects.length === 0 && way.notes.length === 0 && html`<p class="message">Nothing is written, because a patch fails.</p>`}
    ${way.objects.map((object) => html`<${ObjectDiff} key=${object.name} object=${object} unchanged=${unchanged} />`)}
    ${way.patches.length > 0 && html`<h3>Patches</h3><ul class="patches">${byPatch(way.patches).map((reports) => html`<${Patch} reports=${reports} roundTrip=${roundTripOf(reports[0] as PatchReport, roundTrips)} />`)}</ul>`}`;
}

function roundTripOf({ list, patch }: PatchReport, roundTrips: readonly RoundTrip[]): RoundTrip | undefined {
  return roundTrips.find((one) => one.list === list && one.patch === patch);
}

type Row = { kind: 'line'; mark: ' ' | '-' | '+'; text: string } | { kind: 'fold'; count: number };

function rowsOf({ lines }: ChangedObject, isWhole: boolean): Row[] {
  const isNear = (at: number) =>
    lines.slice(Math.max(0, at - around), at + around + 1).some(({ mark }) => mark !== ' ');
  const rows: Row[] = [];
  let folded: Row[] = [];
  const unfold = () => {
    if (folded.length < foldedFrom) rows.push(...folded);
    else rows.push({ kind: 'fold', count: folded.length });
    folded = [];
  };
  for (const [at, line] of lines.entries()) {
    const row: Row = { kind: 'line', ...line };
    if (!isWhole && !isNear(at)) folded.push(row);
    else {
      unfold();
      rows.push(row);
    }
  }
  unfold();
  return rows;
}

const words = { '+': 'added', '-': 'removed', ' ': '' };

function ObjectDiff({ object, unchanged }: { object: ChangedObject; unchanged: string }): VNode {
  const [wanted, setWanted] = useState<boolean | undefined>(undefined);
  const changes = object.lines.filter(({ mark }) => mark !== ' ').length;
  const isWhole = wanted ?? changes === 0;
  return html`
    <section class="object" aria-label=${object.name}>
      <h3>${object.name}</h3>
      ${changes === 0 && html`<p>${unchanged}</p>`}
      <pre class="diff" tabindex="0" aria-label=${`${object.name}, differences`}>${rowsOf(object, isWhole).map(rowView)}</pre>
      ${object.more > 0 && html`<p>And ${object.more} more lines.</p>`}
      <button type="button" aria-pressed=${isWhole} onClick=${() => setWanted(!isWhole)}>Whole object</button>
    </section>`;
}

function rowView(row: Row): VNode {
  if (row.kind === 'fold') return html`<span class="fold">  … ${row.count} unchanged lines\n</span>`;
  const word = words[row.mark];
  const text = `${row.mark} ${row.text}\n`;
  if (word === 'added') return html`<ins>${text}</ins>`;
  return word === 'removed' ? html`<del>${text}</del>` : html`<span>${text}</span>`;
}

/** One patch with what it did to each object. */
function Patch({ reports, roundTrip }: { reports: readonly PatchReport[]; roundTrip: RoundTrip | undefined }): VNode {
  const [{ path, patch, list }] = reports as [PatchReport];
  const matches = reports.flatMap((report) => report.matches);
  const failed = matches.filter(({ error }) => error !== undefined).length;
  const changed = matches.filter(isChanged).length;
  const count = reports.reduce((sum, report) => sum + report.matches.length + report.more, 0);
  const tookMs = reports.reduce((sum, report) => sum + report.tookMs, 0);
  // The two lists count for themselves.
  const ofSlices = list.includes('endpointSlices') ? ' of EndpointSlices' : '';
  const places = count === 1 ? '1 place' : `${count} places`;
  const said =
    count === 0
      ? nothingOf(reports)
      : `${places}, ${failed > 0 ? `${failed} failed` : `${changed} changed`}, ${tookMs.toFixed(1)} ms`;
  return html`
    <li class=${failed > 0 ? 'failed' : ''}>
      <details>
        <summary>Patch ${patch}${ofSlices}: <code>${path === '' ? 'the whole object' : path}</code> <span class="quiet">${said}</span></summary>
        <p class="quiet">${list}[${patch}]</p>
        ${reports.map(
          ({ object, matches: inObject, notTried, whyNone, more }) => html`
            <p>${object}${inObject.length === 0 && `: ${notTried ?? noMatch('no match', whyNone)}`}</p>
            <ul>${inObject.map((match) => html`<li>${matchView(match)}</li>`)}</ul>
            ${more > 0 && html`<p>And ${more} more.</p>`}`,
        )}
      </details>
      ${roundTrip && html`<p class=${roundTrip.problem === undefined ? 'good' : 'caution'}>${roundTrip.problem ?? 'Round trip: every sample comes back as it was.'}</p>`}
    </li>`;
}

function nothingOf(reports: readonly PatchReport[]): string {
  const { notTried } = reports.find((one) => one.notTried !== undefined) ?? {};
  return notTried ?? noMatch('matches nothing', reports.find(({ whyNone }) => whyNone !== undefined)?.whyNone);
}

function noMatch(words: string, why: string | undefined): string {
  return why === undefined ? words : `${words}: ${why}`;
}

function byPatch(reports: readonly PatchReport[]): PatchReport[][] {
  return [...Map.groupBy(reports, ({ list, patch }) => `${list} ${patch}`).values()];
}

function isChanged({ before, after, error }: PatchMatch): boolean {
  return error === undefined && JSON.stringify(before) !== JSON.stringify(after);
}

function matchView(match: PatchMatch): VNode {
  const { at, before, after, error } = match;
  const place = html`<code>${at === '' ? 'the whole object' : at}</code>`;
  if (error !== undefined) return html`${place}: ${short(before)} failed: ${error}`;
  if (after === null || after === undefined) return html`${place}: ${short(before)} deleted`;
  return isChanged(match)
    ? html`${place}: ${short(before)} → ${short(after)}`
    : html`${place}: ${short(before)} unchanged`;
}

function short(value: unknown): string {
  const text = JSON.stringify(value) ?? 'nothing';
  return text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters)}…`;
}

const textWords = {
  config: 'Patches',
  virtual: "Tenant's object",
  hostBefore: 'Copy before the write',
  hostEdited: 'Edited host object',
};

/** Each leads to its place in an editor. */
export function Marks({ marks, goTo }: { marks: readonly Mark[]; goTo: (mark: Mark) => void }): VNode | null {
  if (marks.length === 0) return null;
  const inOrder = marks.toSorted(
    (one, other) => Number(one.severity === 'warning') - Number(other.severity === 'warning'),
  );
  return html`<ul class="marks">${inOrder.map(
    (mark) => html`
      <li class=${mark.severity}>
        <button type="button" onClick=${() => goTo(mark)}>${textWords[mark.text]}, line ${mark.line}, column ${mark.column}</button>
        <span>${mark.severity === 'warning' ? 'Warning: ' : ''}${mark.message}</span>
      </li>`,
  )}</ul>`;
}
