// What a read promises beside its place in the order of all operations: a page shows the state at its revision, an old revision too; the past is
// refused only when it was compacted and the future only when it is one; and no reader goes back in time.
import type { Answered, Asked, History, Operation, Violation } from '../history.ts';
import type { KnownLog } from './known-log.ts';
import { SeenLog } from './watches.ts';

export function judgeReads(history: History, log: KnownLog): Violation[] {
  const seen = new SeenLog(history, log);
  const found: Violation[] = [];
  for (const operation of history.operations) {
    const { asked, answered, client } = operation;
    if (asked.verb === 'revision' && answered.kind === 'revision') {
      const known = revisionBefore(history.operations, operation.calledAt);
      if (answered.revision < known)
        found.push({
          judge: 'fresh',
          what: `client ${client} was told ${answered.revision} after ${known} was acknowledged`,
        });
    }
    if (asked.verb !== 'list' && asked.verb !== 'read' && asked.verb !== 'get') continue;
    const say = (judge: string, what: string) =>
      found.push({ judge, what: `client ${client}, ${told(asked)}: ${what}` });
    if (asked.verb === 'get') {
      if (answered.kind !== 'record') continue;
      const { record, revision } = answered;
      const whole = { keys: [asked.key], atRevision: revision };
      for (const what of readFaults(whole, { records: [record ?? null] }, seen)) say('state', what);
      continue;
    }
    if (asked.verb === 'read' && answered.kind === 'read')
      for (const what of readFaults(asked, answered, seen)) say('page', what);
    if (asked.verb === 'list' && answered.kind === 'page')
      for (const what of pageFaults(asked, answered, seen)) say('page', what);
    if (answered.kind === 'compacted') {
      const wanted = asked.atRevision ?? Number.POSITIVE_INFINITY;
      if (wanted >= answered.compactedRevision) say('compacted', `refused as older than ${answered.compactedRevision}`);
      const most = seen.compactedBefore(operation.returnedAt);
      if (answered.compactedRevision > most)
        say('compacted', `refused as older than ${answered.compactedRevision}, compacted was only ${most}`);
    }
    // A replica that is behind may not know yet what another one acknowledged.
    if (answered.kind === 'futureRevision' && history.promises.areReadsFresh) {
      const known = revisionBefore(history.operations, operation.calledAt);
      if ((asked.atRevision ?? 0) <= known) say('future', `refused as the future, but ${known} was acknowledged`);
    }
  }
  return [...found, ...judgeTime(history)];
}

type Get = Extract<Asked, { verb: 'get' }>;
type List = Extract<Asked, { verb: 'list' }>;
type Read = Extract<Asked, { verb: 'read' }>;
type Answer = Extract<Answered, { kind: 'read' }>;
type Page = Extract<Answered, { kind: 'page' }>;

function* pageFaults(asked: List, page: Page, log: SeenLog): Generator<string> {
  const { revision, records } = page;
  if (asked.atRevision !== undefined && revision !== asked.atRevision) yield `it is of revision ${revision}`;
  const state = new Map<string, string>();
  for (const change of log.between(asked.prefix, 0, revision)) {
    if (change.value === undefined) state.delete(change.key);
    else state.set(change.key, change.value);
  }
  const isAfter = (key: string) => asked.afterKey === undefined || key > asked.afterKey;
  const shown = new Map(records.map(({ key, value }) => [key, value]));
  // Of a key that a write without an answer may have deleted, the page alone tells whether it was there.
  const all = [...state].filter(([key]) => isAfter(key)).sort(([one], [other]) => (one < other ? -1 : 1));
  const wanted = all.filter(([key]) => shown.has(key) || !log.mayHold(key, undefined));
  const cut = asked.limit === undefined ? wanted : wanted.slice(0, asked.limit);
  const [has, should] = [JSON.stringify([...shown]), JSON.stringify(cut)];
  const [least, most] = [wanted.length - cut.length, all.length - cut.length];
  if (has !== should) yield `at revision ${revision} it shows ${has} instead of ${should}`;
  const { remaining } = page;
  // Left out where the store does not know it.
  if (remaining === undefined) return;
  if (has === should && (remaining < least || remaining > most))
    yield `it says that ${remaining} remain, which are ${least}`;
  if (page.hasMore !== remaining > 0) yield `it says ${page.hasMore ? 'more' : 'no more'} with ${remaining} left`;
}

function* readFaults(
  { keys, atRevision }: Pick<Read, 'keys' | 'atRevision'>,
  { records }: Pick<Answer, 'records'>,
  log: SeenLog,
): Generator<string> {
  if (records.length === 0 || records.length > keys.length) yield `${records.length} answers for ${keys.length} keys`;
  for (const [nth, record] of records.entries()) {
    const key = keys[nth] as string;
    const change = log.before(key, atRevision + 1);
    if (record?.value === change?.value || (record === null && log.mayHold(key, undefined))) continue;
    yield `${key} is ${JSON.stringify(record?.value)} at ${atRevision} instead of ${JSON.stringify(change?.value)}`;
  }
}

/** Each client talks to one replica, whose time only goes on, and reads its own writes. */
function judgeTime({ operations }: History): Violation[] {
  const found: Violation[] = [];
  const latest = new Map<number, { revision: number; returnedAt: number }>();
  for (const { client, asked, answered, calledAt, returnedAt } of operations) {
    const isPresent =
      asked.verb === 'get' || asked.verb === 'revision' || (asked.verb === 'list' && asked.atRevision === undefined);
    const isWritten = answered.kind === 'written';
    if (!(isPresent || isWritten) || !('revision' in answered)) continue;
    const last = latest.get(client);
    if (isPresent && last !== undefined && last.returnedAt < calledAt && answered.revision < last.revision)
      found.push({ judge: 'time', what: `client ${client} read revision ${answered.revision} after ${last.revision}` });
    if (last === undefined || answered.revision >= last.revision)
      latest.set(client, { revision: answered.revision, returnedAt });
  }
  return found;
}

function revisionBefore(operations: readonly Operation[], moment: number): number {
  let most = 0;
  for (const { asked, answered, returnedAt } of operations)
    if (asked.verb === 'write' && answered.kind === 'written' && returnedAt < moment)
      most = Math.max(most, answered.revision);
  return most;
}

function told(asked: Get | List | Read): string {
  if (asked.verb === 'get') return `${asked.isFresh ? 'fresh ' : ''}get of ${asked.key}`;
  if (asked.verb === 'read') return `read of ${asked.keys.join(', ')} at ${asked.atRevision}`;
  const { prefix, atRevision, afterKey, limit } = asked;
  const words = [atRevision === undefined ? 'now' : `at ${atRevision}`];
  if (afterKey !== undefined) words.push(`after ${afterKey}`);
  if (limit !== undefined) words.push(`${limit} a page`);
  return `list of ${prefix} ${words.join(', ')}`;
}
