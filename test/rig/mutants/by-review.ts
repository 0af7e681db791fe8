// More mistakes of the kind `other`, each in a place that a hostile reviewer would choose: an index, a comparison, a queue, a version, a clock, a count.
import { type Mutant, other } from './by-hand.ts';

export const byReview: readonly Mutant[] = [
  other(
    'windows are proven half as often',
    'cluster/window/proof.ts',
    'const periodMs = intervalMs * (1 - spreadShare);',
    'const periodMs = 2 * intervalMs * (1 - spreadShare);',
  ),
  other(
    'a slice stays with the Service that it named first',
    'sync/world/needs-index.ts',
    'linksOf(this.#services, kind.kind).note(key, needs?.service);',
    'if (virtual === undefined || this.serviceOf(kind, key) === undefined) linksOf(this.#services, kind.kind).note(key, needs?.service);',
  ),
  other(
    'a copy that is being deleted is written',
    'sync/plan/decide/decide.ts',
    '  if (host.isDeleting) {\n    return done({',
    '  if (host.isDeleting && false) {\n    return done({',
  ),
  other(
    'a list ends with its first page',
    'cluster/window/list-pages.ts',
    "if (list.continueToken === undefined) return { kind: 'listed', resourceVersion, count };",
    "if (list.continueToken !== '') return { kind: 'listed', resourceVersion, count };",
  ),
  other(
    'host Services wake nobody',
    'sync/loop/window-follower.ts',
    'for (const key of this.#options.world.objectsOfHostService(hostKey)) this.#options.enqueue(key);',
    'void hostKey;',
  ),
  other(
    'an import outlives its label',
    'sync/kinds/content/content-plan.ts',
    "if (facts.lost === 'unlabelled' && virtual.isDeleting === undefined) return ask(removalOf(virtual, 'virtual'));",
    '',
  ),
  other(
    'writes go on while the server asks to wait',
    'cluster/write/open-writer.ts',
    'if (nowMs < this.#holdUntilMs) return this.#holdUntilMs - nowMs;',
    '',
  ),
  other(
    'a refused object is not tried again',
    'sync/loop/pass/record-outcome.ts',
    'if (delayMs !== undefined) queue.addAfter(key, delayMs);',
    'void delayMs;',
  ),
  other(
    'what a list lacks is deleted',
    'sync/plan/decide/removal.ts',
    'if (facts.isDeleteWithheld) return done(withheld);',
    '',
  ),
  other(
    'nobody asks for an object by its name',
    'sync/world/doubt/doubted-list.ts',
    "if (at >= 0) return { kind: 'lie', found: some[at] as Key };",
    '',
  ),
  other(
    'the ports of a slice are not mended',
    'sync/kinds/endpointslices/payload.ts',
    "for (const field of ['endpoints', 'ports'] as const) {",
    "for (const field of ['endpoints'] as const) {",
  ),
  other(
    'what is gone is read again',
    'sync/plan/decide/after-answer.ts',
    "if (request.side !== 'host' || request.verb !== 'create') return { ...memory, mustRead: undefined };",
    "if (request.side !== 'host' || request.verb !== 'create') return { ...memory, mustRead: 'host' };",
  ),
  other(
    'a lease is not released',
    'cluster/write/lease.ts',
    'if (this.#seen !== undefined && this.#isOurs(this.#seen)) await this.#release(this.#seen.lease);',
    'if (this.#seen !== undefined && this.#isOurs(this.#seen)) await this.#running;',
  ),
  other(
    'a clash of names is not counted',
    'sync/plan/claims.ts',
    'this.#byPlace.set(at, new Set([held, key]));\n      this.#clashes++;',
    'this.#byPlace.set(at, new Set([held, key]));',
  ),
  other(
    'a reload forgets the slices',
    'daemon/synced/running-kind.ts',
    '      this.sync.setRules(this.#rules());\n      return;',
    "      if (this.name !== 'EndpointSlice') this.sync.setRules(this.#rules());\n      return;",
  ),
  other(
    'a standby looks seldom',
    'cluster/write/lease.ts',
    'const standbyLookMs = 400;',
    'const standbyLookMs = 1_500;',
  ),
  other(
    'a lease that is gone is made anew at once',
    'cluster/write/lease.ts',
    'if (this.#seen !== undefined) this.#seen.isGone = true;',
    'this.#seen = undefined;',
  ),
  other(
    'an edit that is held back counts as agreed',
    'sync/plan/keys/merge-keys.ts',
    'if (remembered !== undefined) merge.base.set(key, remembered);\n    return;\n  }\n  let finalHostValue',
    'return;\n  }\n  let finalHostValue',
  ),
  other(
    'an object that waits is not looked at again',
    'sync/loop/pass/record-outcome.ts',
    'if (outcome.retryAfterMs !== undefined) queue.addAfter(key, outcome.retryAfterMs);\n      // Only once',
    '// Only once',
  ),
  other(
    'a base that is old is never written alone',
    'sync/plan/update-patch.ts',
    'if (merged.held === undefined || !isSameBase(merged.held, base)) setBase',
    'if (merged.held === undefined) setBase',
  ),
  other('a success does not end the back-off', 'queue/queue-part.ts', 'this.#failures.delete(key);', ''),
];
