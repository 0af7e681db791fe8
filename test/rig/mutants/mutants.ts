// Mistakes planted in the sources as a process loads them, each in one place: a net that does not catch them has a hole. `plan`: in the rules of sync,
// which the model must notice; `past`: holes that were mended, put back, each found by seeds or by an attack from outside; `other`: planted by hand
// where nobody had looked.

export interface Mutant {
  name: string;
  kind: 'plan' | 'past' | 'other';
  file: string;
  find: string;
  replace: string;
}

const plan = (name: string, file: string, find: string, replace: string): Mutant => ({
  name,
  kind: 'plan',
  file: `src/sync/plan/${file}`,
  find,
  replace,
});

const other = (name: string, file: string, find: string, replace: string): Mutant => ({
  name,
  kind: 'other',
  file: `src/${file}`,
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
  other(
    'deletes without preconditions',
    'sync/plan/decide/removal.ts',
    'const preconditions = { uid: host.uid, resourceVersion: host.resourceVersion };',
    'const preconditions = {} as { uid: string; resourceVersion: string };',
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
  other(
    'a copy outlives the switch of its kind',
    'sync/kinds/content/content-plan.ts',
    'if (virtual === undefined || !facts.isExported || !facts.isReferenced) return',
    'if (virtual === undefined || !facts.isReferenced) return',
  ),
  other(
    'no certificate is checked',
    'cluster/wire/pools.ts',
    'const tls = { rejectUnauthorized, ',
    'const tls = { rejectUnauthorized: false, ',
  ),
  other(
    'a watch is resumed one revision too late',
    'cluster/window/reflector.ts',
    'path: watchPath(scope, { resourceVersion: this.#intake.reached, timeoutSeconds }),',
    'path: watchPath(scope, { resourceVersion: String(BigInt(this.#intake.reached) + 1n), timeoutSeconds }),',
  ),
  other(
    'a mended change tells nobody',
    'cluster/window/missed-changes.ts',
    '    sink.changed(change);',
    '    void sink;',
  ),
  other(
    'a lease counts from the answer to its renewal',
    'cluster/write/lease.ts',
    'this.#heldUntilMs = sentMs + this.#renewMs;',
    'this.#heldUntilMs = this.#clock.now() + this.#renewMs + 0 * sentMs;',
  ),
  other(
    'rivals do not hear that a name is free',
    'sync/world/world.ts',
    'if (before.length > 1 || after.length > 1) rivals.push(...before, ...after);',
    '',
  ),
  other(
    'a draft outlives its rules',
    'sync/world/candidates.ts',
    'if (known?.rules === rules) return known;',
    'if (known !== undefined) return known;',
  ),
  other(
    'a removal on the host wakes nobody',
    'sync/loop/window-follower.ts',
    'if (!this.#isOwnEcho(key, hostKey)) this.#options.enqueue(key);',
    'if (!isRemoved && !this.#isOwnEcho(key, hostKey)) this.#options.enqueue(key);',
  ),
  other(
    'a list that lacks objects is believed at once',
    'sync/loop/window-follower.ts',
    'this.#options.massDelete.noteChange(key, list, { isAbsentFromList, isListed });',
    'void [isAbsentFromList, isListed];',
  ),
  other(
    'what both sides agreed is lost with a failed write',
    'sync/loop/pass/reconcile.ts',
    'ports.agreements?.set(key, pass.memory.agreed);',
    'ports.agreements?.delete(key);',
  ),
  other(
    'a kind does not hear what became of another',
    'sync/loop/engine.ts',
    'for (const key of this.#registry.needs.madeFrom(kind, object)) sync.wakeFor(key);',
    'void [kind, sync, object];',
  ),
  other(
    'back-off outlives the outage',
    'sync/loop/sync.ts',
    'this.queue.hurry((key) => failedByServer(this.ledger.entry(key)?.outcome));',
    'void failedByServer;',
  ),
  other(
    'content is changed without a precondition',
    'sync/kinds/content/content-step.ts',
    'const mergePatch = { metadata: { uid, resourceVersion, ...metadata }, ...members };',
    'const mergePatch = { metadata: { ...metadata }, ...members };\n  void [uid, resourceVersion];',
  ),
  other(
    'a count of references is never complete',
    'sync/references/registry.ts',
    'this.#countOf(kind).isHeld = false;',
    'this.#countOf(kind);',
  ),
  other(
    'a reference that goes is still counted',
    'sync/references/registry.ts',
    'if (after.has(target) || !referrers?.delete(referrer)) continue;',
    'if (after.has(target) || !referrers?.has(referrer)) continue;',
  ),
  other(
    'a contest is never braked',
    'sync/world/contest.ts',
    'if (record.contestedSinceMs === undefined && recent < freeRepairs) return 0;',
    'if (recent >= 0) return 0;',
  ),
  other(
    'a new leader looks at nothing',
    'daemon/daemon.ts',
    'for (const sync of this.#cluster.syncs) if (sync.isReady) sync.enqueueAll();',
    '',
  ),
  other(
    'a kind that is switched off is still written',
    'daemon/synced/running-kind.ts',
    'isLeader: () => isOn(settings()) && isLeading(),',
    'isLeader: () => isLeading(),',
  ),
  other(
    'a line that is newer than an own write is taken for its echo',
    'cluster/window/event-intake.ts',
    'if (known === undefined || compareVersions(resourceVersion, known) > 0) return false;',
    'if (known === undefined) return false;',
  ),
  other(
    'a lease is taken before its time has passed',
    'cluster/write/lease.ts',
    'return seen.sinceMs + Math.max(this.#leaseMs, seen.record.leaseDurationSeconds * 1000);',
    'return seen.sinceMs + this.#renewMs;',
  ),
  other(
    'news that comes during a pass is lost',
    'queue/queue-part.ts',
    '      this.#lanes.push(key, sinceMs);\n    }\n    if (!this.#isEmpty)',
    '    }\n    if (!this.#isEmpty)',
  ),
  other(
    'a later time takes the place of an earlier one',
    'queue/delays.ts',
    'if (known.dueMs <= dueMs) return;',
    'if (known.dueMs <= dueMs) {\n        known.dueMs = dueMs;\n        return this.#down(known.heapIndex);\n      }',
  ),
  other('a reload looks at no object', 'sync/loop/sync.ts', '    if (this.isReady) this.enqueueAll();\n  }', '  }'),
  other('nobody is told', 'sync/loop/sync.ts', 'if (!this.options.isDryRun) this.#events.record(note);', 'void note;'),
];

/** The text of the file with the mistake in it. */
export function planted(text: string, { name, file, find, replace }: Mutant): string {
  if (text.split(find).length !== 2)
    throw new Error(`plant "${name}": wanted its place once in ${file}, found it ${text.split(find).length - 1} times`);
  return text.replace(find, () => replace);
}
