// Mistakes of the kind `other`, planted by hand where nobody had looked: each is one that a careless colleague could make. mutants.ts says what the
// other kinds are.

export interface Mutant {
  name: string;
  kind: 'plan' | 'past' | 'other';
  file: string;
  find: string;
  replace: string;
}

export const other = (name: string, file: string, find: string, replace: string): Mutant => ({
  name,
  kind: 'other',
  file: `src/${file}`,
  find,
  replace,
});

export const byHand: readonly Mutant[] = [
  other(
    'deletes without preconditions',
    'sync/plan/decide/removal.ts',
    'const preconditions = { uid: host.uid, resourceVersion: host.resourceVersion };',
    'const preconditions = {} as { uid: string; resourceVersion: string };',
  ),
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
    'halfDone?.set(key, { agreed, mustRead });',
    'halfDone?.set(key, { agreed: undefined, mustRead });',
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
  other(
    'a Service wakes only what has its name',
    'sync/loop/window-follower.ts',
    "this.#listenVirtual(services, 'services', (key) => this.#options.world.objectsOfService(key)),",
    "this.#listenVirtual(services, 'services', (key) => [key]),",
  ),
  other(
    'what a former mapping has left is not looked for',
    'daemon/synced/stray-namespaces.ts',
    '    void this.#look(window, state, 0);\n  }\n\n  /** Called when',
    '  }\n\n  /** Called when',
  ),
];
