// The short form of `hostward status`: what a person wants to know first, in the 24 lines of a terminal, with the verdict last, where
// the eye is. In: the status as JSON. Out: text. Everything else is for --all.
import { type AttentionGroup, attentionIn } from '../../sync/report/attention/attention.ts';
import type { AttentionItem } from '../../sync/report/attention/attention-item.ts';
import { statusCommand } from '../../sync/report/attention/own-commands.ts';
import { datedParts } from '../../sync/report/verdict.ts';
import { isFacts, type StatusJson, say, wordsOf } from '../../sync/report/words.ts';
import { wrap } from '../line/help.ts';
import { statusText } from './status-text.ts';

/** The prompt needs the last line of the screen. */
const mostLines = 23;
const narrowest = 40;
const mostLeftLines = 4;
/** A verdict longer than half the screen says the same as the rows above it. */
const mostVerdict = Math.floor(mostLines / 2);
/** Of the verdict, with the empty line before it, and of the facts, while something else needs their lines. */
const [leastVerdict, leastFacts] = [6, 2];

/** A status that fits is shown whole. */
export function shortText(status: StatusJson, columns = Number.POSITIVE_INFINITY, address?: string): string {
  const { verdict, ...facts } = status;
  const width = Math.max(columns, narrowest);
  const last = verdictIn(mostVerdict, verdict, width);
  const whole = statusText(facts, columns).trimEnd().split('\n');
  if (whole.length + last.length <= mostLines) return `${[...whole, ...last].join('\n')}\n`;
  const head = headLines(facts).flatMap((line) => wrap(line, width));
  const more = `${statusCommand(status, '--all', address)} tells the rest`;
  const { groups } = attentionIn(status, address);
  const free = mostLines - rowsOf(more, width);
  const [worst] = groups;
  // The worst trouble is always shown, with its command: on a small screen the verdict makes room as well, and says the same.
  const least = worst === undefined ? 0 : linesRows(groupsLines([worst], width), width) + mostLeftLines;
  const wanted = linesRows(groupsLines(groups, width), width) + leastFacts;
  const room = Math.min(mostVerdict, free - least, Math.max(leastVerdict, free - wanted));
  const told = verdictIn(room, verdict, width);
  const rest = free - linesRows(told, width);
  // The facts make room for what needs a person.
  const shown = attentionLines(groups, { width, lines: Math.max(rest - head.length, rest - leastFacts) });
  const forFacts = Math.max(0, rest - linesRows(shown, width));
  const facing = head.length <= forFacts ? head : headLines(facts).slice(0, forFacts);
  return `${[...facing.map((line) => cut(line, width)), ...shown, more, ...told].join('\n')}\n`;
}

/** The verdict with the time since when it holds, behind an empty line. */
export function verdictLines(verdict: unknown, width: number): string[] {
  return isFacts(verdict) ? ['', ...wrap(datedParts(verdict).join('; '), width)] : [];
}

function shortened(lines: readonly string[], most: number): readonly string[] {
  return lines.length > most ? [...lines.slice(0, Math.max(1, most - 1)), '…'] : lines;
}

/** A verdict that does not fit has the beginning and the end of each part, the worst first, because the end has cause and time. */
function verdictIn(most: number, verdict: unknown, width: number): readonly string[] {
  const lines = verdictLines(verdict, width);
  if (!isFacts(verdict) || linesRows(lines, width) <= most) return lines;
  const room = Math.max(1, most - 1);
  const parts = datedParts(verdict);
  const shown = parts.length <= room ? parts : parts.slice(0, Math.max(1, room - 1));
  const left = parts.length - shown.length;
  const more = left > 0 && room > 1 ? [`… and ${left} more`] : [];
  let free = Math.max(0, room - shown.length - more.length);
  const told = shown.flatMap((part) => {
    const gets = Math.min(free, linesRows(wrap(part, width), width) - 1);
    free -= gets;
    return bothEnds(part, 1 + gets, width);
  });
  return ['', ...told, ...more];
}

/** Most of a sentence is at its beginning. */
const endShare = 0.45;

function bothEnds(text: string, rows: number, width: number): string[] {
  let lines = wrap(text, width);
  for (let length = Math.min(text.length - 1, rows * width); linesRows(lines, width) > rows; length--) {
    const end = Math.floor(length * endShare);
    lines = wrap(`${text.slice(0, length - end - 1)}…${text.slice(text.length - end)}`, width);
  }
  return lines;
}

function headLines(facts: StatusJson): string[] {
  const { virtualCluster, hostNamespace, version, leadership, uptimeSeconds, isDryRun } = facts;
  const more = Object.entries(facts).filter(([, value]) => isFacts(value) && isFacts(value['objects']));
  const kinds: [string, StatusJson][] = [
    ...(isFacts(facts['objects']) ? [[nameOf(facts), facts] as [string, StatusJson]] : []),
    ...more.map(([, block]): [string, StatusJson] => [nameOf(block as StatusJson), block as StatusJson]),
  ];
  const about = `version ${say(version)}, up ${say(uptimeSeconds)} s`;
  // The first lines are the last to make room.
  return [
    ...(virtualCluster === undefined
      ? [about]
      : [`virtual cluster ${say(virtualCluster)} -> host namespace ${say(hostNamespace)}`]),
    ...kinds.map(([name, block]) => kindLine(name, block)),
    ...dryRunLines(kinds),
    ...(virtualCluster === undefined
      ? []
      : [`${about}, leadership: ${say(leadership)}${isDryRun === true ? ', dry run' : ''}`]),
    ...patchLines([facts, ...more.map(([, block]) => block as StatusJson)]),
    ...(isFacts(facts['references']) ? [`references: ${countsIn(facts['references'])}`] : []),
    ...(isFacts(facts['management']) ? managementLines(facts['management']) : []),
  ];
}

/** An older daemon does not tell the kind. */
function nameOf({ kind }: StatusJson): string {
  return say(kind, 'objects');
}

function kindLine(name: string, { objects, queue, lag }: StatusJson): string {
  const [p50, p99] = isFacts(lag) ? [lag['p50Ms'], lag['p99Ms']] : [];
  const waiting = isFacts(queue) ? `; queue: ${say(queue['waiting'])} waiting, ${say(queue['running'])} running` : '';
  const delay = p50 === undefined ? '' : `; lag p50 ${say(p50)} ms, p99 ${say(p99)} ms`;
  return `${name}: ${isFacts(objects) ? counts(objects) : 'none'}${delay}${waiting}`;
}

/** One line for all kinds. */
function dryRunLines(kinds: readonly [string, StatusJson][]): string[] {
  const lists = kinds.flatMap(([, { differences }]) => (Array.isArray(differences) ? [differences] : []));
  const count = lists.flat().length;
  return lists.length === 0 ? [] : [`dry run: ${count} ${count === 1 ? 'write' : 'writes'}, which --all lists`];
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

/** One line for all kinds. */
function patchLines(blocks: readonly StatusJson[]): string[] {
  const lists = blocks.flatMap(({ patches }) => (Array.isArray(patches) ? [patches] : []));
  if (lists.length === 0) return [];
  const rows = lists.flat().filter(isFacts);
  const sum = (name: string) => rows.reduce((total, row) => total + Number(row[name] ?? 0), 0);
  return [`patches: ${rows.length}, ${sum('values')} values, ${sum('failures')} failures`];
}

function managementLines({ url, keys, store }: StatusJson): string[] {
  return [
    `management API: ${say(url)}; keys: ${isFacts(keys) ? counts(keys) : 'none'}`,
    ...(isFacts(store) ? [storeLine(store)] : []),
  ];
}

function storeLine({ place, replica, replicas, sweeper, lagMs, records, secrets }: StatusJson): string {
  const live = Array.isArray(replicas) ? replicas.length : 0;
  const sweeps = sweeper === undefined ? 'nobody sweeps yet' : `${say(sweeper)} sweeps`;
  const used = isFacts(secrets) ? `; ${secretsText(secrets)}` : '';
  return `store: ${say(place)}, ${say(records)} records; replica ${say(replica)} of ${live}, ${say(lagMs)} ms behind at most; ${sweeps}${used}`;
}

function secretsText({ pepper, tokenKey, waiting }: StatusJson): string {
  const signs = tokenKey === undefined ? '' : `, token key ${say(tokenKey)}`;
  return `pepper ${say(pepper)}${signs}${waiting === undefined ? '' : `, waiting: ${say(waiting)}`}`;
}

function attentionLines(
  groups: readonly AttentionGroup[],
  { width, lines }: { width: number; lines: number },
): string[] {
  // Groups that one command mends are printed together.
  const inOrder = [...Map.groupBy(groups, commandOf).values()].flat();
  const linesWith = (count: number): string[] => [
    ...groupsLines(inOrder.slice(0, count), width),
    ...leftLines(inOrder.slice(count), width),
  ];
  let count = groups.length;
  while (count > 1 && linesRows(linesWith(count), width) > lines) count--;
  return linesWith(count);
}

/** What mends all of the group, or lists them where each is mended by a command of its own. */
function commandOf({ items, listCommand }: AttentionGroup): string {
  const [{ command }] = items as [AttentionItem];
  return items.every((one) => one.command === command) ? command : (listCommand ?? command);
}

/** What is left out, with each reason, so that no kind of trouble is unseen. */
function leftLines(groups: readonly AttentionGroup[], width: number): readonly string[] {
  if (groups.length === 0) return [];
  const sum = groups.reduce((total, { count }) => total + count, 0);
  const byReason = Map.groupBy(groups, ({ reason }) => reason);
  const names = [...byReason].map(([reason, alike]) => {
    const all = alike.reduce((total, { count }) => total + count, 0);
    return all === 1 ? reason : `${all} ${reason}`;
  });
  return shortened(wrap(`… and ${sum} more: ${names.join(', ')}`, width), mostLeftLines);
}

/** Each command is printed once, after everything that it mends. */
function groupsLines(groups: readonly AttentionGroup[], width: number): string[] {
  return [...Map.groupBy(groups, commandOf)].flatMap(([command, mended]) => {
    const remedy = joined(mended.map((group) => remedyBehind(command, group)));
    return [...mended.map((group) => groupLine(group, width)), commandLine(command, remedy, width)];
  });
}

/** Each thing once: one may say what another one says too, and one right may be missing here and there. What the command does comes last. */
function joined(remedies: readonly string[]): string {
  const clauses = remedies.flatMap((one) => one.split('; '));
  const things = new Map(clauses.map((one) => [/^grant "\w+" of \S+/.exec(one)?.[0] ?? one, one]));
  const all = [...things.values()].filter(
    (one, _, those) => !those.some((other) => other !== one && other.includes(one)),
  );
  const isOfCommand = (one: string) => one.startsWith('this ');
  return [...all.filter((one) => !isOfCommand(one)), ...all.filter(isOfCommand)].join('; ');
}

/** What a remedy says of its own command is not true of one that lists the objects. */
function remedyBehind(command: string, { items, listCommand }: AttentionGroup): string {
  const [{ remedy }] = items as [AttentionItem];
  return command === listCommand ? `${remedy.replace(/; this .*$/, '')}; this lists them` : remedy;
}

function groupLine({ reason, count, isLeast = false, items }: AttentionGroup, width: number): string {
  const [{ about, object, message }] = items as [AttentionItem];
  const things = object === undefined ? 'things' : 'objects';
  const what =
    count === 1
      ? `${about} (${reason})`
      : `${isLeast ? 'at least ' : ''}${count} ${things} (${reason}), such as ${about}`;
  return cut(`! ${what}: ${message}`, width);
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
