// Picks from a status what needs a person: objects that cannot cross, outages, a rejected configuration, missing rights, keys that
// end soon. In: the status as JSON. Out: rows with the reason and the remedy, for `hostward status` and the status page. Pure.
import { splitKey } from '../../../object/meta/object.ts';
import { textsIn } from '../../../object/text/json.ts';
import { refusalCause } from '../../plan/refusal-cause.ts';
import { lostText } from '../../world/contest.ts';
import { isFacts, type StatusJson, say } from '../words.ts';
import { type AskedStatus, type AttentionItem, rightsItems, rowsOf, troubleItem } from './attention-item.ts';
import { addressItems, configurationItems } from './configuration-items.ts';
import { endingGroup, managementItems } from './management-items.ts';
import { statusCommand } from './own-commands.ts';
import { failedPatch, needsPerson } from './remedies.ts';

/** The address is the one that the reader has asked: a copied command must ask the same daemon. */
export function attentionOf(status: StatusJson, address?: string): AttentionItem[] {
  const asked = { status, address };
  const found = [
    ...outageItems(asked),
    ...partsIn(asked, 'leaderless')
      .slice(0, 1)
      .map((message) => troubleItem(asked, 'lease', { reason: 'leaderless', message })),
    ...addressItems(status),
    ...rightsItems(asked),
    ...configurationItems(status),
    ...lackingFirst([
      ...objectItems(asked),
      ...contestedItems(asked),
      ...unnamedItems(asked),
      ...referenceItems(asked),
    ]),
    ...managementItems(status),
  ];
  return found.length > 0 ? found : verdictItems(asked);
}

/** One right may be missing for all objects of a kind, and what lacks it hides what else is wrong with them. */
function lackingFirst(items: readonly AttentionItem[]): AttentionItem[] {
  const rankOf = ({ reason }: AttentionItem) => (reason === 'Forbidden' || reason === 'unread' ? 0 : 1);
  return items.toSorted((one, other) => rankOf(one) - rankOf(other));
}

/** What the verdict finds wrong needs a person, even if no row shows it. A start is over soon, or an outage says why not. */
function verdictItems(asked: AskedStatus): AttentionItem[] {
  const { verdict } = asked.status;
  if (!isFacts(verdict) || verdict['isWell'] !== false || verdict['state'] === 'starting') return [];
  const parts = rowsOf(verdict['parts']).map(({ part }) => part);
  const reason = say(verdict['state'], 'NotWell');
  return (parts.length > 0 ? parts : [verdict['sentence']]).map((part) =>
    troubleItem(asked, 'daemon', { reason, message: say(part) }),
  );
}

/** All that has one reason and one remedy. */
export interface AttentionGroup {
  reason: string;
  /** Complete: more than the items where a status lists only some of the objects. */
  count: number;
  /** There may be more, of those that are not listed. */
  isLeast?: boolean;
  /** At least one. */
  items: readonly AttentionItem[];
  /** Lists all of them, where the items are objects. */
  listCommand?: string;
}

/** Grouped, so that a thousand objects of one reason hide no other reason. The sum counts what needs a person in all groups. */
export function attentionIn(status: StatusJson, address?: string): { groups: AttentionGroup[]; sum: number } {
  const byName = Map.groupBy(attentionOf(status, address), ({ group }) => group);
  let sum = 0;
  const groups = [...byName].flatMap(([name, all]) => {
    const counted = countOf(status, name);
    sum += Math.max(all.length, counted);
    const byCause = [...Map.groupBy(all, ({ cause }) => cause).values()];
    return byCause.map((items): AttentionGroup => {
      const [{ reason, listedState: state }] = items as [AttentionItem];
      const known = byCause.length === 1 ? counted : countOfCause(status, { name, all, items });
      const count = Math.max(items.length, known ?? 0);
      return {
        reason,
        count,
        ...(known === undefined && all.length < counted && { isLeast: true }),
        items,
        ...(count > 1 && state !== undefined && { listCommand: statusCommand(status, '--state', address, state) }),
      };
    });
  });
  return { groups, sum };
}

/** Of the objects in a state, those that have one cause; undefined where the status does not tell. */
function countOfCause(
  status: StatusJson,
  { name, all, items }: { name: string; all: readonly AttentionItem[]; items: readonly AttentionItem[] },
): number | undefined {
  const [{ kind, cause, refusal, message }] = items as [AttentionItem];
  const block = blocksOf(status).find((one) => one['kind'] === kind);
  const { troubleByState, troubleByPatch, troubleByCause } = block ?? {};
  const isOnly = all.every((one) => one.kind !== kind || one.cause === cause);
  const refused = rowsOf(troubleByCause).find((one) => one['state'] === name && one['cause'] === refusal);
  if (!isOnly && refused !== undefined) return Number(refused['objects']);
  const counts = isOnly ? troubleByState : troubleByPatch;
  const count = isFacts(counts) ? counts[isOnly ? name : `${name} ${failedPatch(message)}`] : undefined;
  return typeof count === 'number' ? count : undefined;
}

/** Of each group, also where its list is cut; 0 from an older daemon. */
function countOf(status: StatusJson, group: string): number {
  const { references, management } = status;
  if (group === endingGroup && isFacts(management)) return Number(management['expiringWithinSevenDays'] ?? 0);
  const ofObjects = blocksOf(status).map((block) => ({ block, nameOf: (state: string) => state }));
  const ofReferences = Object.entries(isFacts(references) ? references : {}).map(([kind, block]) => ({
    block,
    nameOf: (state: string) => referenceGroup(kind, state),
  }));
  return [...ofObjects, ...ofReferences].reduce((sum, { block, nameOf }) => {
    const counts = isFacts(block) ? block['troubleByState'] : undefined;
    const found = Object.entries(isFacts(counts) ? counts : {}).filter(([state]) => nameOf(state) === group);
    return sum + found.reduce((total, [, count]) => total + Number(count), 0);
  }, 0);
}

function outageItems(asked: AskedStatus): AttentionItem[] {
  const { status } = asked;
  const outages = rowsOf(status['outages']).map(({ cluster, kind, message, seconds }) =>
    troubleItem(
      asked,
      `${say(cluster)} cluster`,
      { reason: say(kind), message: say(message), cluster: say(cluster) },
      Number(seconds),
    ),
  );
  const known = new Set(outages.map(({ message }) => message));
  const troubles = textsIn(status['waitingFor']).filter((one) => ![...known].some((message) => one.includes(message)));
  const waiting = troubles.map((message) => troubleItem(asked, 'clusters', { reason: 'Unreachable', message }));
  const found = [...outages, ...waiting];
  return found.length > 0 ? found : lateItems(asked);
}

/** A cluster that answers nothing any more is known as an outage only after its time limits; until then changes wait. */
function lateItems(asked: AskedStatus): AttentionItem[] {
  // The objects that are tried again have rows of their own.
  if (blocksOf(asked.status).some(({ trouble }) => rowsOf(trouble).some(({ state }) => state === 'retry'))) return [];
  const late = partsIn(asked, 'behind').filter((part) => part.startsWith('behind: '));
  return late.map((part) => troubleItem(asked, 'changes', { reason: 'Behind', message: part.replace('behind: ', '') }));
}

/** Of a verdict of this state; empty for another one. */
function partsIn({ status: { verdict } }: AskedStatus, state: string): string[] {
  if (!isFacts(verdict) || verdict['state'] !== state) return [];
  const parts = rowsOf(verdict['parts']).map(({ part }) => say(part));
  return parts.length > 0 ? parts : [say(verdict['sentence'])];
}

/** The status itself and its block for each further kind. */
function blocksOf(status: StatusJson): StatusJson[] {
  return [status, ...Object.values(status).filter(isFacts)].filter(({ trouble }) => Array.isArray(trouble));
}

/** A replica that waits for its turn knows nothing of objects, or what it knew when it had the lease. */
export function isStandby({ verdict }: StatusJson): boolean {
  return isFacts(verdict) && verdict['state'] === 'standby';
}

function objectItems(asked: AskedStatus): AttentionItem[] {
  if (isStandby(asked.status)) return [];
  return blocksOf(asked.status).flatMap((block) => {
    const fights = rowsOf(block['contested']);
    // While its next repair waits, a contested object is in both lists; the other one names the client.
    const named = new Set(fights.map(({ object }) => object));
    const rows = rowsOf(block['trouble']).filter(
      ({ object, state }) => needsPerson(say(state)) && !(state === 'waiting/Contested' && named.has(object)),
    );
    return rows.map((row) => objectItem(asked, block, row));
  });
}

function contestedItems(asked: AskedStatus): AttentionItem[] {
  if (isStandby(asked.status)) return [];
  return blocksOf(asked.status).flatMap((block) =>
    rowsOf(block['contested']).map((row) => {
      const by = say(row['by']);
      const { lost } = row;
      const message = lost === undefined ? `the host copy keeps being changed by "${by}"` : lostText(say(lost));
      return objectItem(asked, block, { ...row, state: 'inSync/Contested', message, by });
    }),
  );
}

/** The virtual objects of these copies are not known, so each row is about the copy. */
function unnamedItems(asked: AskedStatus): AttentionItem[] {
  return blocksOf(asked.status).flatMap((block) =>
    rowsOf(block['unnamedCopies']).map(({ hostObject, message }) => {
      const place = { kind: say(block['kind']), hostObject: say(hostObject) };
      const found = troubleItem(asked, `host copy ${place.hostObject}`, {
        ...place,
        reason: 'NotOurs',
        message: say(message),
      });
      return { ...found, group: `unnamed ${place.kind}`, cause: found.remedy };
    }),
  );
}

function objectItem(asked: AskedStatus, { kind, settings }: StatusJson, row: StatusJson): AttentionItem {
  const [object, state] = [say(row['object']), say(row['state'])];
  const reason = state.split('/')[1] ?? state;
  const about = {
    object,
    ...textMembers({ kind, settings, hostObject: row['hostObject'], by: row['by'], lost: row['lost'] }),
  };
  const trouble = { ...about, reason, message: say(row['message']) };
  const found = troubleItem(asked, object, trouble, Number(row['sinceSeconds']));
  // With one client or another, and while its repair waits: it is the same fight.
  const group = reason === 'Contested' ? reason : state;
  const ofState = group === state && { listedState: state };
  const refusal = reason === 'HostRefused' ? refusalIn(trouble) : undefined;
  const cause = refusal === undefined ? found.remedy : `${found.remedy} ${refusal}`;
  return { ...found, object, ...textMembers({ kind, refusal }), group, cause, ...ofState };
}

function refusalIn({ message, hostObject }: { message: string; hostObject?: string }): string {
  return refusalCause(message, hostObject === undefined ? [] : [splitKey(hostObject).name]);
}

function referenceItems(asked: AskedStatus): AttentionItem[] {
  const { references } = asked.status;
  const kinds = isFacts(references) && !isStandby(asked.status) ? Object.entries(references) : [];
  return kinds.flatMap(([kind, facts]) =>
    (isFacts(facts) ? rowsOf(facts['trouble']) : [])
      .filter(({ state }) => needsPerson(say(state)))
      .map((row) => {
        const [object, state] = [say(row['object']), say(row['state'])];
        const reason = state.split('/').at(-1) as string;
        const trouble = { object, kind, reason, message: say(row['message']) };
        const found = troubleItem(asked, `${kind} ${object}`, trouble);
        return { ...found, object, kind, group: referenceGroup(kind, state), cause: found.remedy };
      }),
  );
}

function referenceGroup(kind: string, state: string): string {
  return `references ${kind} ${state}`;
}

/** The members that are texts. */
function textMembers<Name extends string>(facts: Record<Name, unknown>): { [_ in Name]?: string } {
  const found = Object.entries(facts).filter((entry) => typeof entry[1] === 'string');
  return Object.fromEntries(found.map(([name, text]) => [name, say(text)])) as { [_ in Name]?: string };
}
