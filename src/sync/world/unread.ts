// Tells what cannot be read now, so that nobody says of an object that it is not there. In: windows. Out: what they are blind for. Pure.
import { refusedRight } from '../../cluster/refused-right.ts';
import type { WindowTrouble } from '../../cluster/window/window.ts';

export interface Unread {
  cluster: 'virtual' | 'host';
  /** As in a path: `secrets`. */
  resource: string;
  /** What the server does not allow; undefined where it does not answer as it should. */
  verb?: string;
}

export interface Looking {
  cluster: Unread['cluster'];
  resource: string;
  window: { readonly trouble: WindowTrouble | undefined } | undefined;
}

/** Several windows may look at one resource of one cluster. */
export function unreadIn(all: readonly Looking[]): Unread[] {
  const found = all.flatMap(({ cluster, resource, window }): [string, Unread][] => {
    const trouble = window?.trouble;
    if (trouble === undefined) return [];
    const verb = trouble.isForbidden === true ? (refusedRight(trouble.message)?.verb ?? 'list') : undefined;
    const one = { cluster, resource, ...(verb !== undefined && { verb }) };
    return [[unreadSentence(one), one]];
  });
  return [...new Map(found).values()];
}

/** In the words in which a start tells of a missing right, which remedies know. */
export function unreadSentence({ cluster, resource, verb }: Unread): string {
  return verb === undefined
    ? `${resource} of the ${cluster} cluster cannot be read now`
    : `the ${cluster} cluster does not allow "${verb}" on ${resource}`;
}
