// One row of what needs a person: what it is about, its reason, and the remedy. Rights that are missing become rows here. In: a trouble of
// the status. Out: the row. Pure.
import { textsIn } from '../../../object/text/json.ts';
import { isFacts, type StatusJson, say } from '../words.ts';
import { type RemediedTrouble, type Remedy, remedyOf } from './remedies.ts';

export interface AttentionItem {
  /** The same for all that has one reason. */
  group: string;
  /** Tells apart, within a group, what is mended in different ways. */
  cause: string;
  /** What it is about: an object, a cluster, a file. */
  about: string;
  /** The key, where it is an object that can be looked at. */
  object?: string;
  kind?: string;
  /** Why a server refuses it, without what only this object has. */
  refusal?: string;
  /** Its state, where all objects in that state can be listed. */
  listedState?: string;
  reason: string;
  message: string;
  sinceSeconds?: number;
  /** What to do, in a sentence. */
  remedy: string;
  /** A command to copy. */
  command: string;
}

/** What the reader has asked, and where. */
export interface AskedStatus {
  status: StatusJson;
  address: string | undefined;
}

export function troubleItem(
  asked: AskedStatus,
  about: string,
  trouble: Omit<RemediedTrouble, keyof AskedStatus>,
  sinceSeconds?: number,
): AttentionItem {
  const remedy = remedyOf({ ...trouble, ...asked });
  return { ...item(about, trouble.reason, trouble.message, remedy, sinceSeconds), cause: remedy.command };
}

export function item(
  about: string,
  reason: string,
  message: string,
  { remedy, command }: Remedy,
  sinceSeconds = Number.NaN,
): AttentionItem {
  return {
    group: `${about} ${reason}`,
    cause: '',
    about,
    reason,
    message,
    ...(Number.isFinite(sinceSeconds) && { sinceSeconds }),
    remedy,
    command,
  };
}

/** The members of a list that are objects. */
export function rowsOf(value: unknown): StatusJson[] {
  return Array.isArray(value) ? value.filter(isFacts) : [];
}

export function rightsItems(asked: AskedStatus): AttentionItem[] {
  const { status } = asked;
  const unread = rowsOf(status['missingRights']).map(({ cluster, window, message, seconds, lostNamespace }) =>
    troubleItem(
      asked,
      say(window),
      {
        ...{ reason: 'Forbidden', message: say(message), cluster: say(cluster) },
        ...(typeof lostNamespace === 'string' && { reason: 'RightsLost', lostNamespace }),
      },
      Number(seconds),
    ),
  );
  const blocks = [status, ...Object.values(status).filter(isFacts)];
  // The kinds write events with the same right.
  const forbidden = blocks.find(({ eventsForbidden }) => eventsForbidden !== undefined)?.['eventsForbidden'];
  const untold =
    forbidden === undefined
      ? []
      : [
          troubleItem(asked, 'events', {
            reason: 'Forbidden',
            message: `tenants hear of no refusal: ${say(forbidden)}`,
            cluster: 'virtual',
          }),
        ];
  const unsynced = blocks.flatMap(({ missingVerbs }) => textsIn(missingVerbs));
  const unserved = blocks.flatMap(({ notServed }) => textsIn(notServed));
  const all = [
    ...unread,
    ...untold,
    ...unsynced.map((message) => troubleItem(asked, 'permissions', { reason: 'MissingVerbs', message })),
  ];
  // One command grants all that one side lacks.
  return [
    ...all.map((one) => ({ ...one, group: `rights ${one.command}` })),
    ...unserved.map((message) => troubleItem(asked, 'kinds', { reason: 'NotServed', message })),
  ];
}
