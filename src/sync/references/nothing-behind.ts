// Says why nothing is known behind a reference. A patch may read any text as a name, also one that no object can have; and where
// objects cannot be read, nobody knows whether there is one. Pure.
import { dnsLabelProblems, dnsSubdomainProblems } from '../../object/meta/qualified-name.ts';
import { importableLabel } from '../plan/keys/reserved-keys.ts';
import { type Unread, unreadSentence } from '../world/unread.ts';

export function isPossible({ namespace, name }: { namespace: string; name: string }): boolean {
  return dnsLabelProblems(namespace).length === 0 && dnsSubdomainProblems(name).length === 0;
}

export interface NothingBehind {
  /** `unread`: the object may be there. */
  standing: 'unresolved' | 'unread';
  why: string;
}

/** `unread`: what cannot be read of the kind of the reference. */
export function nothingBehind(
  reference: { namespace: string; name: string },
  unread: readonly Unread[],
): NothingBehind {
  if (!isPossible(reference)) return { standing: 'unresolved', why: impossibleText };
  if (unread.length === 0) return { standing: 'unresolved', why: absentText };
  return {
    standing: 'unread',
    why: `${unread.map(unreadSentence).join(', and ')}, so it is not known whether it exists`,
  };
}

/** Objects of the host without the label are not looked at. */
const absentText = `the virtual cluster does not have it, and the host has none of this name with the label ${importableLabel}=true`;
export const impossibleText = 'no object can have this name';
