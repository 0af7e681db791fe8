// Names what a person mends before anything that is said of objects can be believed: missing rights, and a configuration that was not
// taken over. In: what is missing. Out: parts of the verdict. Pure.
import { contentKinds } from '../sync/kinds/content/content-kind.ts';
import type { Outage, VerdictPart } from '../sync/report/verdict.ts';
import type { RunningKind } from './synced/running-kind.ts';
import type { OpenedWindow } from './synced/windows.ts';

interface MendedFirst {
  /** Why what a kubeconfig names is not in use; nothing is written until then. */
  notTaken: readonly string[];
  /** One missing right stops what needs it, and nothing else. */
  missingRights: readonly (Pick<Outage, 'cluster' | 'since' | 'message'> & { lostNamespace?: string })[];
  /** One sentence for each verb for want of which a kind is not synced. */
  unsynced: { kinds: string; sentences: readonly string[] };
  /** A configuration that is not in force, yet or for a reason. */
  late: string | undefined;
}

/** What objects say of themselves may follow from a missing right, and a new configuration may mend them. */
export function toMendFirst({ notTaken, missingRights, unsynced, late }: MendedFirst): VerdictPart[] {
  const rights = missingRights.map(({ cluster, since, message, lostNamespace }) => {
    const what = lostNamespace === undefined ? 'a right is missing' : 'rights are missing';
    const text = `${what} in the ${cluster} cluster since ${since}: ${message}`;
    return { name: text, text, since };
  });
  const { kinds, sentences } = unsynced;
  const verbs = sentences.length > 0 ? [`${kinds} are not synced: ${inShort(sentences)}`] : [];
  const named = (texts: readonly string[]) => texts.map((text) => ({ name: text, text }));
  // The reasons change while the same file is wrong.
  const refused = notTaken.map((text) => ({ name: `not taken: ${text.split(':')[0]}`, text }));
  return [...refused, ...rights, ...named([...verbs, ...(late === undefined ? [] : [late])])];
}

/** Why a kind is not synced, in sentences. */
export function lacking({ missingVerbs, notServed }: Pick<RunningKind, 'missingVerbs' | 'notServed'>): string[] {
  return [...missingVerbs, ...notServed];
}

/** Why the newest configuration is not in force, where an older one is. */
export function lateSentence({
  notApplied,
  isChanging,
  phase,
}: {
  notApplied?: string | undefined;
  isChanging?: boolean;
  phase: string;
}): string | undefined {
  if (isChanging && phase === 'running')
    return 'a new configuration is being taken over, and the old one is in force until then';
  return notApplied && `the new configuration could not be applied: ${notApplied}`;
}

/** Each verb has a row of its own that says how to grant it. */
function inShort(unsynced: readonly string[]): string {
  const found = unsynced.map((one) => /on the (\w+) cluster: not allowed to (\w+) ([^ ;]+)/.exec(one));
  const places = Map.groupBy(found, (one) => one && `${one[3]} in the ${one[1]} cluster`);
  if (places.has(null)) return unsynced.join('; ');
  return [...places].map(([what, all]) => `not allowed to ${all.map((one) => one?.[2]).join(', ')} ${what}`).join('; ');
}

/** What cannot be read for want of rights: objects that are synced or what decides about them, or only something else. */
export function unreadFor(
  missing: readonly { window: OpenedWindow['name']; isWrite?: true }[],
  missingVerbs: readonly string[],
): 'objects' | 'else' | undefined {
  const content = contentKinds.map(({ resource: { resource } }) => resource);
  const unread = missing.filter(({ isWrite }) => !isWrite);
  if (unread.some(({ window }) => !content.includes(window.split(' ')[1] as string))) return 'objects';
  return unread.length + missingVerbs.length > 0 ? 'else' : undefined;
}
