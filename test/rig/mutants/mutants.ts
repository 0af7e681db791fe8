// Mistakes planted in the sources as a process loads them, each in one place: a net that does not catch them has a hole. `plan`: in the rules of sync,
// which the model must notice; `past`: holes that were mended, put back, each found by seeds or by an attack from outside; `other`: planted by hand
// where nobody had looked.

import { byHand, type Mutant } from './by-hand.ts';
import { byReview } from './by-review.ts';

export type { Mutant } from './by-hand.ts';

const plan = (name: string, file: string, find: string, replace: string): Mutant => ({
  name,
  kind: 'plan',
  file: `src/sync/plan/${file}`,
  find,
  replace,
});

/** Tells a process which mistake it loads. */
export const mutantVariable = 'HOSTWARD_RIG_MUTANT';

export const mutants: readonly Mutant[] = [
  plan(
    'virtual changes lose against host changes',
    'keys/merge-keys.ts',
    "if (isVirtualChanged) return 'bothVirtualWins';",
    "if (isVirtualChanged) return 'toVirtual';",
  ),
  plan(
    'host edits never flow back',
    'keys/merge-keys.ts',
    'const isShared = owner ===',
    'const isShared = false && owner ===',
  ),
  plan(
    'keys without a base are taken from the host',
    'keys/merge-keys.ts',
    "? 'toHost' : 'hostOnly';",
    "? 'hostOnly' : 'hostOnly';",
  ),
  plan(
    'what patches made stays when they are gone',
    'keys/merge-keys.ts',
    'isOnHostOnly && (entry?.isMade === true ||',
    'isOnHostOnly && (false && entry?.isMade === true ||',
  ),
  plan(
    'reverted edits stay on the host',
    'keys/merge-keys.ts',
    "return isOnHostOnly ? 'hostOnly' : 'reverted';",
    "return isOnHostOnly ? 'hostOnly' : 'same';",
  ),
  plan(
    'excluded keys stay on the host',
    'keys/merge-keys.ts',
    'for (const hostKey of excludedLeftovers(input)) merge.host.set(hostKey, null);',
    '',
  ),
  plan(
    'the base survives a new uid',
    'update-patch.ts',
    "return uid !== undefined && uid !== '' && uid !== virtual.uid;",
    'return false;',
  ),
  plan(
    'marker labels are not mended',
    'update-patch.ts',
    'setAll(labels, host.labels, fixedLabels(virtual, translation));',
    '',
  ),
  plan(
    'the six are not mended',
    'update-patch.ts',
    'setAll(annotations, host.annotations, fixedAnnotations(virtual, draft.place, translation));',
    '',
  ),
  plan(
    'owner references are not mended',
    'update-patch.ts',
    'ownerReferences: repairOwners(host.ownerReferences, input.owner),',
    'ownerReferences: undefined,',
  ),
  plan(
    'copies have no owner',
    'owner.ts',
    "if (owner.kind !== 'present') return undefined;",
    'if (owner !== undefined) return undefined;',
  ),
  plan('the base is never written', 'update-patch.ts', 'change.annotations.set(baseKey, text);', ';'),
  plan(
    'the youngest claimant wins',
    'claims.ts',
    'return one.creationTimestamp < other.creationTimestamp;',
    'return one.creationTimestamp > other.creationTimestamp;',
  ),
  plan(
    'an incumbent gives way',
    'claims.ts',
    'if (incumbent !== undefined && eligible.some((claimant) => claimant.key === incumbent)) return incumbent;',
    '',
  ),
  plan(
    'a foreign object counts as native',
    'ownership.ts',
    "return others === undefined ? { kind: 'native' } : { kind: 'foreign', why: others };",
    "return { kind: 'native' };",
  ),
  plan(
    'any copy may be deleted',
    'ownership.ts',
    "{ kind: 'ours', isDeletable: annotatedKey === key }",
    "{ kind: 'ours', isDeletable: true }",
  ),
  plan(
    'a copy that the host keeps goes',
    'decide/removal.ts',
    "if (host.annotations?.[skipBackSyncKey] !== 'true' ||",
    "if (host.annotations?.[skipBackSyncKey] !== 'never' ||",
  ),
  plan(
    'a copy of another controller is written',
    'decide/decide.ts',
    '  const left = handsOff(host, virtual, translation.kind);\n  if (left !== undefined) return done(left);\n  if (host.isDeleting)',
    '  if (host.isDeleting)',
  ),
  plan(
    'what never flows back stays when an object is made again',
    'update-patch.ts',
    'isNeverBack(key, kind) && !wasTenants(key)',
    'isNeverBack(key, kind)',
  ),
  plan('the keys of controllers flow back', 'keys/reserved-keys.ts', "key === 'service.kubernetes.io/headless' ||", ''),
  plan(
    'multicast addresses pass',
    'address-policy.ts',
    'if (special !== undefined && !isExcused) {',
    "if (special !== undefined && !isExcused && special !== 'multicast') {",
  ),
  plan('denied networks pass', 'address-policy.ts', 'if (denied !== undefined) return', 'if (denied === null) return'),
  plan(
    'copies of objects that are gone stay',
    'decide/decide.ts',
    "if (verdict.kind === 'ineligible') {",
    "if (verdict.kind === 'ineligible' && facts.virtual !== undefined) {",
  ),
  plan(
    'a failed patch is written all the same',
    'decide/decide.ts',
    'if (facts.patchFailure !== undefined) return decideStale(facts, facts.patchFailure);',
    '',
  ),
  plan('the namespace label is missing', 'draft.ts', '[namespaceLabel, virtual.namespace],', ''),
  {
    name: 'host values flow back although their patches have changed',
    kind: 'past',
    file: 'src/sync/plan/keys/merge-keys.ts',
    find: 'if (!input.isPatchSetNew) return false;',
    replace: 'return false;',
  },
  {
    name: 'a copy that names an object elsewhere is waited for',
    kind: 'past',
    file: 'src/sync/plan/decide/decide.ts',
    find: 'if (!isLeaving(host, ownership.key, translation)) {',
    replace: 'if (host.uid === "") {',
  },
  {
    name: 'a standby counts as lag what another replica has written',
    kind: 'past',
    file: 'src/sync/loop/sync.ts',
    find: 'return void this.ledger.takeDirtySince(key);',
    replace: 'return;',
  },
  {
    name: 'a list of another kind is a list',
    kind: 'past',
    file: 'src/cluster/window/list-pages.ts',
    find: '|| object.apiVersion !== apiVersionOf(ref)) {',
    replace: '&& object.kind === undefined) {',
  },
  {
    name: 'a lost event stays lost',
    kind: 'past',
    file: 'src/cluster/window/proof.ts',
    find: 'if (!isRemoved && !isNewer) this.#missed.suspect(key, head, list.resourceVersion);',
    replace: '',
  },
  {
    name: 'a delete that was not seen stays unseen',
    kind: 'past',
    file: 'src/cluster/window/proof.ts',
    find: 'await this.#suspectAbsent({ resourceVersion: end.resourceVersion, startMs });',
    replace: '',
  },
  {
    name: 'a 410 waits as long as a failure',
    kind: 'past',
    file: 'src/cluster/window/reflector-steps.ts',
    find: "    case 'gone':\n    case 'fault':",
    replace:
      "    case 'gone':\n      return { next: 'list', delayMs: 20_000, reason: end.kind, trouble: end.message, failed };\n    case 'fault':",
  },
  {
    name: 'an import outlives its patch',
    kind: 'past',
    file: 'src/sync/loop/content/leftovers.ts',
    find: 'if (!(await this.#sweep(this.#importsOf(kind)))) isDone = false;',
    replace: '',
  },
  ...byHand,
  ...byReview,
];

/** The text of the file with the mistake in it. */
export function planted(text: string, { name, file, find, replace }: Mutant): string {
  if (text.split(find).length !== 2)
    throw new Error(`plant "${name}": wanted its place once in ${file}, found it ${text.split(find).length - 1} times`);
  return text.replace(find, () => replace);
}
