// The three-way merge of one map, key by key: who changed what since both sides agreed, who wins, and what each side must
// be told. Values in, values out; it knows neither what the keys mean nor which cluster they come from.
//
//   virtual changed   host changed   flows back   result
//   no                no             any          the host holds what the virtual side (after patches) says
//   yes               any            any          virtual wins
//   no                yes            yes          the virtual side follows
//   no                yes            no           virtual wins for a key it has; a key only the host has stays, unless it
//                                                 is of the virtual side alone
import { type BaseEntry, baseEntry, hashOf, uncrossedKey, uncrossedName } from './base.ts';
import type { KeyRules } from './keys.ts';

export type KeyVerdict = 'same' | 'toHost' | 'toVirtual' | 'bothVirtualWins' | 'hostOnly' | 'reverted';

export interface KeyMerge {
  /** Host spelling → new value, null to remove. */
  host: Map<string, string | null>;
  /** Virtual spelling → new raw host value, null to remove. Not yet run backwards through patches. */
  back: Map<string, string | null>;
  /** The base after `host` and, once the virtual side has followed, `back`. */
  base: Map<string, BaseEntry>;
  /** Both sides changed a key to different values since they agreed. */
  conflicts: number;
  /** Host edits that were undone. */
  reverted: string[];
}

export interface KeyMergeInput {
  virtual: ReadonlyMap<string, string>;
  /** What the host should hold by the virtual side alone: translated and patched, host spelling. */
  desired: ReadonlyMap<string, string>;
  host: ReadonlyMap<string, string>;
  base: ReadonlyMap<string, BaseEntry> | undefined;
  rules: KeyRules;
  /** A host-only key that an earlier create copied from the tenant (no base to tell). */
  wasCopied: (hostKey: string) => boolean;
  /** Whether a patch touches a key now, host spelling; undefined where none does. */
  isPatched?: (hostKey: string) => boolean;
  /** False for a host version that may not flow back at all. */
  mayFlowBack: boolean;
  /** What would flow back stays on the host as it is and counts as not yet agreed: its time will come. */
  holdsBack?: boolean;
  /** Virtual keys whose host value cannot be reversed: both sides keep what they have, and the change stays open. */
  held?: { has(virtualKey: string): boolean } | undefined;
  /** The patch set changed since the base was written: patched keys do not flow back in this pass. */
  isPatchSetNew: boolean;
  /** Whose a key is by the patches that touch it, host spelling; `shared` for all others. */
  ownerOf?: (hostKey: string) => KeyOwner;
  /** Host values after the reverse expressions; a value that the virtual side has already is no change. */
  reversed?: ReadonlyMap<string, string | null> | undefined;
  observe?: (virtualKey: string, verdict: KeyVerdict) => void;
}

/**
 * A key that only an expression touches is the virtual side's, one that only a reverse expression touches the host's. Of the
 * virtual side alone is a key that such an expression is written for by name: the host may not even have one of its own, as
 * the expression may be there to hide the value.
 */
export type KeyOwner = 'shared' | 'virtual' | 'virtualAlone' | 'host';

/** Everything either side or the base knows and the rules let through, and what patches made beside it: each key once. */
export function mergeKeys(input: KeyMergeInput): KeyMerge {
  const { virtual, desired, host, base, rules } = input;
  const merge: KeyMerge = { host: new Map(), back: new Map(), base: new Map(), conflicts: 0, reverted: [] };
  /** In host spelling, as each key has one. */
  const seen = new Set<string>();
  for (const key of virtual.keys()) {
    const hostKey = rules.toHost(key);
    if (hostKey === undefined) continue;
    seen.add(hostKey);
    mergeKey({ key, hostKey }, input, merge);
  }
  for (const hostKey of desired.keys()) {
    if (seen.has(hostKey)) continue;
    seen.add(hostKey);
    const key = rules.toVirtual(hostKey);
    if (key === undefined) mergeUncrossed(hostKey, input, merge);
    else mergeKey({ key, hostKey }, input, merge);
  }
  for (const hostKey of host.keys()) {
    const key = seen.has(hostKey) ? undefined : rules.toVirtual(hostKey);
    if (key === undefined) continue;
    seen.add(hostKey);
    mergeKey({ key, hostKey }, input, merge);
  }
  for (const name of base?.keys() ?? []) {
    const uncrossed = uncrossedKey(name);
    const hostKey = uncrossed ?? rules.toHost(name);
    if (hostKey === undefined || seen.has(hostKey)) continue;
    if (uncrossed === undefined) mergeKey({ key: name, hostKey }, input, merge);
    else mergeUncrossed(hostKey, input, merge);
  }
  return merge;
}

/** A key that patches made on the host where the rules let none cross: there it is as the patches say, and ends with them. */
function mergeUncrossed(hostKey: string, { desired, host }: KeyMergeInput, merge: KeyMerge): void {
  const wanted = desired.get(hostKey);
  if (wanted !== host.get(hostKey)) merge.host.set(hostKey, wanted ?? null);
  if (wanted === undefined) return;
  merge.base.set(uncrossedName(hostKey), baseEntry({ virtual: undefined, host: wanted, desired: wanted }, true));
}

/** In both spellings. */
interface KeyNames {
  key: string;
  hostKey: string;
}

function mergeKey(names: KeyNames, input: KeyMergeInput, merge: KeyMerge): void {
  const { rules, base } = input;
  const { key, hostKey } = names;
  const virtualValue = input.virtual.get(key);
  const desiredValue = input.desired.get(hostKey);
  const hostValue = input.host.get(hostKey);
  const judged = judgeKey(key, { virtualValue, desiredValue, hostValue, hostKey }, input);
  const verdict = reverseVerdict(names, judged, input);
  input.observe?.(key, verdict);

  const remembered = base?.get(key);
  if (verdict === 'toVirtual' && (input.holdsBack || input.held?.has(key))) {
    if (remembered !== undefined) merge.base.set(key, remembered);
    return;
  }
  let finalHostValue = hostValue;
  if (verdict === 'toVirtual') {
    merge.back.set(key, input.reversed?.has(key) ? (input.reversed.get(key) ?? null) : (hostValue ?? null));
  } else if (verdict !== 'hostOnly' && verdict !== 'same') {
    finalHostValue = desiredValue;
    merge.host.set(hostKey, desiredValue ?? null);
    if (verdict === 'bothVirtualWins') merge.conflicts++;
    if (verdict === 'reverted') merge.reverted.push(hostKey);
  }
  if (verdict === 'hostOnly' && base !== undefined && !isSuspect(hostKey, remembered, input)) {
    // Whatever the host does with its own keys is no change of ours to write down. But what is not to flow back now must
    // not do so in the next pass either, when the patch set is no longer new.
    if (remembered !== undefined) merge.base.set(key, remembered);
    return;
  }
  const entry = baseEntry(
    { virtual: virtualValue, host: finalHostValue, desired: desiredValue },
    input.isPatched?.(hostKey) ?? false,
  );
  if (belongsInBase(key, entry, rules)) merge.base.set(key, entry);
}

/** A key that never flows back needs no memory unless the virtual side or a patch has it: then its end must be noticed. */
function belongsInBase(key: string, entry: BaseEntry, rules: KeyRules): boolean {
  if (entry.virtual !== '' || entry.isMade) return true;
  return entry.host !== '' && rules.flowsBack(key);
}

/** A reversed value that the virtual side holds already needs no write there; the host then gets its own again. */
function reverseVerdict({ key, hostKey }: KeyNames, verdict: KeyVerdict, input: KeyMergeInput): KeyVerdict {
  if (verdict !== 'toVirtual' || !input.reversed?.has(key)) return verdict;
  if ((input.reversed.get(key) ?? undefined) !== input.virtual.get(key)) return verdict;
  return input.ownerOf?.(hostKey) === 'host' ? 'same' : 'reverted';
}

interface KeyValues {
  virtualValue: string | undefined;
  desiredValue: string | undefined;
  hostValue: string | undefined;
  hostKey: string;
}

/** The virtual side gave the first value; from then on it follows the host's. */
function judgeHostsKey(
  key: string,
  { virtualValue, desiredValue, hostValue }: KeyValues,
  input: KeyMergeInput,
): KeyVerdict {
  const entry = input.base?.get(key);
  const isVirtualChanged = hashOf(virtualValue) !== (entry?.virtual ?? '');
  const isHostChanged = hashOf(hostValue) !== (entry?.host ?? '');
  const mayGoBack = input.base !== undefined && input.mayFlowBack && !input.isPatchSetNew && input.rules.flowsBack(key);
  if (hostValue !== undefined) return mayGoBack && (isHostChanged || isVirtualChanged) ? 'toVirtual' : 'same';
  if (virtualValue === undefined) return 'same';
  const isRemovedOnHost = (entry?.host ?? '') !== '' && !isVirtualChanged;
  if (isRemovedOnHost && mayGoBack) return 'toVirtual';
  return desiredValue === undefined ? 'same' : 'toHost';
}

function judgeKey(key: string, values: KeyValues, input: KeyMergeInput): KeyVerdict {
  const { virtualValue, desiredValue, hostValue, hostKey } = values;
  const owner = input.ownerOf?.(hostKey) ?? 'shared';
  if (owner === 'host') return judgeHostsKey(key, values, input);
  if (input.base === undefined) {
    if (desiredValue === hostValue) return 'same';
    if (desiredValue !== undefined || owner === 'virtualAlone') return 'toHost';
    // Host-only: whatever the tenant is known to have put there goes with the tenant's key, the rest is the host's.
    return virtualValue !== undefined || input.wasCopied(hostKey) ? 'toHost' : 'hostOnly';
  }
  if (desiredValue === hostValue) return 'same';
  const entry = input.base.get(key);
  const isVirtualChanged = hashOf(virtualValue) !== (entry?.virtual ?? '');
  const isHostChanged = hashOf(hostValue) !== (entry?.host ?? '');
  const isOnHostOnly = virtualValue === undefined && desiredValue === undefined;
  // The tenant never had it: what patches made goes with them, edited or not.
  const isLeftover = isOnHostOnly && (entry?.isMade === true || owner === 'virtualAlone');
  if (!isHostChanged) return isOnHostOnly && !isVirtualChanged && !isLeftover ? 'hostOnly' : 'toHost';
  if (isVirtualChanged) return 'bothVirtualWins';
  if (isLeftover) return 'reverted';
  const isShared = owner === 'shared' && input.rules.flowsBack(key);
  if (isShared && input.mayFlowBack && !isSuspect(hostKey, entry, input)) return 'toVirtual';
  return isOnHostOnly ? 'hostOnly' : 'reverted';
}

/** Whether what stands on the host may be what a patch of another set made of something. */
function isSuspect(
  hostKey: string,
  entry: BaseEntry | undefined,
  { isPatchSetNew, isPatched }: KeyMergeInput,
): boolean {
  return isPatchSetNew && (isPatched?.(hostKey) === true || entry?.isPatched === true);
}
