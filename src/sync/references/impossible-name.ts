// Tells names that no object can have: a patch may read any text as a name. Pure.
import { dnsLabelProblems, dnsSubdomainProblems } from '../../object/meta/qualified-name.ts';

export function isPossible({ namespace, name }: { namespace: string; name: string }): boolean {
  return dnsLabelProblems(namespace).length === 0 && dnsSubdomainProblems(name).length === 0;
}

/** Why nothing is behind a reference. */
export function whyNothing(reference: { namespace: string; name: string }): string {
  return isPossible(reference) ? 'neither cluster has it' : impossibleText;
}

export const impossibleText = 'no object can have this name';
