// The short form of `hostward status`: what a person wants to know first, in the 24 lines of a terminal, with the verdict last, where
// the eye is. In: the status as JSON. Out: text. Everything else is for --all.
import { type AttentionGroup, type AttentionItem, attentionGroups } from '../../sync/report/attention.ts';
import { statusCommand } from '../../sync/report/own-commands.ts';
import { isFacts, type StatusJson, say, wordsOf } from '../../sync/report/words.ts';
import { wrap } from '../line/help.ts';
import { statusText } from './status-text.ts';

/** The prompt needs the last line of the screen. */
const mostLines = 23;
const narrowest = 40;
const mostLeftLines = 4;

/** A status that fits is shown whole. */
export function shortText(status: StatusJson, columns = Number.POSITIVE_INFINITY, address?: string): string {
  const { verdict, ...facts } = status;
  const width = Math.max(columns, narrowest);
  const last = verdictLines(verdict, width);
  const whole = statusText(facts, columns).trimEnd().split('\n');
  if (whole.length + last.length <= mostLines) return `${[...whole, ...last].join('\n')}\n`;
  const head = headLines(facts).flatMap((line) => wrap(line, width));
  const more = `${statusCommand(status, '--all', address)} tells the rest`;
  const groups = attentionGroups(status, address);
  const [worst] = groups;
  // The worst trouble is always shown, with its command: on a small screen the verdict makes room as well.
  const least = worst === undefined ? 0 : linesRows(groupLines(worst, width), width) + mostLeftLines;
  const told = shortened(last, mostLines - rowsOf(more, width) - least);
  const rest = mostLines - told.length - rowsOf(more, width);
  // The facts make room for what needs a person.
  const shown = attentionLines(groups, { width, lines: Math.max(rest - head.length, Math.floor((rest * 3) / 4)) });
  const facing = head.slice(0, Math.max(0, rest - linesRows(shown, width)));
  return `${[...facing, ...shown, more, ...told].join('\n')}\n`;
}

/** The verdict with the time since when it holds, behind an empty line. */
export function verdictLines(verdict: unknown, width: number): string[] {
  if (!isFacts(verdict)) return [];
  const lines = wrap(verdictText(verdict), width);
  // A verdict longer than the screen says the same as the rows above it.
  return ['', ...shortened(lines, Math.floor(mostLines / 2))];
}

function shortened(lines: readonly string[], most: number): readonly string[] {
  return lines.length > most ? [...lines.slice(0, Math.max(1, most - 1)), '…'] : lines;
}

/** Each part with the time since when it holds. */
function verdictText({ sentence, since, parts }: StatusJson): string {
  const told = Array.isArray(parts) ? parts.filter(isFacts) : [{ part: sentence, since }];
  return told
    .map(({ part, since }) => {
      const text = say(part);
      // An outage says it in its own words.
      return since === undefined || text.includes(say(since)) ? text : `${text} (since ${say(since)})`;
    })
    .join('; ');
}

function headLines(facts: StatusJson): string[] {
  const { virtualCluster, hostNamespace, version, leadership, uptimeSeconds, isDryRun } = facts;
  const kinds = Object.entries(facts).filter(([, value]) => isFacts(value) && isFacts(value['objects']));
  return [
    ...(virtualCluster === undefined
      ? [`version ${say(version)}, up ${say(uptimeSeconds)} s`]
      : [
          `virtual cluster ${say(virtualCluster)} -> host namespace ${say(hostNamespace)}`,
          `version ${say(version)}, up ${say(uptimeSeconds)} s, leadership: ${say(leadership)}${isDryRun === true ? ', dry run' : ''}`,
        ]),
    ...(isFacts(facts['objects']) ? kindLines('objects', facts) : []),
    ...kinds.flatMap(([name, block]) => kindLines(wordsOf(name), block as StatusJson)),
    ...patchLines(facts['patches']),
    ...(isFacts(facts['references']) ? [`references: ${countsIn(facts['references'])}`] : []),
    ...(isFacts(facts['management']) ? managementLines(facts['management']) : []),
  ];
}

function kindLines(name: string, { objects, queue, lag, differences }: StatusJson): string[] {
  const [p50, p99] = isFacts(lag) ? [lag['p50Ms'], lag['p99Ms']] : [];
  const waiting = isFacts(queue) ? `; queue: ${say(queue['waiting'])} waiting, ${say(queue['running'])} running` : '';
  const delay = p50 === undefined ? '' : `; lag p50 ${say(p50)} ms, p99 ${say(p99)} ms`;
  const writes = Array.isArray(differences) ? [`dry run: ${differences.length} writes are listed by --all`] : [];
  return [`${name}: ${isFacts(objects) ? counts(objects) : 'none'}${delay}${waiting}`, ...writes];
}

/** Leaves out counts of zero. */
function counts(facts: StatusJson): string {
  const found = Object.entries(facts).filter(([, count]) => typeof count === 'number' && count > 0);
  return found.length === 0 ? 'none' : found.map(([name, count]) => `${say(count)} ${wordsOf(name)}`).join(', ');
}

function countsIn(kinds: StatusJson): string {
  return Object.entries(kinds)
    .map(([kind, facts]) => `${kind} ${isFacts(facts) ? counts(facts) : say(facts)}`)
    .join('; ');
}

function patchLines(patches: unknown): string[] {
  if (!Array.isArray(patches)) return [];
  const rows = patches.filter(isFacts);
  const sum = (name: string) => rows.reduce((total, row) => total + Number(row[name] ?? 0), 0);
  return [`patches: ${rows.length}, ${sum('values')} values, ${sum('failures')} failures`];
}

function managementLines({ url, keys, store }: StatusJson): string[] {
  return [
    `management API: ${say(url)}; keys: ${isFacts(keys) ? counts(keys) : 'none'}`,
    ...(isFacts(store) ? [storeLine(store)] : []),
  ];
}

function storeLine({ place, replica, replicas, sweeper, lagMs, records }: StatusJson): string {
  const live = Array.isArray(replicas) ? replicas.length : 0;
  const sweeps = sweeper === undefined ? 'nobody sweeps yet' : `${say(sweeper)} sweeps`;
  return `store: ${say(place)}, ${say(records)} records; replica ${say(replica)} of ${live}, ${say(lagMs)} ms behind at most; ${sweeps}`;
}

function attentionLines(
  groups: readonly AttentionGroup[],
  { width, lines }: { width: number; lines: number },
): string[] {
  const rowsWith = (count: number) =>
    groups.slice(0, count).reduce((sum, group) => sum + linesRows(groupLines(group, width), width), 0) +
    leftLines(groups.slice(count), width).length;
  let count = groups.length;
  while (count > 1 && rowsWith(count) > lines) count--;
  return [
    ...groups.slice(0, count).flatMap((group) => groupLines(group, width)),
    ...leftLines(groups.slice(count), width),
  ];
}

/** What is left out, with each reason, so that no kind of trouble is unseen. */
function leftLines(groups: readonly AttentionGroup[], width: number): readonly string[] {
  if (groups.length === 0) return [];
  const sum = groups.reduce((total, { count }) => total + count, 0);
  const names = groups.map(({ reason, count }) => (count === 1 ? reason : `${count} ${reason}`));
  return shortened(wrap(`… and ${sum} more: ${names.join(', ')}`, width), mostLeftLines);
}

function groupLines({ reason, count, items, listCommand }: AttentionGroup, width: number): string[] {
  const [{ about, object, message, remedy, command }] = items as [AttentionItem];
  const things = object === undefined ? 'things' : 'objects';
  const what = count === 1 ? `${about} (${reason})` : `${count} ${things} (${reason}), such as ${about}`;
  return [cut(`! ${what}: ${message}`, width), commandLine(listCommand ?? command, remedy, width)];
}

/** Half a command cannot be copied: the command comes first and whole, and the terminal folds it, so that it is copied as one line. */
function commandLine(command: string, remedy: string, width: number): string {
  const line = `  ${command}`;
  return line.length + 4 >= width ? line : cut(`${line}  # ${remedy}`, width);
}

/** Rows of a terminal. */
function rowsOf(line: string, width: number): number {
  return Math.max(1, Math.ceil(line.length / width));
}

function linesRows(lines: readonly string[], width: number): number {
  return lines.reduce((sum, line) => sum + rowsOf(line, width), 0);
}

function cut(line: string, width: number): string {
  return line.length <= width ? line : `${line.slice(0, width - 1)}…`;
}
