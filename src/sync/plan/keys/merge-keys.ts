// Merges labels or annotations three-way, key by key: which side changed a key since both agreed, which side wins, and which
// changes each side needs. Pure. It must never know the meaning of a key, or a cluster.
//
//   virtual changed   host changed   flows back   result
//   no                no             any          the host gets the virtual value, after patches
//   yes               any            any          virtual wins
//   no                yes            yes          the virtual side follows
//   no                yes            no           virtual wins for a key it has; a key that only the host has stays, unless
//                                                 its owner is `virtualAlone`
import { type BaseEntry, baseEntry, hashOf, uncrossedKey, uncrossedName, unknownPatches } from './base.ts';
import type { KeyRules } from './key-rules.ts';

export type KeyVerdict =
  /** Neither side needs a change. */
  | 'same'
  /** The virtual side or a patch changed the key: the host follows. */
  | 'toHost'
  /** The host changed the key: the virtual side follows. */
  | 'toVirtual'
  /** Both sides changed the key: the host follows, and the conflict is counted. */
  | 'bothVirtualWins'
  /** Only the host has the key: it stays, and it does not flow back in this pass. */
  | 'hostOnly'
  /** The host changed a key that may not flow back: the change is undone. */
  | 'reverted';

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
  /** The translated and patched keys that the host should hold, in host spelling. */
  desired: ReadonlyMap<string, string>;
  host: ReadonlyMap<string, string>;
  base: ReadonlyMap<string, BaseEntry> | undefined;
  rules: KeyRules;
  /** Whether an earlier create copied a host-only key from the tenant; needed when there is no base. */
  wasCopied: (hostKey: string) => boolean;
  /** Digest of the patches that touch a key now, in host spelling, '' without; undefined without patches. */
  patchesOf?: (hostKey: string) => string;
  /** False for a host version that may not flow back at all. */
  mayFlowBack: boolean;
  /** Host edits stay on the host and count as not yet agreed, so that a later pass carries them back. */
  holdsBack?: boolean;
  /** Virtual keys whose host value cannot be reversed: both sides keep what they have, and the change stays open. */
  held?: { has(virtualKey: string): boolean } | undefined;
  /** The patch set changed since the base was written: keys whose own patches changed do not flow back in this pass. */
  isPatchSetNew: boolean;
  /** The owner of a key by the patches that touch it, in host spelling; `shared` without a patch. */
  ownerOf?: (hostKey: string) => KeyOwner;
  /** Host values after the reverse expressions. A value equal to the virtual one is no change. */
  reversed?: ReadonlyMap<string, string | null> | undefined;
  observe?: (virtualKey: string, verdict: KeyVerdict) => void;
}

/**
 * A key that only an expression touches belongs to the virtual side, and a key that only a reverse expression touches belongs to
 * the host. `virtualAlone`: the path of such an expression names the key itself, perhaps to hide its value. Then the host may
 * not keep a key of that name when the virtual side lacks it.
 */
export type KeyOwner = 'shared' | 'virtual' | 'virtualAlone' | 'host';

/** Visits each key once: keys of either side and of the base that the rules let through, and keys that patches made. */
export function mergeKeys(input: KeyMergeInput): KeyMerge {
  const { virtual, desired, host, base, rules } = input;
  const merge: KeyMerge = { host: new Map(), back: new Map(), base: new Map(), conflicts: 0, reverted: [] };
  /** Host spelling, because every merged key has one. */
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
  for (const hostKey of excludedLeftovers(input)) merge.host.set(hostKey, null);
  return merge;
}

/**
 * Host spelling of keys that sync wrote to the host before `exclude` named them. They leave the host, which would show a
 * stale value for good. A key that the host set or edited is the host's own and stays.
 */
export function excludedLeftovers({
  virtual,
  desired,
  host,
  base,
  rules,
  wasCopied,
}: Pick<KeyMergeInput, 'virtual' | 'desired' | 'host' | 'base' | 'rules' | 'wasCopied'>): string[] {
  const leftovers: string[] = [];
  for (const [key, entry] of base ?? []) {
    const hostKey = rules.excludedOnHost(key);
    if (hostKey === undefined || desired.has(hostKey) || !host.has(hostKey)) continue;
    const isWritten = (entry.virtual !== '' || entry.isMade) && !entry.isFromHost;
    if (isWritten && hashOf(host.get(hostKey)) === entry.host) leftovers.push(hostKey);
  }
  if (base !== undefined) return leftovers;
  // vCluster lists the keys that it has copied; the value tells whether the host has edited one since.
  for (const [hostKey, value] of host) {
    if (rules.excludedOnHost(hostKey) !== hostKey || desired.has(hostKey) || !wasCopied(hostKey)) continue;
    if (virtual.get(hostKey) === value) leftovers.push(hostKey);
  }
  return leftovers;
}

/** A key that patches made on the host although it may not cross. Its value is what the patches say; without them it is removed. */
function mergeUncrossed(hostKey: string, { desired, host, patchesOf }: KeyMergeInput, merge: KeyMerge): void {
  const wanted = desired.get(hostKey);
  if (wanted !== host.get(hostKey)) merge.host.set(hostKey, wanted ?? null);
  if (wanted === undefined) return;
  merge.base.set(
    uncrossedName(hostKey),
    baseEntry(
      { virtual: undefined, host: wanted, desired: wanted },
      { patches: patchesOf?.(hostKey) || unknownPatches },
    ),
  );
}

/** A key in both spellings. */
interface KeyNames {
  key: string;
  hostKey: string;
}

/** A key that patches made while it could not cross is theirs still when it can. */
function rememberedOf({ key, hostKey }: KeyNames, base: KeyMergeInput['base']): BaseEntry | undefined {
  return base?.get(key) ?? base?.get(uncrossedName(hostKey));
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

  const remembered = rememberedOf(names, base);
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
    // The host's own keys are not recorded in the base. A suspect key is recorded below: otherwise it would flow back in the
    // next pass, when the patch set is no longer new.
    if (remembered !== undefined) merge.base.set(key, remembered);
    return;
  }
  const isFollowed = verdict === 'toVirtual' || (verdict === 'same' && remembered?.isFromHost === true);
  const entry = baseEntry(
    { virtual: virtualValue, host: finalHostValue, desired: desiredValue },
    { patches: input.patchesOf?.(hostKey) ?? '', isFromHost: isFollowed && hostValue !== undefined },
  );
  if (belongsInBase(key, entry, rules)) merge.base.set(key, entry);
}

/** A key that never flows back is recorded only while the virtual side or a patch has it, so that its removal is noticed. */
function belongsInBase(key: string, entry: BaseEntry, rules: KeyRules): boolean {
  if (entry.virtual !== '' || entry.isMade) return true;
  return entry.host !== '' && rules.flowsBack(key);
}

/** A reversed value equal to the virtual one needs no virtual write; the host edit is reverted unless the host owns it. */
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

/** The virtual side sets the first value of a key that the host owns; later it follows the host. */
function judgeHostsKey(
  key: string,
  { virtualValue, desiredValue, hostValue, hostKey }: KeyValues,
  input: KeyMergeInput,
): KeyVerdict {
  const entry = rememberedOf({ key, hostKey }, input.base);
  const isVirtualChanged = hashOf(virtualValue) !== (entry?.virtual ?? '');
  const isHostChanged = hashOf(hostValue) !== (entry?.host ?? '');
  const isKnown = input.base !== undefined && !isSuspect(hostKey, entry, input);
  const mayGoBack = isKnown && input.mayFlowBack && input.rules.flowsBack(key);
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
    // A host-only key is removed if the tenant is known to have set it; any other one belongs to the host.
    return virtualValue !== undefined || input.wasCopied(hostKey) ? 'toHost' : 'hostOnly';
  }
  if (desiredValue === hostValue) return 'same';
  const entry = rememberedOf({ key, hostKey }, input.base);
  // A patch makes the key of other keys of the tenant, whose changes show only in its result.
  const isMadeAnew =
    entry?.isMade === true && desiredValue !== undefined && !input.isPatchSetNew && hashOf(desiredValue) !== entry.host;
  const isVirtualChanged = isMadeAnew || hashOf(virtualValue) !== (entry?.virtual ?? '');
  const isHostChanged = hashOf(hostValue) !== (entry?.host ?? '');
  const isOnHostOnly = virtualValue === undefined && desiredValue === undefined;
  // The tenant never had this key. It goes with the patches that made it, even if the host has edited it.
  const isLeftover = isOnHostOnly && (entry?.isMade === true || owner === 'virtualAlone');
  if (!isHostChanged) return isOnHostOnly && !isVirtualChanged && !isLeftover ? 'hostOnly' : 'toHost';
  if (isVirtualChanged) return 'bothVirtualWins';
  if (isLeftover) return 'reverted';
  const isShared = owner === 'shared' && input.rules.flowsBack(key);
  if (isShared && input.mayFlowBack && !isSuspect(hostKey, entry, input)) return 'toVirtual';
  return isOnHostOnly ? 'hostOnly' : 'reverted';
}

/**
 * Whether the host value may come from an earlier form of the key's own patches; such a value must not flow back. A key without
 * an entry was not on the host when the base was written, so only another key can tell that the patches of both changed.
 */
function isSuspect(hostKey: string, entry: BaseEntry | undefined, input: KeyMergeInput): boolean {
  if (!input.isPatchSetNew) return false;
  const patches = input.patchesOf?.(hostKey) ?? '';
  if (entry !== undefined) return entry.patches !== patches;
  return patches !== '' && hasChangedPatches(patches, input);
}

/** Whether the base shows for some other key that these patches are new to it. */
function hasChangedPatches(patches: string, { base, rules, patchesOf }: KeyMergeInput): boolean {
  for (const [name, entry] of base ?? []) {
    const hostKey = uncrossedKey(name) ?? rules.toHost(name);
    if (entry.patches !== patches && hostKey !== undefined && patchesOf?.(hostKey) === patches) return true;
  }
  return false;
}
