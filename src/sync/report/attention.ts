// Picks from a status what needs a person: objects that cannot cross, outages, a rejected configuration, missing rights, keys that
// end soon. In: the status as JSON. Out: rows with the reason and the remedy, for `hostward status` and the status page. Pure.
import { shellWord } from '../../safe-text.ts';
import { configuredCommand, hostKubectl, startedAs, statusCommand } from './own-commands.ts';
import { isFacts, type StatusJson, say } from './words.ts';

export interface AttentionItem {
  /** The same for all that one person mends in one way. */
  group: string;
  /** What it is about: an object, a cluster, a file. */
  about: string;
  /** The key, where it is an object that can be looked at. */
  object?: string;
  reason: string;
  message: string;
  sinceSeconds?: number;
  /** What to do, in a sentence. */
  remedy: string;
  /** A command to copy. */
  command: string;
}

interface Remedy {
  remedy: string;
  command: string;
}

/** What the reader has asked, and where. */
interface Asked {
  status: StatusJson;
  address: string | undefined;
}

type CommandOf = (given: Asked & { object: string }) => string;

const look: CommandOf = ({ object, status, address }) => statusCommand(status, object, address);
const doctor = ({ status }: Pick<Asked, 'status'>): string => configuredCommand(status, 'doctor');

/** Reason → what a person does about it. */
const remedies: Readonly<Record<string, [string, CommandOf]>> = {
  AddressRefused: ['let the tenant correct the address, or change hostward.addressPolicy', look],
  BackflowFailed: ['correct the value on the host, or the reverse expression', look],
  Contested: ['find the other client that writes the copy, and stop one of the two', look],
  DeleteWithheld: ['nothing, if the objects come back; a second list decides within a minute', look],
  Forbidden: ['grant the verbs that doctor names', doctor],
  HostNameTaken: ['rename the virtual object, or remove the other object on the host', look],
  HostNamespaceMissing: ['create the host namespace, or correct the mapping', look],
  HostRefused: ['correct what the host cluster refuses', look],
  NameCollision: ['rename one of the two virtual objects', look],
  NotOwned: ['rename the virtual object, or remove the other object on the host', look],
  OwnerMissing: [
    'bring the Service of the virtual cluster back on the host',
    ({ status }) =>
      `${hostKubectl(status)} --namespace ${shellWord(say(status['hostNamespace']))} get service ${shellWord(say(status['virtualCluster']))}`,
  ],
  PatchFailed: ['correct the expression, or the value that it fails on', look],
};

const others: [string, CommandOf] = ['look at the object', look];

/** The address is the one that the reader has asked: a copied command must ask the same daemon. */
export function attentionOf(status: StatusJson, address?: string): AttentionItem[] {
  const asked = { status, address };
  return [
    ...outageItems(status),
    ...configurationItems(status),
    ...rightsItems(status),
    ...objectItems(asked),
    ...contestedItems(asked),
    ...referenceItems(asked),
    ...managementItems(asked),
  ];
}

/** All that has one reason and one remedy. */
export interface AttentionGroup {
  reason: string;
  /** Complete: more than the items where a status lists only some of the objects. */
  count: number;
  /** At least one. */
  items: readonly AttentionItem[];
  /** Lists all of them, where the items are objects. */
  listCommand?: string;
}

/** Grouped, so that a thousand objects of one reason hide no other reason. */
export function attentionGroups(status: StatusJson, address?: string): AttentionGroup[] {
  const groups = Map.groupBy(attentionOf(status, address), ({ group }) => group);
  return [...groups].map(([name, items]) => {
    const count = Math.max(items.length, countOf(status, name));
    const isListed = count > 1 && items[0]?.object !== undefined && name !== 'Contested';
    return {
      reason: (items[0] as AttentionItem).reason,
      count,
      items,
      ...(isListed && { listCommand: statusCommand(status, '--state', address, name) }),
    };
  });
}

/** Of a state, also where the list is cut; 0 from an older daemon. */
function countOf(status: StatusJson, state: string): number {
  return blocksOf(status).reduce((sum, { troubleByState: counts }) => {
    return sum + (isFacts(counts) ? Number(counts[state] ?? 0) : 0);
  }, 0);
}

function configurationItems(status: StatusJson): AttentionItem[] {
  const late = status['newConfigurationNotTakenOver'];
  const waiting = textsOf(status['settingsWaitForRestart']);
  return [
    ...textsOf(status['newConfigurationIsInvalid']).map((fault) => {
      const remedy = 'correct the file; until then the configuration before it is in force';
      return item('configuration', 'ConfigurationInvalid', fault, {
        remedy,
        command: configuredCommand(status, 'check'),
      });
    }),
    ...(typeof late === 'string'
      ? [
          item('configuration', 'ConfigurationNotTakenOver', late, {
            remedy: 'correct what it names; until then the configuration before it is in force',
            command: configuredCommand(status, 'check'),
          }),
        ]
      : []),
    ...(waiting.length > 0
      ? [
          item('configuration', 'RestartNeeded', `waiting for a restart: ${waiting.join(', ')}`, {
            remedy: 'end the daemon and start it again when it suits',
            command: startedAs(status).restart,
          }),
        ]
      : []),
  ];
}

function outageItems(status: StatusJson): AttentionItem[] {
  const remedy = { remedy: 'see whether the API server answers, and to whom', command: doctor({ status }) };
  const outages = rowsOf(status['outages']).map(({ cluster, kind, message, seconds }) => {
    const found = { ...remedy, remedy: missingRight(say(message)) ?? remedy.remedy };
    return item(`${say(cluster)} cluster`, say(kind), say(message), found, Number(seconds));
  });
  const known = new Set(outages.map(({ message }) => message));
  const troubles = textsOf(status['waitingFor']).filter((one) => ![...known].some((message) => one.includes(message)));
  const found = [...outages, ...troubles.map((message) => item('clusters', 'Unreachable', message, remedy))];
  return found.length > 0 ? found : lateItems(status, remedy);
}

/** What an API server that refuses wants; undefined where it says nothing of rights. */
function missingRight(message: string): string | undefined {
  const inGroup = 'resource "([^"]+)" in API group "([^"]*)"';
  const [, verb, resource, group, namespace] =
    message.match(`cannot (\\w+) ${inGroup}(?: in the namespace "([^"]+)")?`) ?? [];
  if (verb === undefined)
    return /forbidden|not allowed/i.test(message) ? 'grant the verbs that doctor names' : undefined;
  const what = group === '' ? resource : `${resource}.${group}`;
  const where = namespace === undefined ? '' : ` in the namespace ${namespace}`;
  return `grant "${verb}" of ${what}${where}; doctor names every verb that is missing`;
}

/** A cluster that answers nothing any more is known as an outage only after its time limits; until then changes wait. */
function lateItems({ verdict }: StatusJson, remedy: Remedy): AttentionItem[] {
  if (!isFacts(verdict) || verdict['state'] !== 'behind') return [];
  const [first] = rowsOf(verdict['parts']);
  const message = say(first?.['part'] ?? verdict['sentence']).replace(/^behind: /, '');
  return [item('changes', 'Behind', message, remedy)];
}

function rightsItems(status: StatusJson): AttentionItem[] {
  const remedy = { remedy: 'grant the verbs', command: doctor({ status }) };
  return Object.values(status).flatMap((block) =>
    isFacts(block)
      ? textsOf(block['missingVerbs']).map((message) => item('permissions', 'MissingVerbs', message, remedy))
      : [],
  );
}

/** The status itself and its block for each further kind. */
function blocksOf(status: StatusJson): StatusJson[] {
  return [status, ...Object.values(status).filter(isFacts)].filter(({ trouble }) => Array.isArray(trouble));
}

function objectItems(asked: Asked): AttentionItem[] {
  return blocksOf(asked.status).flatMap(({ trouble, contested }) => {
    // While its next repair waits, a contested object is in both lists; the other one names the client.
    const named = new Set(rowsOf(contested).map(({ object }) => object));
    return rowsOf(trouble)
      .filter(({ object, state }) => needsPerson(say(state)) && !(state === 'waiting/Contested' && named.has(object)))
      .map(({ object, state, message, sinceSeconds }) =>
        objectItem(asked, { object: say(object), state: say(state), message: say(message), since: sinceSeconds }),
      );
  });
}

/** Most waits end by themselves; a copy that its operator keeps from us is as that person wants it. */
function needsPerson(state: string): boolean {
  const [kind, reason = ''] = state.split('/') as [string, string?];
  return kind === 'waiting' ? Object.hasOwn(remedies, reason) : kind !== 'left' && kind !== 'ineligible';
}

function contestedItems(asked: Asked): AttentionItem[] {
  return blocksOf(asked.status).flatMap(({ contested }) =>
    rowsOf(contested).map(({ object, by, sinceSeconds }) =>
      objectItem(asked, {
        object: say(object),
        state: 'inSync/Contested',
        message: `the host copy keeps being changed by "${say(by)}"`,
        since: sinceSeconds,
      }),
    ),
  );
}

function objectItem(
  asked: Asked,
  { object, state, message, since }: { object: string; state: string; message: string; since: unknown },
): AttentionItem {
  const reason = state.split('/')[1] ?? state;
  const [usual, commandOf] = remedies[reason] ?? others;
  const remedy = (reason === 'Forbidden' ? missingRight(message) : undefined) ?? usual;
  const command = commandOf({ object, ...asked });
  // With one client or another, and while its repair waits: it is the same fight.
  const group = reason === 'Contested' ? reason : state;
  return { ...item(object, reason, message, { remedy, command }, Number(since)), object, group };
}

function referenceItems({ status, address }: Asked): AttentionItem[] {
  const kinds = isFacts(status['references']) ? Object.entries(status['references']) : [];
  return kinds.flatMap(([kind, facts]) =>
    isFacts(facts)
      ? rowsOf(facts['trouble']).map((row) => {
          const reason = say(row['state']).split('/').at(-1) as string;
          const object = say(row['object']);
          const remedy = remedies[reason]?.[0] ?? 'create the object, or correct the name that the patch reads';
          const command = statusCommand(status, '--all', address);
          const group = `references ${kind} ${reason}`;
          return { ...item(`${kind} ${object}`, reason, say(row['message']), { remedy, command }), group };
        })
      : [],
  );
}

function managementItems({ status, address }: Asked): AttentionItem[] {
  const { management } = status;
  if (!isFacts(management)) return [];
  const soon = Number(management['expiringWithinSevenDays'] ?? 0);
  return [
    ...textsOf(management['troubles']).map((message) =>
      item('management API', 'Trouble', message, {
        remedy: 'see what the message names',
        command: statusCommand(status, '--all', address),
      }),
    ),
    ...(soon > 0
      ? [
          item('access keys', 'EndingSoon', endingKeys(soon, textsOf(management['nextKeysToEnd'])), {
            remedy: 'make new ones before',
            command: configuredCommand(status, 'keys list', { isFilesOnly: true }),
          }),
        ]
      : []),
  ];
}

/** The next to end first. */
function endingKeys(count: number, names: readonly string[]): string {
  const text = `${count} ${count === 1 ? 'key ends' : 'keys end'} within seven days`;
  const left = count - names.length;
  return names.length === 0 ? text : `${text}: ${names.join(', ')}${left > 0 ? ` and ${left} more` : ''}`;
}

function item(
  about: string,
  reason: string,
  message: string,
  { remedy, command }: Remedy,
  sinceSeconds = Number.NaN,
): AttentionItem {
  return {
    group: `${about} ${reason}`,
    about,
    reason,
    message,
    ...(Number.isFinite(sinceSeconds) && { sinceSeconds }),
    remedy,
    command,
  };
}

function rowsOf(value: unknown): StatusJson[] {
  return Array.isArray(value) ? value.filter(isFacts) : [];
}

function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}
